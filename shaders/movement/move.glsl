// Stores what the kernel's ELEMENT value(c) returns at every place of the result: an element or a whole vector of them.
#if VECTORS
#define STORE(unit, c) result_vector_store(result_at(c), value(c))
#endif
#include "lib/for_each.glsl"
