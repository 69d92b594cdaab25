// ELEMENT is what a kernel that moves elements takes at once: a whole vector of them, or one.
#if VECTORS
#define ELEMENT uvec4
#else
#define ELEMENT result_VALUE
#endif
