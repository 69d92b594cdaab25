#version 450
// An expression over contiguous data: UNIT elements to a step, moved as whole uvec4; an invocation takes STEPS steps, a
// workgroup's worth apart. vectors(c) and scalar(i) stand at the end of the generated prelude, and once each where
// STEPS is 1: what CPUs' drivers take to compile grows with every copy.
#include "prelude.glsl"

void whole(uint first) {
    uint c[RANK];
    coordinates(first, c);
    vectors(c);
}

void some(uint first) {
#if TAIL
    if (COUNT - first < UNIT) {
        for (uint i = first; i < COUNT; ++i) scalar(i);
        return;
    }
#endif
    whole(first);
}

void main() {
    uint start = workgroup_index() * WORKGROUP * STEPS;
    uint unit = start + gl_LocalInvocationIndex;
#if STEPS > 1
    if (COUNT / UNIT >= start + WORKGROUP * STEPS) {
        for (uint step = 0u; step < STEPS; step += UNROLL, unit += UNROLL * WORKGROUP) {
            for (uint k = 0u; k < UNROLL; ++k) whole((unit + k * WORKGROUP) * UNIT);
        }
        return;
    }
    for (uint step = 0u; step < STEPS; ++step, unit += WORKGROUP) {
        if (unit * UNIT < COUNT) some(unit * UNIT);
    }
#else
    if (unit * UNIT < COUNT) some(unit * UNIT);
#endif
}
