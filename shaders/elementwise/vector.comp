#version 450
// Any expression over contiguous data. A step is UNIT elements, moved as whole uvec4. An invocation takes STEPS of
// them, UNROLL at a time, and its neighbours in the workgroup take those in between. vectors(c), a whole step, and
// scalar(i), an element, are at the end of the generated prelude. Where UNROLL is 1, each is called in one place only,
// because a driver for a CPU compiles every inlined copy; where it is 0, there is one step and no loop.
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
#if UNROLL == 0
    uint unit = global_index();
    if (unit * UNIT < COUNT) some(unit * UNIT);
#else
    uint start = workgroup_index() * WORKGROUP * STEPS;
    uint unit = start + gl_LocalInvocationIndex;
#if UNROLL > 1
    if (COUNT / UNIT >= start + WORKGROUP * STEPS) {
        for (uint step = 0u; step < STEPS; step += UNROLL, unit += UNROLL * WORKGROUP) {
            for (uint k = 0u; k < UNROLL; ++k) whole((unit + k * WORKGROUP) * UNIT);
        }
        return;
    }
#endif
    for (uint step = 0u; step < STEPS; ++step, unit += WORKGROUP) {
        if (unit * UNIT < COUNT) some(unit * UNIT);
    }
#endif
}
