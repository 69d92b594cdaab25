#version 450
#extension GL_EXT_control_flow_attributes : require
// Convolution as a product of matrices, for GPUs: the filter {output channel, k} times the windows {k, position}. k
// counts a window's elements and, innermost, the input channels of a group; positions are numbered consecutively over
// all images. The matrix of windows is never stored: its elements are found in x while they are copied to shared
// memory.
//
// A workgroup computes TILE_M channels of TILE_N positions, TILE_K steps of k at a time. An invocation keeps 4 *
// FOURS_M x 4 * FOURS_N sums, as in gemm/shared.comp, and loads the next TILE_K steps to registers while it adds. The
// filter has the layout that filter.comp writes.
//
// HALVES: x and the filter are FLOAT16. FLAT: windows are one element deep, and never outside x along the depth.
// ONE_TAP: TILE_K divides the input channels, so that TILE_K steps belong to one element of the windows. TABLE,
// otherwise: the size of a table of the steps of k (see table.glsl), or 0. X_FOURS: channels of x are contiguous and
// read in vectors of four. RESULT_FOURS: four positions from a multiple of four on are contiguous (RESULT_WIDE: bound
// as uvec4). PLACES_FIRST: the addresses of the results are computed before the loop. LOADS_AHEAD: the next steps are
// loaded while these are added. SPARE_ROWS: see tile_a. MOVE_d, DILATION_d, PADDING_d: of windows along depth, height
// and width.
#include "prelude.glsl"
#include "lib/sum.glsl"
#include "gemm/halves.glsl"

const uint GROUPS_M = TILE_M / (4u * FOURS_M);
const uint GROUPS_N = TILE_N / (4u * FOURS_N);
const uint LOADS_A = (TILE_K * TILE_M / 4u + WORKGROUP - 1u) / WORKGROUP;
const uint LOADS_B = TILE_K * TILE_N / WORKGROUP;

// [k][m / 4] and [k][n / 4]. SPARE_ROWS: invocations beyond the filter's slab store to spare rows. Compilers would move
// the loads into a branch around the store, and wait for them there.
shared FOUR_KEPT tile_a[SPARE_ROWS == 1 ? max(TILE_K, WORKGROUP / (TILE_M / 4u)) : TILE_K][TILE_M / 4u];
shared FOUR_KEPT tile_b[TILE_K][TILE_N / 4u];

#include "gemm/add_halves.glsl"

// Elements loaded for the next steps.
FOUR_KEPT next_a[LOADS_A];
ONE_KEPT next_b[LOADS_B];

// Vector i of four elements of the filter.
#if HALF_STEPS > 0
#define FILTER_FOUR(i) four_halves(uvec2(filter_word(2u * (i)), filter_word(2u * (i) + 1u)))
#elif HALVES
#include "gemm/half_pair.glsl"
#define FILTER_FOUR(i) FOUR(half_pair(filter_word(2u * (i))), half_pair(filter_word(2u * (i) + 1u)))
#else
#define FILTER_FOUR(i) FOUR_OF_BITS(filter_vector(i))
#endif

// The low half of a word of x, and element i of x.
#if HALVES
#if HALF_STEPS > 0
ONE_KEPT half_of(uint bits) { return unpackFloat2x16(bits).x; }
#else
ONE_KEPT half_of(uint bits) { return x_decode(bits); }
#endif
ONE_KEPT x_one(uint i) { return half_of(x_word(i >> 1) >> ((i & 1u) << 4)); }
#else
ONE_KEPT x_one(uint i) { return x_load(i); }
#endif

// First vector of the filter that an invocation loads. Beyond the last channel or step, the last existing ones are loaded
// but not used.
uint first_of_filter(uint matrix, uint m0) {
    uint k = min(gl_LocalInvocationIndex / (TILE_M / 4u), TILE_K - 1u);
    uint m = min(m0 + gl_LocalInvocationIndex % (TILE_M / 4u) * 4u, filter_STRIDE_1 - 4u);
    return (matrix + k * filter_STRIDE_1 + m) / 4u;
}

void load_a(uint first, uint k0) {
    [[unroll]] for (uint i = 0u; i < LOADS_A; ++i) {
        next_a[i] = FILTER_FOUR(first + (k0 + i * (WORKGROUP / (TILE_M / 4u))) * (filter_STRIDE_1 / 4u));
    }
}

// The first element of a position's window, which may be outside x: its index and coordinates, which wrap around below
// zero. In place of an element outside x the first one of x is loaded, and ignored: a load in a branch would wait for
// earlier ones.
struct Window {
    uint corner, z, y, x;
};

bool is_in_x(uint z, uint y, uint x) {
    return (FLAT == 1 || z < x_SIZE_2) && y < x_SIZE_3 && x < x_SIZE_4;
}

// Distance in k of adjacent groups of TILE_N invocations, and of an invocation's successive loads.
#if X_FOURS
const uint OWN_K = 4u, NEXT_K = WORKGROUP / TILE_N * 4u;
#else
const uint OWN_K = 1u, NEXT_K = WORKGROUP / TILE_N;
#endif

#if ONE_TAP
#include "convolution/tap.glsl"

void load_b(Window window, Tap tap) {
    bool inside = is_in_x(window.z + tap.z, window.y + tap.y, window.x + tap.x);
    uint there = window.corner + tap.distance, at = inside ? there : x_BASE;
#if X_FOURS
    at /= 4u;
    [[unroll]] for (uint i = 0u; i < LOADS_B / 4u; ++i) {
        FOUR four = FOUR_OF_BITS(x_vector(at + i * (NEXT_K / 4u)));
        [[unroll]] for (uint p = 0u; p < 4u; ++p) next_b[4u * i + p] = inside ? four[p] : SUM(0);
    }
#else
    [[unroll]] for (uint i = 0u; i < LOADS_B; ++i) {
#if HALVES
        // Elements at even distances are in the same half of their words.
        uint word = (at >> 1) + i * (NEXT_K / 2u) * x_STRIDE_1, shift = (at & 1u) << 4;
        ONE_KEPT v = NEXT_K % 2u == 0u ? half_of(x_word(word) >> shift) : x_one(at + i * NEXT_K * x_STRIDE_1);
#else
        ONE_KEPT v = x_one(at + i * NEXT_K * x_STRIDE_1);
#endif
        next_b[i] = inside ? v : ONE_KEPT(0);
    }
#endif
}
#define LOAD_B(k0) load_b(window, tap)
#else
#define LOAD_B(k0) load_b(window, k0)
#if TABLE > 0
#include "convolution/table.glsl"

void load_b(Window window, uint k0) {
    [[unroll]] for (uint i = 0u; i < LOADS_B; ++i) {
        uvec2 own = steps_of_k[k0 + gl_LocalInvocationIndex / TILE_N + i * NEXT_K];
        uint z = window.z + (own.y >> 20), y = window.y + (own.y >> 10 & 1023u), x = window.x + (own.y & 1023u);
        bool inside = is_in_x(z, y, x);
        uint there = window.corner + own.x, at = inside ? there : x_BASE;
        ONE_KEPT v = x_one(at);
        next_b[i] = inside ? v : ONE_KEPT(0);
    }
}
#else
void load_b(Window window, uint k0) {
    [[unroll]] for (uint i = 0u; i < LOADS_B; ++i) {
        uint tap = k0 + gl_LocalInvocationIndex / TILE_N + i * NEXT_K;
        bool inside = tap < K_ALL;
        uint channel = take_coordinate(tap, GROUP_INPUTS_DIVISOR);
        uint x = take_coordinate(tap, TAPS_2_DIVISOR) * DILATION_2, y = take_coordinate(tap, TAPS_1_DIVISOR) * DILATION_1;
        uint z = tap * DILATION_0;
        inside = inside && is_in_x(window.z + z, window.y + y, window.x + x);
        uint there = window.corner + z * x_STRIDE_2 + y * x_STRIDE_3 + x * x_STRIDE_4 + channel * x_STRIDE_1;
        uint at = inside ? there : x_BASE;
        ONE_KEPT v = x_one(at);
        next_b[i] = inside ? v : ONE_KEPT(0);
    }
}
#endif
#endif

void put() {
    [[unroll]] for (uint i = 0u; i < LOADS_A; ++i) {
        uint at = gl_LocalInvocationIndex + i * WORKGROUP;
        bool is_kept = SPARE_ROWS == 1 || WORKGROUP <= TILE_K * TILE_M / 4u || at < TILE_K * TILE_M / 4u;
        if (is_kept) tile_a[at / (TILE_M / 4u)][at % (TILE_M / 4u)] = next_a[i];
    }
    uint n = gl_LocalInvocationIndex % TILE_N;
    [[unroll]] for (uint i = 0u; i < LOADS_B; ++i) {
#if X_FOURS
        uint k = gl_LocalInvocationIndex / TILE_N * 4u + i / 4u * NEXT_K + i % 4u;
#else
        uint k = gl_LocalInvocationIndex / TILE_N + i * NEXT_K;
#endif
        tile_b[k][n / 4u][n % 4u] = next_b[i];
    }
}

// Splits a position into its image and its coordinates.
void place_of(uint n, out uint at[4]) {
    uint rest = n;
    at[3] = take_coordinate(rest, result_SIZE_4_DIVISOR);
    at[2] = take_coordinate(rest, result_SIZE_3_DIVISOR);
    at[1] = take_coordinate(rest, result_SIZE_2_DIVISOR);
    at[0] = rest;
}

// Indices in the result of the group's first channel at four positions starting at n, or only at the first of them.
const uint RESULT_PLACES = RESULT_FOURS == 1 ? 1u : 4u;
uint[RESULT_PLACES] results_at(uint n, uint group) {
    uint to[RESULT_PLACES];
    [[unroll]] for (uint p = 0u; p < RESULT_PLACES; ++p) {
        uint place[4];
        place_of(min(n + p, PLACES - 1u), place);
        to[p] = result_at(uint[5](place[0], group * GROUP_OUTPUTS, place[1], place[2], place[3]));
    }
    return to;
}

void main() {
    const uint tiles_m = (GROUP_OUTPUTS + TILE_M - 1u) / TILE_M;
    const uint tiles_n = (PLACES + TILE_N - 1u) / TILE_N;
    uint rest = workgroup_index();
    // Adjacent workgroups take other channels of the same positions.
    uint m0 = rest % tiles_m * TILE_M;
    rest /= tiles_m;
    uint n0 = rest % tiles_n * TILE_N, group = rest / tiles_n;
    if (group >= GROUPS) return;
    uint own_n = gl_LocalInvocationIndex % GROUPS_N, own_m = gl_LocalInvocationIndex / GROUPS_N;

    // Positions beyond the last read the last one's data and store nothing.
    uint place[4];
    place_of(min(n0 + gl_LocalInvocationIndex % TILE_N, PLACES - 1u), place);
    uint corner[5] = uint[5](place[0], group * GROUP_INPUTS, 0u, 0u, 0u);
    uint z = place[1] * MOVE_0 - uint(PADDING_0), y = place[2] * MOVE_1 - uint(PADDING_1);
    uint x = place[3] * MOVE_2 - uint(PADDING_2);
    uint first_of_x = x_at(corner) + z * x_STRIDE_2 + y * x_STRIDE_3 + x * x_STRIDE_4;
#if ONE_TAP
    first_of_x += gl_LocalInvocationIndex / TILE_N * OWN_K * x_STRIDE_1;
#endif
    Window window = Window(first_of_x, z, y, x);
    uint first = first_of_filter(group * filter_STRIDE_0, m0);

    FOUR sums[4u * FOURS_M][FOURS_N];
    [[unroll]] for (uint m = 0u; m < 4u * FOURS_M; ++m) {
        [[unroll]] for (uint n = 0u; n < FOURS_N; ++n) sums[m][n] = FOUR(0);
    }
#if PLACES_FIRST
    uint places[FOURS_N][RESULT_PLACES];
    [[unroll]] for (uint j = 0u; j < FOURS_N; ++j) places[j] = results_at(n0 + (own_n + j * GROUPS_N) * 4u, group);
#endif
#if !ONE_TAP && TABLE > 0
    fill_table();
    barrier();
#endif
#if ONE_TAP
    Tap tap = Tap(0u, 0u, 0u, 0u, 0u);
#if LOADS_AHEAD
    Moves moves = moves_of_taps();
#define MOVES moves
#else
#define MOVES moves_of_taps()  // keeps fewer registers
#endif
#endif
#if LOADS_AHEAD
    load_a(first, 0u);
    LOAD_B(0u);
    put();
    barrier();
    for (uint k0 = TILE_K; k0 <= K; k0 += TILE_K) {
        // After the last steps this loads elements that are not used: a branch would cost more.
        uint next = min(k0, K - TILE_K);
        load_a(first, next);
#if ONE_TAP
        next_tap(tap, MOVES);
#endif
        LOAD_B(next);
#else
    for (uint k0 = 0u; k0 < K; k0 += TILE_K) {
        load_a(first, k0);
        LOAD_B(k0);
        put();
        barrier();
#if ONE_TAP
        next_tap(tap, MOVES);
#endif
#endif
#if HALF_STEPS > 0
        add_halves(own_m, own_n, sums);
#else
        [[unroll]] for (uint k = 0u; k < TILE_K; ++k) {
            FOUR a[FOURS_M], b[FOURS_N];
            [[unroll]] for (uint m = 0u; m < FOURS_M; ++m) a[m] = tile_a[k][own_m + m * GROUPS_M];
            [[unroll]] for (uint n = 0u; n < FOURS_N; ++n) b[n] = tile_b[k][own_n + n * GROUPS_N];
            [[unroll]] for (uint m = 0u; m < 4u * FOURS_M; ++m) {
                [[unroll]] for (uint n = 0u; n < FOURS_N; ++n) sums[m][n] += a[m / 4u][m % 4u] * b[n];
            }
        }
#endif
        barrier();
#if LOADS_AHEAD
        put();
        barrier();
#endif
    }

    [[unroll]] for (uint j = 0u; j < FOURS_N; ++j) {
        uint n = n0 + (own_n + j * GROUPS_N) * 4u;
#if PLACES_FIRST
        uint to[RESULT_PLACES] = places[j];
#else
        uint to[RESULT_PLACES] = results_at(n, group);
#endif
        [[unroll]] for (uint i = 0u; i < 4u * FOURS_M; ++i) {
            uint m = m0 + (own_m + i / 4u * GROUPS_M) * 4u + i % 4u;
            if (m < GROUP_OUTPUTS && n < PLACES) {
                FOUR four = sums[i][j];
#if HAS_BIAS
                four += bias_load(bias_BASE + (group * GROUP_OUTPUTS + m) * bias_STRIDE_1);
#endif
#if RESULT_FOURS && RESULT_WIDE
                uvec4 bits;
                [[unroll]] for (uint p = 0u; p < 4u; ++p) bits[p] = result_encode(finish(four[p]));
                result_vector_store((to[0] + m * result_STRIDE_1) >> 2, bits);
#elif RESULT_FOURS
                uint e = to[0] + m * result_STRIDE_1;
                [[unroll]] for (uint p = 0u; p < 4u; p += 2u) {
                    result_word_store((e + p) >> 1, result_encode_at(e + p, finish(four[p])) |
                                                    result_encode_at(e + p + 1u, finish(four[p + 1u])) << 16);
                }
#elif PLACES_FIRST
                // Positions are finished one after the other: else Mali G52 spilled 20 registers for a Sigmoid of
                // FLOAT16.
                [[dont_unroll]] for (uint p = 0u; p < 4u && n + p < PLACES; ++p) {
                    SUM sum = four[0];
                    uint at = to[0];
                    [[unroll]] for (uint q = 1u; q < 4u; ++q) {
                        if (p == q) sum = four[q], at = to[q];
                    }
                    result_store(at + m * result_STRIDE_1, finish(sum));
                }
#else
                [[unroll]] for (uint p = 0u; p < 4u; ++p) {
                    if (n + p < PLACES) result_store(to[p] + m * result_STRIDE_1, finish(four[p]));
                }
#endif
            }
        }
    }
}
