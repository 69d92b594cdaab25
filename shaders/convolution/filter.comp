#version 450
// The filter {group, output channel, input channel, window} as a matrix for implicit.comp: {group, k, output channel},
// where k counts the window's elements and, innermost, the input channels. Beyond K_ALL and the output channels it is
// zero. Tap j along axis d is the filter's element FIRST_d + j * STEP_d.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) {
    if (c[1] >= K_ALL || c[2] >= filter_SIZE_1) return result_VALUE(0);
    uint k = c[1], i = take_coordinate(k, filter_SIZE_2_DIVISOR);
    uint x = take_coordinate(k, TAPS_2_DIVISOR), y = take_coordinate(k, TAPS_1_DIVISOR);
    uint at[6] = uint[6](c[0], c[2], i, uint(FIRST_0 + int(k) * STEP_0), uint(FIRST_1 + int(y) * STEP_1),
                         uint(FIRST_2 + int(x) * STEP_2));
    return filter_load(filter_at(at));
}

#include "lib/for_each.glsl"
