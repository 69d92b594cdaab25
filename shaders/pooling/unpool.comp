#version 450
// The input element that claimed this output element, or zero.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) {
    uint winner = winner_load(winner_at(c));
    if (winner == 0u) return result_VALUE(0);
    uint i = winner - 1u;
    uint p[4];
    p[3] = take_coordinate(i, source_SIZE_3_DIVISOR);
    p[2] = take_coordinate(i, source_SIZE_2_DIVISOR);
    p[1] = take_coordinate(i, source_SIZE_1_DIVISOR);
    p[0] = i;
    return source_load(source_at(p));
}

#include "lib/for_each.glsl"
