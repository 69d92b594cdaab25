// The factors in shared memory: vectors of four elements in the type of the arithmetic. HALF_STEPS: FLOAT16 factors;
// the products of HALF_STEPS steps of k are added in FLOAT16, two at once if the device can, and then to the sums in
// float32, so that the FLOAT16 error of a sum does not grow with k.
#if HALF_STEPS > 0
#define ONE_KEPT float16_t
#define FOUR_KEPT f16vec4
FOUR_KEPT four_halves(uvec2 words) { return FOUR_KEPT(unpackFloat2x16(words.x), unpackFloat2x16(words.y)); }
#else
#define ONE_KEPT SUM
#define FOUR_KEPT FOUR
#endif
