// The common part of the matrix product kernels: reading four adjacent elements at once, and finishing sums. The last
// two dimensions of a, b, c and result are the matrix, those before it the batch. The prelude has, for each tensor t,
// t_batch(at), the index at which a batch element's matrix begins, and its strides T_ROW and T_COLUMN; and finish(x),
// the activation.
//
// A_ALONG, B_ALONG: ROW (COLUMN) if the elements of a row (column) are contiguous in memory and aligned to four,
// NOWHERE if neither is. RESULT_ALONG: the same for stores. A_WIDE, B_WIDE, RESULT_WIDE: 32-bit elements, bound as
// uvec4. A_PAIRS, B_PAIRS: float16, two per word.
#define NOWHERE 0
#define ROW 1
#define COLUMN 2

#include "lib/sum.glsl"
#include "gemm/half_pair.glsl"

// Elements i to i + 3 of a, and of b: two functions, since GLSL passes no buffers to functions.
FOUR a_four(uint i) {
#if A_WIDE
    return FOUR_OF_BITS(a_vector(i >> 2));
#elif A_PAIRS
    return FOUR(half_pair(a_word(i >> 1)), half_pair(a_word((i >> 1) + 1u)));
#else
    return FOUR(a_load(i), a_load(i + 1u), a_load(i + 2u), a_load(i + 3u));
#endif
}

FOUR b_four(uint i) {
#if B_WIDE
    return FOUR_OF_BITS(b_vector(i >> 2));
#elif B_PAIRS
    return FOUR(half_pair(b_word(i >> 1)), half_pair(b_word((i >> 1) + 1u)));
#else
    return FOUR(b_load(i), b_load(i + 1u), b_load(i + 2u), b_load(i + 3u));
#endif
}

// The result's element in column n for a sum of products; c_row: the start of its row of c.
SUM finished(SUM sum, uint c_row, uint n) {
#if SUM_IS_INT && HAS_C
    return sum + c_load(c_row + n * C_COLUMN);
#elif SUM_IS_INT
    return sum;
#elif HAS_C
    return finish(ALPHA * sum + BETA * c_load(c_row + n * C_COLUMN));
#else
    return finish(ALPHA * sum);
#endif
}

// Stores four adjacent finished sums of a row, starting at column n; row, c_row: the starts of the rows.
void store_four(uint row, uint c_row, uint n, FOUR sums) {
    uint i = row + n * RESULT_COLUMN;
#if RESULT_ALONG == ROW && !RESULT_WIDE && defined(LATE_NUMBERS)
    // The elements are finished one after the other: V3D 7.1 and Mali G52 spilled when the operands of an epilogue were
    // loaded for several at a time.
    uint word = 0u;
    [[dont_unroll]] for (uint p = 0u; p < 4u; ++p) {
        SUM sum = p == 0u ? sums.x : p == 1u ? sums.y : p == 2u ? sums.z : sums.w;
        uint bits = result_encode_at(i + p, finished(sum, c_row, n + p));
        if (p % 2u == 0u) {
            word = bits;
        } else {
            result_word_store((i + p) >> 1, word | bits << 16);
        }
    }
#elif RESULT_ALONG == ROW
    FOUR v = FOUR(finished(sums.x, c_row, n), finished(sums.y, c_row, n + 1u), finished(sums.z, c_row, n + 2u),
                  finished(sums.w, c_row, n + 3u));
#if RESULT_WIDE
    result_vector_store(i >> 2, uvec4(result_encode(v.x), result_encode(v.y), result_encode(v.z), result_encode(v.w)));
#else
    result_word_store(i >> 1, result_encode_at(i, v.x) | result_encode_at(i + 1u, v.y) << 16);
    result_word_store((i >> 1) + 1u, result_encode_at(i + 2u, v.z) | result_encode_at(i + 3u, v.w) << 16);
#endif
#else
    [[unroll]] for (uint p = 0u; p < 4u; ++p) {
        if (n + p < N) result_store(i + p * RESULT_COLUMN, finished(sums[p], c_row, n + p));
    }
#endif
}
