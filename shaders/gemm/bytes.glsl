// The common part of the kernels for products of 8-bit integers: result = finish(sum over k of (a - a's zero point) *
// (b - b's zero point)). a is {batch, M, K} and b {batch, N, K}, both contiguous along k, in vectors of sixteen: K is a
// multiple of 16. The kernels multiply a ^ A_FLIP and b ^ B_FLIP: for signed products, the flip subtracts 128 from the
// bytes of an unsigned operand.
//
// HAS_TERMS: a_terms and b_terms hold, for each row, the zero point (less 128 if flipped), and the sum of the row's
// elements, which the other operand's zero point multiplies (see bytes_terms.comp). All sums are exact modulo 2^32.
//
// WINDOWS: b is the windows of a convolution's x (see convolution/byte_windows.glsl), a its filter, batch the groups.
// The prelude ends with result_VALUE finished(int sum, uint at[RANK], uint m, uint n).
const uint PER = 16u;

#if WINDOWS
#include "convolution/byte_windows.glsl"
#else
#define LINE uint
LINE line_of_b(uint at[RANK], uint n) { return b_batch(at) + n * B_ROW; }
uvec4 vector_of_b(LINE line, uint k) { return b_vector((line + k) / PER) ^ B_FLIP; }
uint index_of_result(uint at[RANK], uint m, uint n) { return result_batch(at) + m * RESULT_ROW + n * RESULT_COLUMN; }
#endif

// Returns sixteen bytes of row m, which exists, starting at k, a multiple of 16; zeros from K on.
uvec4 vector_of_a(uint a0, uint m, uint k) {
    uvec4 bits = a_vector((a0 + m * A_ROW + min(k, K - PER)) / PER) ^ A_FLIP;
    return k < K ? bits : uvec4(0u);
}

// Corrects a sum of products of bytes for the zero points.
int corrected(uint sum, uint at[RANK], uint m, uint n) {
#if HAS_TERMS
    uint own = a_terms_batch(at) + m * A_TERMS_ROW, other = b_terms_batch(at) + n * B_TERMS_ROW;
    uint a_point = uint(a_terms_load(own)), a_sum = uint(a_terms_load(own + 1u));
    uint b_point = uint(b_terms_load(other)), b_sum = uint(b_terms_load(other + 1u));
    return int(sum - b_point * a_sum - a_point * b_sum);
#else
    return int(sum);
#endif
}

// LONG_FINISH: the code that finishes a sum is long, so a loop that is not unrolled selects each sum by constant
// indices.
#if LONG_FINISH
#define EACH_OF_FOUR [[dont_unroll]]
#define PICKED(four, p) ((p) < 2u ? (p) == 0u ? four.x : four.y : (p) == 2u ? four.z : four.w)
#else
#define EACH_OF_FOUR [[unroll]]
#define PICKED(four, p) four[p]
#endif

// Stores the finished sums of row m and four adjacent columns starting at n. STORES: the number of elements in a word
// of the result if these four are contiguous and aligned to four, else 0.
void store_four(uint at[RANK], uint m, uint n, uvec4 sums) {
#if STORES > 0
    const uint last = uint(STORES) - 1u;
    uint i = index_of_result(at, m, n), word = 0u;
    EACH_OF_FOUR for (uint p = 0u; p < 4u; ++p) {
        uint bits = result_encode_at(i + p, finished(corrected(PICKED(sums, p), at, m, n + p), at, m, n + p));
        word |= bits << ((p & last) * result_BITS % 32u);
        if ((p & last) == last) {
            result_word_store((i + p) / uint(STORES), word);
            word = 0u;
        }
    }
#else
    EACH_OF_FOUR for (uint p = 0u; p < 4u; ++p) {
        if (n + p < N) {
            int sum = corrected(PICKED(sums, p), at, m, n + p);
            result_store(index_of_result(at, m, n + p), finished(sum, at, m, n + p));
        }
    }
#endif
}
