#version 450
// The filter {group, output channel, input channel, window} as the direct kernel reads it: {tile of output channels,
// input channel, window, output channel in the tile}. Tap j along axis d is the filter's element FIRST_d + j * STEP_d.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) {
    uint group = c[0], tile = take_coordinate(group, TILES_DIVISOR);
    uint channel = tile * result_SIZE_5 + c[5];
    if (channel >= filter_SIZE_1) return result_VALUE(0);
    uint at[6] = uint[6](group, channel, c[1], uint(FIRST_0 + int(c[2]) * STEP_0),
                         uint(FIRST_1 + int(c[3]) * STEP_1), uint(FIRST_2 + int(c[4]) * STEP_2));
    return filter_load(filter_at(at));
}

#include "lib/for_each.glsl"
