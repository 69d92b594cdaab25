#version 450
// The first n elements along AXIS in reverse order, the rest unchanged. Each subsequence has its own n, clamped to the
// size of the axis.
#include "prelude.glsl"

uint length_at(uint c[RANK]) {
#ifdef lengths_IS_UINT64
    uvec2 n = lengths_load(lengths_at(c));
    return n.y != 0u ? 0xffffffffu : n.x;
#else
    return lengths_load(lengths_at(c));
#endif
}

result_VALUE value(uint c[RANK]) {
    uint n = min(length_at(c), AXIS_SIZE);
    c[AXIS] = c[AXIS] < n ? n - 1u - c[AXIS] : c[AXIS];
    return source_load(source_at(c));
}

#include "lib/for_each.glsl"
