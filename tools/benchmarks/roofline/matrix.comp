#version 450
// Only products on matrix units: 4 independent sums of M x N, FLOAT16 into FLOAT32.
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require
#pragma use_vulkan_memory_model
layout(local_size_x = SUBGROUP * 4) in;
layout(push_constant) uniform Push { uint a_offset, rounds; };
layout(set = 0, binding = 0, std430) buffer A { uint a[]; };

void main() {
    float16_t given = float16_t(unpackHalf2x16(a[a_offset]).x);
    coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA> left = coopmat<float16_t, gl_ScopeSubgroup, M, K, gl_MatrixUseA>(given);
    coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB> right = coopmat<float16_t, gl_ScopeSubgroup, K, N, gl_MatrixUseB>(given);
    coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> sums[4];
    for (uint k = 0u; k < 4u; ++k) sums[k] = coopmat<float, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator>(float(k));
    for (uint round = 0u; round < rounds; ++round) {
        for (uint k = 0u; k < 4u; ++k) sums[k] = coopMatMulAdd(left, right, sums[k]);
    }
    // Read every element: compilers remove instructions with unused results.
    float all_ = 0.0;
    for (uint k = 0u; k < 4u; ++k) {
        for (int i = 0; i < sums[k].length(); ++i) all_ += sums[k][i];
    }
    // Never true: the sums are of small numbers
    if (floatBitsToUint(all_) == 0x7bff7bffu) a[a_offset] = 1u;
}
