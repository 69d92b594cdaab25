#version 450
// Any expression over contiguous data. A step is UNIT elements, moved as whole uvec4. An invocation takes STEPS steps,
// interleaved with those of its workgroup; if LOOPS is 0, one step without a loop. The generated prelude ends with
// vectors(c), a whole step, and scalar(i), an element. Each is called in one place only, because a CPU driver compiles
// every inlined copy.
#include "prelude.glsl"

void whole(uint first) {
    uint c[RANK];
    coordinates(first, c);
    vectors(c);
}

// Computes the elements after the last whole step, fewer than UNIT; none if TAIL is false.
void rest(uint first) {
    if (TAIL) {
        for (uint i = first; i < COUNT; ++i) scalar(i);
    }
}

void main() {
#if LOOPS
    uint start = workgroup_index() * WORKGROUP * STEPS, last = COUNT / UNIT;
    uint end = min(start + WORKGROUP * STEPS, last);
    for (uint unit = start + gl_LocalInvocationIndex; unit < end; unit += WORKGROUP) whole(unit * UNIT);
    // The invocation whose step would come next computes the rest, after the loop: inside, all other invocations would
    // wait.
    if (last - start < WORKGROUP * STEPS && (last - start) % WORKGROUP == gl_LocalInvocationIndex) rest(last * UNIT);
#else
    uint first = global_index() * UNIT;
    if (first >= COUNT) return;
    if (TAIL && COUNT - first < UNIT) {
        rest(first);
    } else {
        whole(first);
    }
#endif
}
