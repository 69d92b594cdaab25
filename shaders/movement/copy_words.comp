#version 450
// Words as they are.
#include "prelude.glsl"

uint value(uint c[1]) {
    return source_word(source_at(c));
}

#include "lib/for_each.glsl"
