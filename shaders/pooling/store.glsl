// Ends a kernel over boxes: value(c) of each element of `result`, by an invocation alone or by a workgroup together.
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
