#version 450
// The input between its paddings; locate(c), in the generated prelude, goes from an output place to the input's.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) {
    if (!locate(c)) return padding();
    return source_load(source_at(c));
}

#include "lib/for_each.glsl"
