#version 450
// x * SCALE + the channel's bias.
#include "prelude.glsl"

float value(uint c[RANK]) {
    uint channel = c[CHANNEL];
    return source_load(source_at(c)) * SCALE + (channel == 0u ? BIAS_0 : channel == 1u ? BIAS_1 : BIAS_2);
}

#include "lib/for_each.glsl"
