#version 450
// The bias added to the input's product, [direction, gate * unit]: the input bias plus, for the first ADDED elements of
// a direction, the recurrence bias.
#include "prelude.glsl"

float value(uint c[RANK]) {
    float sum = bias_load(bias_at(c));
    if (c[1] < ADDED) sum += bias_load(bias_at(uint[2](c[0], result_SIZE_1 + c[1])));
    return sum;
}

#include "lib/for_each.glsl"
