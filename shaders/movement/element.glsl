// ELEMENT, the unit that a kernel moves: a whole vector of elements, or one.
#if VECTORS
#define ELEMENT uvec4
#else
#define ELEMENT result_VALUE
#endif
