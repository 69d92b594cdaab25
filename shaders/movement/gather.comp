#version 450
// An element of the source, at the place that a tuple of indices gives. An index out of range is clamped: the page leaves
// the value open, but no read leaves the tensor.
#include "prelude.glsl"
#include "movement/element.glsl"
#include "movement/index.glsl"

ELEMENT value(uint c[RANK]) {
    uint first = indices_at(c);
    uint at = source_at(c);
    for (uint k = 0u; k < TUPLE; ++k) {
        uint index;
        resolve(first + k * STEP, extent(k), index);
        at += index * pitch(k);
    }
    return source_ELEMENT(at);
}

#include "movement/move.glsl"
