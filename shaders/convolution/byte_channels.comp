#version 450
// Copies x with channels innermost, padded to CHANNELS per group, and with its spatial padding, for byte_windows.glsl.
// Padding is the zero point.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) {
    uint channel = c[4], own = take_coordinate(channel, CHANNELS_DIVISOR);
    uint z = c[1] - uint(PADDING_0), y = c[2] - uint(PADDING_1), x = c[3] - uint(PADDING_2);
    bool inside = own < GROUP_INPUTS && z < x_SIZE_2 && y < x_SIZE_3 && x < x_SIZE_4;
    // The loads are not in a branch, where each would wait for the one before.
    uint at[5] = uint[5](c[0], channel * GROUP_INPUTS + own, z, y, x);
    uint bits = x_load(inside ? x_at(at) : x_BASE);
#if HAS_ZERO
    return inside ? bits : zero_load(zero_BASE);
#else
    return inside ? bits : 0u;
#endif
}

#include "lib/for_each.glsl"
