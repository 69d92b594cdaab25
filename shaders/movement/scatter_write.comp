#version 450
// The update with which a position was marked; without one, the input's element.
#include "prelude.glsl"
#include "movement/element.glsl"

ELEMENT value(uint c[RANK]) {
    uint number = winners_load(winners_at(c));
    if (number == 0u) return source_ELEMENT(source_at(c));
    number -= 1u;
    uint at = updates_at(c);
    for (uint k = TUPLE; k > 0u; --k) {
        at += number % extent(k - 1u) * pitch(k - 1u);
        number /= extent(k - 1u);
    }
    return updates_ELEMENT(at);
}

#include "movement/move.glsl"
