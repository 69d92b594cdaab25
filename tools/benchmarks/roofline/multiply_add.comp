#version 450
// Only multiply-adds: 16 independent sums of type NUMBER.
#if HALF
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#define NUMBER f16vec2
#define GIVEN(x) NUMBER(unpackHalf2x16(x))
#define KEPT(x) packHalf2x16(vec2(x))
#else
#define NUMBER float
#define GIVEN(x) uintBitsToFloat(x)
#define KEPT(x) floatBitsToUint(x)
#endif
layout(local_size_x = 128) in;
layout(push_constant) uniform Push { uint a_offset, rounds; };
layout(set = 0, binding = 0, std430) buffer A { uint a[]; };

void main() {
    uint i = a_offset + (gl_WorkGroupID.x * 128u + gl_LocalInvocationIndex) % 1024u;
    NUMBER factor = GIVEN(a[i]), sums[16];
    for (uint k = 0u; k < 16u; ++k) sums[k] = GIVEN(a[i] + k);
    for (uint round = 0u; round < rounds; ++round) {
        for (uint k = 0u; k < 16u; ++k) sums[k] = fma(sums[k], factor, factor);
    }
    NUMBER all_ = sums[0];
    for (uint k = 1u; k < 16u; ++k) all_ += sums[k];
    // Never true: the sums are of small numbers
    if (KEPT(all_) == 0x7bff7bffu) a[i] = KEPT(all_);
}
