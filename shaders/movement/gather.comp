#version 450
// The source's element that an index tuple addresses. An index out of range is clamped: the page does not define that
// case, and reads outside the tensor are not allowed.
#include "prelude.glsl"
#include "movement/element.glsl"
#include "movement/index.glsl"

ELEMENT value(uint c[RANK]) {
    uint tuple = indices_at(c);
    uint at = source_at(c);
    for (uint k = 0u; k < TUPLE; ++k) {
        uint index;
        resolve(tuple + k * STEP, extent(k), index);
#ifdef IN_PARTS
        // The source is bound in parts; a dispatch gathers the elements of its own part only.
        index -= part_start(k);
        if (index >= part_size(k)) return result_ELEMENT(result_at(c));
#endif
        at += index * pitch(k);
    }
    return source_ELEMENT(at);
}

#include "movement/move.glsl"
