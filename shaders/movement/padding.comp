#version 450
// The input with padding. locate(c), in the generated prelude, converts the output's coordinates to the input's.
#include "prelude.glsl"

ELEMENT value(uint c[RANK]) {
    if (!locate(c)) return padding();
    return source_ELEMENT(source_at(c));
}

#include "movement/move.glsl"
