#version 450
// The update with which a position was marked; without one, the input's element.
#include "prelude.glsl"
#include "movement/element.glsl"

ELEMENT value(uint c[RANK]) {
    uint number = winners_load(winners_at(c));
#ifdef IN_PARTS
    if (number == 0u && KEEPS != 0u) return result_ELEMENT(result_at(c));
#endif
    if (number == 0u) return source_ELEMENT(source_at(c));
    number -= 1u;
    uint at = updates_at(c);
    for (uint k = TUPLE; k > 0u; --k) {
        uint coordinate = number % extent(k - 1u);
#ifdef IN_PARTS
        // The updates are bound in parts; a dispatch writes those of its own part only.
        coordinate -= part_start(k - 1u);
        if (coordinate >= part_size(k - 1u)) return result_ELEMENT(result_at(c));
#endif
        at += coordinate * pitch(k - 1u);
        number /= extent(k - 1u);
    }
    return updates_ELEMENT(at);
}

#include "movement/move.glsl"
