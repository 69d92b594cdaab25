#version 450
// An expression over contiguous data: UNIT elements to an invocation, moved as whole uvec4. vectors(c) and scalar(i)
// stand at the end of the generated prelude.
#include "prelude.glsl"

void main() {
    uint first = global_index() * UNIT;
    if (first >= COUNT) return;
#if TAIL
    if (COUNT - first < UNIT) {
        for (uint i = first; i < COUNT; ++i) scalar(i);
        return;
    }
#endif
    uint c[RANK];
    coordinates(first, c);
    vectors(c);
}
