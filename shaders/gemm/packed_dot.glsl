// Dot product of four bytes of a and four of b, modulo 2^32, by the device's instruction. DOT_SIGNED: whether the bytes
// are signed. (Declared as a SPIR-V instruction: the GLSL extension that has it is missing in Debian 12's glslang.)
#extension GL_EXT_spirv_intrinsics : require
#if DOT_SIGNED
#define DOT_INSTRUCTION 4450  // OpSDot
#else
#define DOT_INSTRUCTION 4451  // OpUDot
#endif

// Capabilities DotProduct and DotProductInput4x8BitPacked, format PackedVectorFormat4x8Bit
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = DOT_INSTRUCTION)
uint packed_dot_of(uint a, uint b, spirv_literal int format);

uint packed_dot(uint a, uint b) { return packed_dot_of(a, b, 0); }
