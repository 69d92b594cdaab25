// ELEMENT, the unit that a kernel moves: a vector of elements, or a single one.
#if VECTORS
#define ELEMENT uvec4
#else
#define ELEMENT result_VALUE
#endif
