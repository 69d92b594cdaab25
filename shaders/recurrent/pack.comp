#version 450
// The recurrence weights in the layout of recurrence.glsl, float32: [direction, tile, k / 4, gate, unit, invocation, k
// % 4]. Units and k beyond HIDDEN are zero.
#include "prelude.glsl"

float value(uint c[RANK]) {
    uint unit = (c[1] * result_SIZE_4 + c[4]) * result_SIZE_5 + c[5];
    uint k = c[2] * 4u + c[6];
    if (unit >= HIDDEN || k >= HIDDEN) return 0.0;
    return weights_load(weights_at(uint[3](c[0], c[3] * HIDDEN + unit, k)));
}

#include "lib/for_each.glsl"
