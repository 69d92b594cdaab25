#version 450
// An element of the source, at the place that a tuple of indices gives. An index out of range is clamped: the page does
// not say what is read then, and nothing outside the tensor may be.
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
        // The source is bound in parts. What lies in another part is left to the dispatch for that one.
        index -= first(k);
        if (index >= held(k)) return result_ELEMENT(result_at(c));
#endif
        at += index * pitch(k);
    }
    return source_ELEMENT(at);
}

#include "movement/move.glsl"
