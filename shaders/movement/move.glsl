// Stores what the kernel's ELEMENT value(c) returns at every place of the result: an element or a whole vector of them.
#if VECTORS
void main() {
    uint unit = global_index();
    if (unit >= COUNT) return;
    uint c[RANK];
    coordinates(unit, c);
    result_vector_store(result_at(c), value(c));
}
#else
#include "lib/for_each.glsl"
#endif
