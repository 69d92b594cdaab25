#version 450
// x with its channels innermost, filled up to CHANNELS a group, and with its padding around it: what byte_windows.glsl
// reads. What is filled in is the zero point.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) {
    uint channel = c[4], own = take_coordinate(channel, CHANNELS_DIVISOR);
    uint z = c[1] - uint(PADDING_0), y = c[2] - uint(PADDING_1), x = c[3] - uint(PADDING_2);
    bool inside = own < GROUP_INPUTS && z < x_SIZE_2 && y < x_SIZE_3 && x < x_SIZE_4;
    // (Behind no branch, where loads would wait for each other)
    uint at[5] = uint[5](c[0], channel * GROUP_INPUTS + own, z, y, x);
    uint bits = x_load(inside ? x_at(at) : x_BASE);
#if HAS_ZERO
    return inside ? bits : zero_load(zero_BASE);
#else
    return inside ? bits : 0u;
#endif
}

#include "lib/for_each.glsl"
