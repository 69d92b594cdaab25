#version 450
#extension GL_EXT_control_flow_attributes : require
// Transposes as "transpose.comp" does, where rows of both tensors are whole vectors of UNIT elements: an invocation
// reads a block of UNIT vectors and writes it transposed, without shared memory. ALONG adjacent invocations take blocks
// that are adjacent in x0; groups of ALONG are adjacent in the result. The generated prelude ends with store_block(v,
// to), which makes the result's vectors. The space counts the workgroups' blocks along the last two dimensions.
#include "prelude.glsl"

const uint BESIDE = WORKGROUP / ALONG;

void main() {
    uint group = workgroup_index();
    if (group >= COUNT) return;
    uint c[RANK];
    coordinates(group, c);
    uint t = (c[RANK - 2u] * ALONG + gl_LocalInvocationIndex % ALONG) * UNIT;
    uint n = (c[RANK - 1u] * BESIDE + gl_LocalInvocationIndex / ALONG) * UNIT;
    if (t >= HIGH || n >= ACROSS) return;
    c[RANK - 2u] = t;
    c[RANK - 1u] = n;
    uint from = x0_at(c), to = result_at(c);
    c[RANK - 1u] = n + 1u;
    uint next = x0_at(c) - from;
    uvec4 v[UNIT];
    [[unroll]] for (uint k = 0u; k < UNIT; ++k) v[k] = x0_vector((from + k * next) / UNIT);
    store_block(v, to);
}
