#version 450
// The filter {group, output channel, input channel, window} as rows of bytes, {group, output channel, k}, in the order
// of byte_windows.glsl: TAPS_0 x TAPS_1 x TAPS_2 runs of RUN bytes, with CHANNELS for each of RUN_TAPS elements along
// x. Tap j is the filter's element FIRST_d + j * STEP_d. Padding elements are PAD.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) {
    uint k = c[2], within = take_coordinate(k, RUN_DIVISOR);
    uint x = take_coordinate(k, TAPS_2_DIVISOR), y = take_coordinate(k, TAPS_1_DIVISOR);
    uint channel = take_coordinate(within, CHANNELS_DIVISOR);
    bool is_there = within < RUN_TAPS && channel < filter_SIZE_2;
    ivec3 tap = ivec3(FIRST_0, FIRST_1, FIRST_2) + ivec3(STEP_0, STEP_1, STEP_2) * ivec3(k, y, x + within);
    uint at[6] = uint[6](c[0], c[1], channel, uint(tap.x), uint(tap.y), uint(tap.z));
    uint bits = filter_load(is_there ? filter_at(at) : filter_BASE);
    return is_there ? bits : PAD;
}

#include "lib/for_each.glsl"
