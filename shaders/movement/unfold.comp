#version 450
// The element that a window covers, zero in the padding; locate, in the generated prelude, says where it stands.
#include "prelude.glsl"

result_VALUE value(uint c[RANK]) {
    uint s[source_RANK];
    if (!locate(c, s)) return result_VALUE(0u);
    return source_load(source_at(s));
}

#include "lib/for_each.glsl"
