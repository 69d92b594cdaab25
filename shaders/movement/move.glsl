// Stores the kernel's ELEMENT value(c) at every position of the result: an element or a whole vector.
#if VECTORS
#define STORE(unit, c) result_vector_store(result_at(c), value(c))
#endif
#include "lib/for_each.glsl"
