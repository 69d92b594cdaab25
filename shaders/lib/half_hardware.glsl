// FLOAT16 <-> float as lib/half.glsl has it, by the device's own conversions, in a kernel that asks for what makes them
// the same: subnormals, signed zeros, infinities and NaN are kept and the nearest is chosen, halves to even (capabilities
// and modes of SPIR-V's float controls, for 16 bits). The payload of a NaN may be another.
#extension GL_EXT_spirv_intrinsics : require
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4464], 4459, 16); // DenormPreserve
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4466], 4461, 16); // SignedZeroInfNanPreserve
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4467], 4462, 16); // RoundingModeRTE

#define half_decode(h) unpackHalf2x16(h).x
#define half_encode(v) packHalf2x16(vec2(v, 0.0))
