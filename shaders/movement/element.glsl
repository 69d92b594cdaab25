// What a moving kernel moves at a time.
#if VECTORS
#define ELEMENT uvec4
#else
#define ELEMENT result_VALUE
#endif
