#version 450
// The input between its paddings. locate(c), in the generated prelude, makes the output's coordinates the input's.
#include "prelude.glsl"

ELEMENT value(uint c[RANK]) {
    if (!locate(c)) return padding();
    return source_ELEMENT(source_at(c));
}

#include "movement/move.glsl"
