#version 450
// The bias of the input projection, [direction, gate * unit]: that of the input, and of the recurrence where it is
// added before the activation too.
#include "prelude.glsl"

float value(uint c[RANK]) {
    float sum = bias_load(bias_at(c));
    if (c[1] < ADDED) sum += bias_load(bias_at(uint[2](c[0], result_SIZE_1 + c[1])));
    return sum;
}

#include "lib/for_each.glsl"
