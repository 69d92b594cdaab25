// main() of a kernel that reduces an output's samples to one value, reduced(c, before). PARTED: several dispatches
// share the samples; `before` is the result of the parts before this one, PART. IN_PARTS: only regions whose image is
// in `source` are reduced.
#if PARTED
void main() {
    uint unit = global_index();
    if (unit >= COUNT) return;
    uint c[RANK];
    coordinates(unit, c);
#ifdef IN_PARTS
    if (image_of(c[0]) >= source_SIZE_0) return;
#endif
    uint at = result_at(c);
    result_store(at, reduced(c, PART == 0u ? 0.0 : result_load(at)));
}
#else
float value(uint c[RANK]) {
#ifdef IN_PARTS
    if (image_of(c[0]) >= source_SIZE_0) return result_load(result_at(c));
#endif
    return reduced(c, 0.0);
}

#include "lib/for_each.glsl"
#endif
