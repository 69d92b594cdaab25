#version 450
// The state before the first step, [copy, direction, row, unit], with zero for units beyond HIDDEN: the initial tensor,
// or zero.
#include "prelude.glsl"

float value(uint c[RANK]) {
#ifdef initial_RANK
    if (c[3] < HIDDEN) return initial_load(initial_at(uint[3](c[1], c[2], c[3])));
#endif
    return 0.0;
}

#include "lib/for_each.glsl"
