// The factors' type in shared memory: fours of elements, in the type of the arithmetic. With HALF_STEPS, for FLOAT16
// factors, products of so many steps of k are added in FLOAT16, two at once if the device can, before they are added to
// the sums in float32. So a sum's error from FLOAT16 does not grow with k.
#if HALF_STEPS > 0
#define ONE_KEPT float16_t
#define FOUR_KEPT f16vec4
FOUR_KEPT four_halves(uvec2 words) { return FOUR_KEPT(unpackFloat2x16(words.x), unpackFloat2x16(words.y)); }
#else
#define ONE_KEPT SUM
#define FOUR_KEPT FOUR
#endif
