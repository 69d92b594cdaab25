#version 450
// The input element that claimed this output element, or zero.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) {
    uint winner = winner_load(winner_at(c));
    if (winner == 0u) return result_VALUE(0);
    uint i = winner - 1u;
    uint p[4];
    for (int d = 3; d > 0; --d) {
        uint size = d == 3 ? source_SIZE_3 : d == 2 ? source_SIZE_2 : source_SIZE_1;
        p[d] = i % size;
        i /= size;
    }
    p[0] = i;
    return source_load(source_at(p));
}

#include "lib/for_each.glsl"
