#version 450
// Copies 32-bit words.
#include "prelude.glsl"

uint value(uint c[1]) {
    return source_word(source_at(c));
}

#include "lib/for_each.glsl"
