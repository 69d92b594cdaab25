#version 450
#extension GL_EXT_control_flow_attributes : require
// result = finish(ALPHA * a x b + BETA * c) for results of few rows, bound by reading b, in vectors of 16 bytes (PER
// elements). A workgroup computes TILE_M rows of LANES * COLUMNS columns; SLICES invocations share the products of each
// column, whose sums are then added in pairs, in a fixed order.
//
// B_ALONG COLUMN: a vector holds PER steps of k of a column, and adjacent invocations take adjacent vectors. ROW: it
// holds PER (= COLUMNS) columns, an invocation takes four steps of k, and adjacent invocations adjacent columns.
// A_EIGHTS: rows of a are FLOAT16, also read in vectors of eight. UNROLL: number of these in flight at once.
// ADJACENT_SLICES: as in blocks.comp. K_PART, K_PART_STRIDE: as in shared.comp.
#include "prelude.glsl"
#include "gemm/matrix.glsl"

#if B_WIDE
const uint PER = 4u;
#else
const uint PER = 8u;
#endif

shared FOUR partial[SLICES][LANES * COLUMNS / 4u];

// Keeps the first `count` of four elements and zeroes the others.
FOUR first_of(FOUR four, uint count) {
    return mix(FOUR(0), four, lessThan(uvec4(0u, 1u, 2u, 3u), uvec4(count)));
}

// Loads four steps of k of a row of a. cut: steps starting at end are zero. (Loads in branches would wait for each
// other.)
FOUR steps_of_a(uint row, uint k, uint end, bool cut) {
#if A_ALONG == ROW
    FOUR four = a_four(row + (cut ? min(k, (end - 1u) & ~3u) : k));
#else
    FOUR four;
    [[unroll]] for (uint q = 0u; q < 4u; ++q) four[q] = a_load(row + (cut ? min(k + q, end - 1u) : k + q) * A_COLUMN);
#endif
    return cut ? first_of(four, max(end, k) - k) : four;
}

#if A_EIGHTS
// Loads eight steps of k of a row of a, undecoded. Past the end of k it reads the last existing steps.
uvec4 eight_of_a(uint row, uint k, uint end, bool cut) { return a_vector((row + (cut ? min(k, (end - 1u) & ~7u) : k)) / 8u); }

// Decodes the first (which = 0) or the second four of these eight. cut: steps starting at end are zero.
FOUR four_of_eight(uvec4 bits, uint which, uint k, uint end, bool cut) {
    FOUR four = which == 0u ? FOUR(half_pair(bits.x), half_pair(bits.y)) : FOUR(half_pair(bits.z), half_pair(bits.w));
    return cut ? first_of(four, max(end, k) - k) : four;
}
#endif

// Decodes four elements of a vector of b: the first or, if it has eight, the second four.
FOUR four_of_b(uvec4 bits, uint which) {
#if B_WIDE
    return FOUR_OF_BITS(bits);
#else
    uint low = which == 0u ? bits.x : bits.z, high = which == 0u ? bits.y : bits.w;
    return FOUR(half_pair(low), half_pair(high));
#endif
}

SUM with_products(SUM sum, FOUR a, FOUR b) {
    [[unroll]] for (uint q = 0u; q < 4u; ++q) sum += a[q] * b[q];
    return sum;
}

#if B_ALONG == COLUMN
const uint STEP = SLICES * PER;

#if A_EIGHTS
#define RAW_A(u, cut)     \
    uvec4 raw_a[TILE_M]; \
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) raw_a[m] = eight_of_a(rows[m], k + u * STEP, end, cut);
#define STEPS_OF_A(m, p, from, cut) four_of_eight(raw_a[m], p, from, end, cut)
#else
#define RAW_A(u, cut)
#define STEPS_OF_A(m, p, from, cut) steps_of_a(rows[m], from, end, cut)
#endif

// Adds the products of count vectors of each column, STEP apart starting at k. cut: steps from end on count as zero.
#define ADD(count, cut)                                                                                              \
    uvec4 b[count][COLUMNS];                                                                                         \
    [[unroll]] for (uint u = 0u; u < count; ++u) {                                                                   \
        [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) b[u][c] = b_vector((columns[c] + k + u * STEP) / PER);        \
    }                                                                                                                \
    [[unroll]] for (uint u = 0u; u < count; ++u) {                                                                   \
        RAW_A(u, cut)                                                                                                \
        [[unroll]] for (uint p = 0u; p < PER / 4u; ++p) {                                                            \
            uint from = k + u * STEP + 4u * p;                                                                       \
            FOUR four[COLUMNS];                                                                                      \
            [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {                                                         \
                four[c] = four_of_b(b[u][c], p);                                                                     \
                if (cut) four[c] = first_of(four[c], max(end, from) - from);                                         \
            }                                                                                                        \
            [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {                                                          \
                FOUR a = STEPS_OF_A(m, p, from, cut);                                                                \
                [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) sums[m][c] = with_products(sums[m][c], a, four[c]);   \
            }                                                                                                        \
        }                                                                                                            \
    }
#else
const uint STEP = SLICES * 4u;

// Adds the products of four steps of k, count times, STEP apart starting at k. cut: steps from end on count as zero.
#define ADD(count, cut)                                                                                              \
    uvec4 b[count][4];                                                                                               \
    [[unroll]] for (uint u = 0u; u < count; ++u) {                                                                   \
        [[unroll]] for (uint q = 0u; q < 4u; ++q) {                                                                  \
            uint step_ = k + u * STEP + q;                                                                           \
            b[u][q] = b_vector((column + (cut ? min(step_, end - 1u) : step_) * B_ROW) / PER);                       \
        }                                                                                                            \
    }                                                                                                                \
    [[unroll]] for (uint u = 0u; u < count; ++u) {                                                                   \
        FOUR a[TILE_M];                                                                                              \
        [[unroll]] for (uint m = 0u; m < TILE_M; ++m) a[m] = steps_of_a(rows[m], k + u * STEP, end, cut);            \
        [[unroll]] for (uint q = 0u; q < 4u; ++q) {                                                                  \
            [[unroll]] for (uint c = 0u; c < COLUMNS / 4u; ++c) {                                                    \
                FOUR four = four_of_b(b[u][q], c);                                                                   \
                if (cut && k + u * STEP + q >= end) four = FOUR(0);                                                  \
                [[unroll]] for (uint m = 0u; m < TILE_M; ++m) sums[m][c] += a[m][q] * four;                          \
            }                                                                                                        \
        }                                                                                                            \
    }
#endif

void main() {
    const uint tiles_m = (M + TILE_M - 1u) / TILE_M;
    const uint groups_n = (N + LANES * COLUMNS - 1u) / (LANES * COLUMNS);
    uint group = workgroup_index();
#if B_ALONG == COLUMN
    uint lane = gl_LocalInvocationIndex / ADJACENT_SLICES % LANES;
    uint slice = gl_LocalInvocationIndex / (ADJACENT_SLICES * LANES) * ADJACENT_SLICES
        + gl_LocalInvocationIndex % ADJACENT_SLICES;
#else
    uint lane = gl_LocalInvocationIndex % LANES, slice = gl_LocalInvocationIndex / LANES;
#endif
    uint n0 = group % groups_n * (LANES * COLUMNS);
    uint m0 = group / groups_n % tiles_m * TILE_M;
    uint matrix = group / (groups_n * tiles_m);
    uint batch = matrix % BATCH, begin = matrix / BATCH * K_PART;
    if (begin >= K) return;  // the whole workgroup returns
    uint end = min(K, begin + K_PART);
    uint at[RANK];
    coordinates(batch, at);

    // Rows and columns beyond the edges repeat the last ones; their sums are not stored.
    uint rows[TILE_M];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) rows[m] = a_batch(at) + min(m0 + m, M - 1u) * A_ROW;
#if B_ALONG == COLUMN
    uint columns[COLUMNS];
    [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
        columns[c] = b_batch(at) + min(n0 + lane * COLUMNS + c, N - 1u) * B_COLUMN;
    }
    SUM sums[TILE_M][COLUMNS];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
        [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) sums[m][c] = SUM(0);
    }
    uint k = begin + slice * PER;
    const uint last = (UNROLL - 1u) * STEP + PER;
#else
    uint column = b_batch(at) + min(n0 + lane * COLUMNS, (N - 1u) / PER * PER);
    FOUR sums[TILE_M][COLUMNS / 4u];
    [[unroll]] for (uint m = 0u; m < TILE_M; ++m) {
        [[unroll]] for (uint c = 0u; c < COLUMNS / 4u; ++c) sums[m][c] = FOUR(0);
    }
    uint k = begin + slice * 4u;
    const uint last = (UNROLL - 1u) * STEP + 4u;
#endif
    for (; k + last <= end; k += UNROLL * STEP) { ADD(UNROLL, false) }
    for (; k < end; k += STEP) { ADD(1u, true) }

    uint first = result_batch(at) + begin / K_PART * K_PART_STRIDE;
    // Not unrolled, as in shared.comp.
    [[dont_unroll]] for (uint m = 0u; m < TILE_M; ++m) {
        if (m > 0u) barrier();  // the previous row's sums have been read
        [[unroll]] for (uint p = 0u; p < TILE_M; ++p) {
            if (m == p) {
#if B_ALONG == COLUMN
                [[unroll]] for (uint c = 0u; c < COLUMNS; ++c) {
                    uint own = lane * COLUMNS + c;
                    partial[slice][own / 4u][own % 4u] = sums[p][c];
                }
#else
                [[unroll]] for (uint c = 0u; c < COLUMNS / 4u; ++c) {
                    partial[slice][lane * (COLUMNS / 4u) + c] = sums[p][c];
                }
#endif
            }
        }
        barrier();
        // Add the sums of the slices in pairs, with all invocations at work.
        for (uint half_of = SLICES / 2u; half_of > 0u; half_of /= 2u) {
            for (uint i = gl_LocalInvocationIndex; i < half_of * (LANES * COLUMNS / 4u); i += WORKGROUP) {
                uint at_slice = i / (LANES * COLUMNS / 4u), own = i % (LANES * COLUMNS / 4u);
                partial[at_slice][own] += partial[at_slice + half_of][own];
            }
            barrier();
        }
        for (uint own = gl_LocalInvocationIndex; own < LANES * COLUMNS / 4u; own += WORKGROUP) {
            uint n = n0 + own * 4u;
            if (m0 + m < M && n < N) {
                uint row = first + (m0 + m) * RESULT_ROW;
#if HAS_C
                uint c_row = c_batch(at) + (m0 + m) * C_ROW;
#else
                const uint c_row = 0u;
#endif
                store_four(row, c_row, n, partial[0][own]);
            }
        }
    }
}
