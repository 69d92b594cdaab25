// What shared memory keeps of the factors: fours of elements, in what they are computed with. Where HALF_STEPS is not 0,
// that is FLOAT16, for factors that are: the products of so many steps of k are added in it, two at once where the device
// does so, before they go to the sums in float32. So what a sum loses in FLOAT16 does not grow with k.
#if HALF_STEPS > 0
#define ONE_KEPT float16_t
#define FOUR_KEPT f16vec4
FOUR_KEPT four_halves(uvec2 words) { return FOUR_KEPT(unpackFloat2x16(words.x), unpackFloat2x16(words.y)); }
#else
#define ONE_KEPT SUM
#define FOUR_KEPT FOUR
#endif
