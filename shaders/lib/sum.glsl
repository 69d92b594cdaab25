// The types of a sum of products and of four sums, and the conversion of four 32-bit words to the latter.
#if SUM_IS_INT
#define SUM int
#define FOUR ivec4
#define FOUR_OF_BITS ivec4
#else
#define SUM float
#define FOUR vec4
#define FOUR_OF_BITS uintBitsToFloat
#endif
