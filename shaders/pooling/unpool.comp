#version 450
// The input element that claimed this output element, or zero. IN_PARTS: `source` is a part of the input. A dispatch
// writes the elements of its own part only, and the first one also the zeros.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) {
    uint winner = winner_load(winner_at(c));
#ifdef IN_PARTS
    if (winner == 0u && KEEPS) return result_load(result_at(c));
#endif
    if (winner == 0u) return result_VALUE(0);
    uint i = winner - 1u;
    uint p[4];
#ifdef IN_PARTS
    for (uint k = TUPLE; k > 0u; --k) {
        p[k - 1u] = i % extent(k - 1u) - part_start(k - 1u);
        if (p[k - 1u] >= part_size(k - 1u)) return result_load(result_at(c));
        i /= extent(k - 1u);
    }
#else
    p[3] = take_coordinate(i, source_SIZE_3_DIVISOR);
    p[2] = take_coordinate(i, source_SIZE_2_DIVISOR);
    p[1] = take_coordinate(i, source_SIZE_1_DIVISOR);
    p[0] = i;
#endif
    return source_load(source_at(p));
}

#include "lib/for_each.glsl"
