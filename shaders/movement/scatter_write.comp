#version 450
// The update that won the place, else the input's element.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) {
    uint number = winners_load(winners_at(c));
    if (number == 0u) return source_load(source_at(c));
    number -= 1u;
    uint at = updates_at(c);
    for (uint k = TUPLE; k > 0u; --k) {
        at += number % extent(k - 1u) * pitch(k - 1u);
        number /= extent(k - 1u);
    }
    return updates_load(at);
}

#include "lib/for_each.glsl"
