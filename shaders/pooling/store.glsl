// main() of a kernel over boxes (see "box.glsl"), which defines value(c), an element of `result`: an invocation
// computes it by itself, or a workgroup together (WIDE).
#if WIDE
void main() {
    uint unit = workgroup_index();
    if (unit >= COUNT) return;
    uint c[RANK];
    coordinates(unit, c);
    result_VALUE found = value(c);
    if (gl_LocalInvocationIndex == 0u) result_store(result_at(c), found);
}
#else
#include "lib/for_each.glsl"
#endif
