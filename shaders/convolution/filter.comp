#version 450
// The filter {group, output channel, input channel, window} as a matrix {group, k, output channel} for implicit.comp or,
// with K_LAST, {group, output channel, k} for implicit_matrix.comp. k counts the window's elements and, innermost, the
// input channels. Beyond K_ALL and the output channels it is zero. Tap j along axis d is the filter's element
// FIRST_d + j * STEP_d.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) {
#if K_LAST
    uint channel = c[1], k = c[2];
#else
    uint channel = c[2], k = c[1];
#endif
    if (k >= K_ALL || channel >= filter_SIZE_1) return result_VALUE(0);
    uint i = take_coordinate(k, filter_SIZE_2_DIVISOR);
    uint x = take_coordinate(k, TAPS_2_DIVISOR), y = take_coordinate(k, TAPS_1_DIVISOR);
    uint at[6] = uint[6](c[0], channel, i, uint(FIRST_0 + int(k) * STEP_0), uint(FIRST_1 + int(y) * STEP_1),
                         uint(FIRST_2 + int(x) * STEP_2));
    return filter_load(filter_at(at));
}

#include "lib/for_each.glsl"
