// What sums of products are made of, and four of them from 32-bit words.
#if SUM_IS_INT
#define SUM int
#define FOUR ivec4
#define FOUR_OF_BITS ivec4
#else
#define SUM float
#define FOUR vec4
#define FOUR_OF_BITS uintBitsToFloat
#endif
