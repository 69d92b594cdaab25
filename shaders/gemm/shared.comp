#version 450
#extension GL_EXT_control_flow_attributes : require
// result = finish(ALPHA * a x b + BETA * c) through shared memory, for devices where invocations would read the same
// elements from memory too often. A workgroup computes TILE_M x TILE_N of the result in slabs of TILE_K steps of k. An
// invocation keeps 4 * FOURS_M x 4 * FOURS_N sums in registers: blocks of 4 x 4 that are GROUPS_M blocks apart down and
// GROUPS_N across, so that adjacent invocations read adjacent words.
//
// K_PART: for split-k, the maximum number of steps of k that a workgroup adds; if fewer than K, the result has a matrix
// per part, K_PART_STRIDE elements apart. PLACES_FIRST: the address of the result is computed before the loop.
// LOADS_AHEAD: the next slab is loaded to registers while this one is added. (Double buffering in shared memory saves a
// barrier, but is slower on an H100.) B_STORED: b has numbers of few bits (gemm/stored.glsl).
#include "prelude.glsl"
#include "gemm/matrix.glsl"
#include "gemm/halves.glsl"
#include "gemm/stored.glsl"

const uint GROUPS_M = TILE_M / (4u * FOURS_M);
const uint GROUPS_N = TILE_N / (4u * FOURS_N);

// Vectors of four elements that an invocation loads per slab.
const uint FOURS_OF_A = TILE_M * TILE_K / 4u / WORKGROUP;
const uint FOURS_OF_B = TILE_N * TILE_K / 4u / WORKGROUP;

// [k][m / 4] and [k][n / 4]; rows have a spare block, so that writes along k go to different banks.
shared FOUR_KEPT tile_a[TILE_K][TILE_M / 4u + 1u];
shared FOUR_KEPT tile_b[TILE_K][TILE_N / 4u + 1u];

#include "gemm/add_halves.glsl"

// AMD's compiler computes the integer products of all unrolled steps before it adds any, which takes too many
// registers.
#if SUM_IS_INT
#define STEPS_OF_K [[dont_unroll]]
#else
#define STEPS_OF_K [[unroll]]
#endif

// Four elements as loaded; they are decoded later, since decoding waits for the load.
#if A_WIDE
#define A_RAW uvec4
#elif A_PAIRS
#define A_RAW uvec2
#else
#define A_RAW FOUR
#endif
#if B_WIDE || B_STORED
#define B_RAW uvec4
#elif B_PAIRS
#define B_RAW uvec2
#else
#define B_RAW FOUR
#endif

// Vector number i of four elements of a, and of b.
A_RAW a_raw(uint i) {
#if A_WIDE
    return a_vector(i);
#elif A_PAIRS
    return uvec2(a_word(2u * i), a_word(2u * i + 1u));
#else
    return a_four(4u * i);
#endif
}

#if !B_STORED
B_RAW b_raw(uint i) {
#if B_WIDE
    return b_vector(i);
#elif B_PAIRS
    return uvec2(b_word(2u * i), b_word(2u * i + 1u));
#else
    return b_four(4u * i);
#endif
}
#endif

FOUR_KEPT a_of_raw(A_RAW raw) {
#if A_WIDE
    return FOUR_OF_BITS(raw);
#elif A_PAIRS && HALF_STEPS > 0
    return four_halves(raw);
#elif A_PAIRS
    return FOUR(half_pair(raw.x), half_pair(raw.y));
#else
    return FOUR_KEPT(raw);
#endif
}

FOUR_KEPT b_of_raw(B_RAW raw) {
#if B_WIDE
    return FOUR_OF_BITS(raw);
#elif B_STORED
    return FOUR_KEPT(four_stored(raw));
#elif B_PAIRS && HALF_STEPS > 0
    return four_halves(raw);
#elif B_PAIRS
    return FOUR(half_pair(raw.x), half_pair(raw.y));
#else
    return FOUR_KEPT(raw);
#endif
}

// Position in a slab of this invocation's l-th vector of four: row (column for b) and first step of k. The workgroup is
// a multiple of the tile's sizes, so that the positions of an invocation differ by constants.
#define ALONG(own, first, count, l)                                                        \
    uint own = gl_LocalInvocationIndex % (count), first = gl_LocalInvocationIndex / (count) + (l) * (WORKGROUP / (count));
#if A_ALONG == COLUMN
#define A_PLACE(l) ALONG(four, k, TILE_M / 4u, l) uint m = 4u * four;
#else
#define A_PLACE(l) ALONG(four, m, TILE_K / 4u, l) uint k = 4u * four;
#endif
#if B_ALONG == ROW
#define B_PLACE(l) ALONG(four, k, TILE_N / 4u, l) uint n = 4u * four;
#else
#define B_PLACE(l) ALONG(four, n, TILE_K / 4u, l) uint k = 4u * four;
#endif
// Elements that are not contiguous in memory are read one by one.
#if A_ALONG_M
#define A_SINGLE(l, q) ALONG(m, k, TILE_M, 4u * (l) + (q))
#else
#define A_SINGLE(l, q) ALONG(k, m, TILE_K, 4u * (l) + (q))
#endif
#if B_ALONG_N
#define B_SINGLE(l, q) ALONG(n, k, TILE_N, 4u * (l) + (q))
#else
#define B_SINGLE(l, q) ALONG(k, n, TILE_K, 4u * (l) + (q))
#endif

// Indices of the vectors of a and b that an invocation loads at step k0 = 0. Across k only the first: the others follow
// at multiples of A_COLUMN (B_ROW).
#if A_ALONG == COLUMN
uint fours_of_a[1];
#else
uint fours_of_a[FOURS_OF_A];
#endif
#if B_ALONG == ROW
uint fours_of_b[1];
#else
uint fours_of_b[FOURS_OF_B];
#endif

void find_fours_of_a(uint a0, uint m0) {
#if A_ALONG == COLUMN
    A_PLACE(0u)
    fours_of_a[0] = (a0 + min(m0 + m, (M - 1u) & ~3u) + k * A_COLUMN) / 4u;
#elif A_ALONG == ROW
    [[unroll]] for (uint l = 0u; l < FOURS_OF_A; ++l) {
        A_PLACE(l)
        fours_of_a[l] = (a0 + min(m0 + m, M - 1u) * A_ROW + k) / 4u;
    }
#endif
}

void find_fours_of_b(uint b0, uint n0) {
#if B_ALONG == ROW
    B_PLACE(0u)
    fours_of_b[0] = (b0 + min(n0 + n, (N - 1u) & ~3u) + k * B_ROW) / 4u;
#elif B_ALONG == COLUMN && !B_STORED
    [[unroll]] for (uint l = 0u; l < FOURS_OF_B; ++l) {
        B_PLACE(l)
        fours_of_b[l] = (b0 + min(n0 + n, N - 1u) * B_COLUMN + k) / 4u;
    }
#endif
}

// Loads are not inside branches, where they would wait for each other: beyond the edges, the last existing row, column
// or step of k is read. Sums of such rows and columns are not stored; such steps are not added. whole: all steps of the
// slab at step k0 exist; the distance of a vector from the one found above is then the same for all invocations.
void load_a(uint a0, uint m0, uint k0, uint end, bool whole, out A_RAW raw[FOURS_OF_A]) {
    [[unroll]] for (uint l = 0u; l < FOURS_OF_A; ++l) {
#if A_ALONG == NOWHERE
        [[unroll]] for (uint q = 0u; q < 4u; ++q) {
            A_SINGLE(l, q)
            uint step_of_k = whole ? k0 + k : min(k0 + k, end - 1u);
            raw[l][q] = a_load(a0 + min(m0 + m, M - 1u) * A_ROW + step_of_k * A_COLUMN);
        }
#else
        A_PLACE(l)
#if A_ALONG == COLUMN
        uint near = fours_of_a[0] + (k0 + l * (WORKGROUP / (TILE_M / 4u))) * A_COLUMN / 4u;
        uint clamped = (a0 + min(m0 + m, (M - 1u) & ~3u) + min(k0 + k, end - 1u) * A_COLUMN) / 4u;
#else
        uint near = fours_of_a[l] + k0 / 4u;
        uint clamped = (a0 + min(m0 + m, M - 1u) * A_ROW + min(k0 + k, (end - 1u) & ~3u)) / 4u;
#endif
        raw[l] = a_raw(whole ? near : clamped);
#endif
    }
}

void load_b(uint b0, uint n0, uint k0, uint end, bool whole, out B_RAW raw[FOURS_OF_B]) {
    [[unroll]] for (uint l = 0u; l < FOURS_OF_B; ++l) {
#if B_ALONG == NOWHERE && !B_STORED
        [[unroll]] for (uint q = 0u; q < 4u; ++q) {
            B_SINGLE(l, q)
            uint step_of_k = whole ? k0 + k : min(k0 + k, end - 1u);
            raw[l][q] = b_load(b0 + min(n0 + n, N - 1u) * B_COLUMN + step_of_k * B_ROW);
        }
#else
        B_PLACE(l)
#if B_STORED
        raw[l] = stored_numbers(min(n0 + n, N - 1u), whole ? k0 + k : min(k0 + k, (end - 1u) & ~3u), 4u);
#else
#if B_ALONG == ROW
        uint near = fours_of_b[0] + (k0 + l * (WORKGROUP / (TILE_N / 4u))) * B_ROW / 4u;
        uint clamped = (b0 + min(n0 + n, (N - 1u) & ~3u) + min(k0 + k, end - 1u) * B_ROW) / 4u;
#else
        uint near = fours_of_b[l] + k0 / 4u;
        uint clamped = (b0 + min(n0 + n, N - 1u) * B_COLUMN + min(k0 + k, (end - 1u) & ~3u)) / 4u;
#endif
        raw[l] = b_raw(whole ? near : clamped);
#endif
#endif
    }
}

void keep_a(A_RAW raw[FOURS_OF_A]) {
    [[unroll]] for (uint l = 0u; l < FOURS_OF_A; ++l) {
#if A_ALONG == NOWHERE
        [[unroll]] for (uint q = 0u; q < 4u; ++q) {
            A_SINGLE(l, q)
            tile_a[k][m / 4u][m % 4u] = ONE_KEPT(raw[l][q]);
        }
#else
        A_PLACE(l)
        FOUR_KEPT kept = a_of_raw(raw[l]);
#if A_ALONG == COLUMN
        tile_a[k][m / 4u] = kept;
#else
        [[unroll]] for (uint q = 0u; q < 4u; ++q) tile_a[k + q][m / 4u][m % 4u] = kept[q];
#endif
#endif
    }
}

void keep_b(B_RAW raw[FOURS_OF_B]) {
    [[unroll]] for (uint l = 0u; l < FOURS_OF_B; ++l) {
#if B_ALONG == NOWHERE
        [[unroll]] for (uint q = 0u; q < 4u; ++q) {
            B_SINGLE(l, q)
            tile_b[k][n / 4u][n % 4u] = ONE_KEPT(raw[l][q]);
        }
#else
        B_PLACE(l)
        FOUR_KEPT kept = b_of_raw(raw[l]);
#if B_ALONG == ROW
        tile_b[k][n / 4u] = kept;
#else
        [[unroll]] for (uint q = 0u; q < 4u; ++q) tile_b[k + q][n / 4u][n % 4u] = kept[q];
#endif
#endif
    }
}

// Adds the products of step k of the slab to an invocation's sums.
void add_step(uint k, uint own_m, uint own_n, inout FOUR sums[4u * FOURS_M][FOURS_N]) {
    FOUR a[FOURS_M], b[FOURS_N];
    [[unroll]] for (uint m = 0u; m < FOURS_M; ++m) a[m] = FOUR(tile_a[k][own_m + m * GROUPS_M]);
    [[unroll]] for (uint n = 0u; n < FOURS_N; ++n) b[n] = FOUR(tile_b[k][own_n + n * GROUPS_N]);
    [[unroll]] for (uint m = 0u; m < 4u * FOURS_M; ++m) {
        [[unroll]] for (uint n = 0u; n < FOURS_N; ++n) sums[m][n] += a[m / 4u][m % 4u] * b[n];
    }
}

#if HALF_STEPS > 0
#define ADD_SLAB add_halves(own_m, own_n, sums);
#else
#define ADD_SLAB STEPS_OF_K for (uint k = 0u; k < TILE_K; ++k) add_step(k, own_m, own_n, sums);
#endif

void main() {
    const uint tiles_m = (M + TILE_M - 1u) / TILE_M;
    const uint tiles_n = (N + TILE_N - 1u) / TILE_N;
    uint group = workgroup_index();
    uint n0 = group % tiles_n * TILE_N;
    uint m0 = group / tiles_n % tiles_m * TILE_M;
    uint matrix = group / (tiles_n * tiles_m);
    uint batch = matrix % BATCH, begin = matrix / BATCH * K_PART;
    if (begin >= K) return;  // the whole workgroup returns
    uint end = min(K, begin + K_PART);
    uint at[RANK];
    coordinates(batch, at);
    uint a0 = a_batch(at), b0 = b_batch(at);
#if B_STORED
    begin_stored(at);
#endif
#if PLACES_FIRST
    uint first = result_batch(at) + begin / K_PART * K_PART_STRIDE;
#endif
    // Invocations form patches of 8 x 4: their reads of a tile's row hit few banks.
    uint lane = gl_LocalInvocationIndex % 32u, patch_ = gl_LocalInvocationIndex / 32u;
    uint own_n = patch_ % (GROUPS_N / 8u) * 8u + lane % 8u, own_m = patch_ / (GROUPS_N / 8u) * 4u + lane / 8u;

    FOUR sums[4u * FOURS_M][FOURS_N];
    [[unroll]] for (uint m = 0u; m < 4u * FOURS_M; ++m) {
        [[unroll]] for (uint n = 0u; n < FOURS_N; ++n) sums[m][n] = FOUR(0);
    }
    A_RAW raw_a[FOURS_OF_A];
    B_RAW raw_b[FOURS_OF_B];
    // The loop over whole slabs has no code for the ends of a and b.
    uint k0 = begin;
    find_fours_of_a(a0, m0);
    find_fours_of_b(b0, n0);
#if LOADS_AHEAD
    load_a(a0, m0, begin, end, false, raw_a);
    load_b(b0, n0, begin, end, false, raw_b);
    keep_a(raw_a);
    keep_b(raw_b);
    barrier();
    // If end is a multiple of four, the last slab begins early enough to be whole: it overlaps the one before it. Else
    // the remaining steps are loaded after the loop, whose last loads repeat the loads of its last slab.
    bool overlaps = end % 4u == 0u;
    uint last = end - TILE_K - (overlaps ? 0u : (end - begin) % TILE_K);
    for (; k0 + TILE_K <= end; k0 += TILE_K) {
        uint next = min(k0 + TILE_K, last);
        load_a(a0, m0, next, end, true, raw_a);
        load_b(b0, n0, next, end, true, raw_b);
        ADD_SLAB
        barrier();
        keep_a(raw_a);
        keep_b(raw_b);
        barrier();
    }
    uint loaded = k0 == begin ? begin : last;
    bool has_rest = loaded + TILE_K >= end;
#else
    for (; k0 + TILE_K <= end; k0 += TILE_K) {
        load_a(a0, m0, k0, end, true, raw_a);
        load_b(b0, n0, k0, end, true, raw_b);
        keep_a(raw_a);
        keep_b(raw_b);
        barrier();
        ADD_SLAB
        barrier();
    }
    uint loaded = k0;
    const bool has_rest = false;
#endif
    if (k0 < end && !has_rest) {
        loaded = k0;
        load_a(a0, m0, k0, end, false, raw_a);
        load_b(b0, n0, k0, end, false, raw_b);
        keep_a(raw_a);
        keep_b(raw_b);
        barrier();
    }
    [[dont_unroll]] for (; k0 < end; ++k0) add_step(k0 - loaded, own_m, own_n, sums);

    // The outer loop is not unrolled, and an unrolled inner loop selects sums by constant indices: NVIDIA's compiler
    // does not unroll loops with long bodies, and keeps the arrays that they index in memory for the whole kernel.
#if !PLACES_FIRST
    uint first = result_batch(at) + begin / K_PART * K_PART_STRIDE;
#endif
    [[dont_unroll]] for (uint i = 0u; i < 4u * FOURS_M; ++i) {
        FOUR fours[FOURS_N];
        [[unroll]] for (uint p = 0u; p < 4u * FOURS_M; ++p) {
            if (i == p) fours = sums[p];
        }
        uint m = m0 + (own_m + i / 4u * GROUPS_M) * 4u + i % 4u;
        if (m < M) {
            uint row = first + m * RESULT_ROW;
#if HAS_C
            uint c_row = c_batch(at) + m * C_ROW;
#else
            const uint c_row = 0u;
#endif
            [[dont_unroll]] for (uint j = 0u; j < FOURS_N; ++j) {
                FOUR four = fours[0];
                [[unroll]] for (uint p = 1u; p < FOURS_N; ++p) {
                    if (j == p) four = fours[p];
                }
                uint n = n0 + (own_n + j * GROUPS_N) * 4u;
                if (n < N) store_four(row, c_row, n, four);
            }
        }
    }
}
