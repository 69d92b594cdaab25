#version 450
// An element of a window: the source's, or zero in the padding. locate(c, s), in the generated prelude, finds its
// coordinates s.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) {
    uint s[source_RANK];
    if (!locate(c, s)) return result_VALUE(0u);
    return source_load(source_at(s));
}

#include "lib/for_each.glsl"
