// Comparison of elements of `source`, and the lowest value of their type. The first NaN is the largest.
#if defined(source_IS_FLOAT)
#define LOWEST uintBitsToFloat(0xff800000u)
bool nan(float v) { return (floatBitsToUint(v) & 0x7fffffffu) > 0x7f800000u; }
bool wins(float v, float best) { return v > best || (nan(v) && !nan(best)); }
#elif defined(source_IS_INT)
#define LOWEST int(0xffffffffu << (source_BITS - 1u))
bool wins(int v, int best) { return v > best; }
#elif defined(source_IS_UINT)
#define LOWEST 0u
bool wins(uint v, uint best) { return v > best; }
#elif defined(source_IS_INT64)
#define LOWEST uvec2(0u, 0x80000000u)
bool wins(uvec2 v, uvec2 best) { return less_i64(best, v); }
#else
#define LOWEST uvec2(0u)
bool wins(uvec2 v, uvec2 best) { return less_u64(best, v); }
#endif
