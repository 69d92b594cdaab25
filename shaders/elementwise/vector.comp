#version 450
// An expression over contiguous data: UNIT elements to a step, moved as whole uvec4; an invocation takes STEPS steps, a
// workgroup's worth apart. vectors(c) and scalar(i) stand at the end of the generated prelude.
#include "prelude.glsl"

void whole(uint first) {
    uint c[RANK];
    coordinates(first, c);
    vectors(c);
}

void main() {
    const uint SPAN = WORKGROUP * STEPS;
    uint start = workgroup_index() * SPAN;
    uint unit = start + gl_LocalInvocationIndex;
    if (COUNT / UNIT >= start + SPAN) {
        for (uint step = 0u; step < STEPS; step += UNROLL, unit += UNROLL * WORKGROUP) {
            for (uint k = 0u; k < UNROLL; ++k) whole((unit + k * WORKGROUP) * UNIT);
        }
        return;
    }
    for (uint step = 0u; step < STEPS; ++step, unit += WORKGROUP) {
        uint first = unit * UNIT;
        if (first >= COUNT) return;
        if (COUNT - first < UNIT) {
            for (uint i = first; i < COUNT; ++i) scalar(i);
        } else {
            whole(first);
        }
    }
}
