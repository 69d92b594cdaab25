#version 450
// A packed copy of x in 32-bit words with zeros around it, {batch, channel, depth, height, width}: four elements of a
// row per invocation. Along axis d of the three, PADDING_d elements precede x; a negative number skips x's beginning.
#include "prelude.glsl"

uvec4 value(uint c[RANK]) {
    // Coordinates before the beginning wrap around to large numbers, which are past the end.
    uint z = c[2] - uint(PADDING_0), y = c[3] - uint(PADDING_1), first = c[4] * 4u - uint(PADDING_2);
    uvec4 four = uvec4(0u);
    if (z < x_SIZE_2 && y < x_SIZE_3) {
        uint row[5] = uint[5](c[0], c[1], z, y, 0u);
        uint at = x_at(row);
        for (uint p = 0u; p < 4u; ++p) {
            uint x = first + p;
            if (x < x_SIZE_4) four[p] = result_encode(x_load(at + x * x_STRIDE_4));
        }
    }
    return four;
}

#define STORE(unit, c) result_vector_store(unit, value(c))
#include "lib/for_each.glsl"
