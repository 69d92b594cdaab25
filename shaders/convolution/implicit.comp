#version 450
#extension GL_EXT_control_flow_attributes : require
// Convolution as a product of matrices, for GPUs: the filter {output channel, k} times the windows {k, position}. k
// counts a window's elements and, innermost, the input channels of a group; positions are counted through all images.
// The matrix of windows is never stored: its elements are found in x while they are copied to shared memory.
//
// A workgroup computes TILE_M channels of TILE_N positions, TILE_K steps of k at a time. An invocation keeps 4 *
// FOURS_M x 4 * FOURS_N sums, as in gemm/shared.comp, and loads the next TILE_K steps to registers while it adds. The
// filter has the layout that filter.comp writes.
//
// ONE_TAP: TILE_K divides the input channels, so that TILE_K steps belong to one element of the windows. TABLE,
// otherwise: the size of a table of the steps of k (see table.glsl), or 0. X_FOURS: channels of x are contiguous and
// read in vectors of four. RESULT_FOURS: four positions from a multiple of four on are contiguous (RESULT_WIDE: bound
// as uvec4). PLACES_FIRST: places of results are found before the loop. MOVE_d, DILATION_d, PADDING_d: of windows along
// depth, height and width.
#include "prelude.glsl"
#include "lib/sum.glsl"
#include "gemm/halves.glsl"

const uint GROUPS_M = TILE_M / (4u * FOURS_M);
const uint GROUPS_N = TILE_N / (4u * FOURS_N);
const uint LOADS_A = (TILE_K * TILE_M / 4u + WORKGROUP - 1u) / WORKGROUP;
const uint LOADS_B = TILE_K * TILE_N / WORKGROUP;

// [k][m / 4] and [k][n / 4].
shared FOUR_KEPT tile_a[TILE_K][TILE_M / 4u];
shared FOUR_KEPT tile_b[TILE_K][TILE_N / 4u];

#include "gemm/add_halves.glsl"

// Elements loaded for the next steps.
FOUR_KEPT next_a[LOADS_A];
ONE_KEPT next_b[LOADS_B];

// Four elements of the filter starting at i, and element i of x.
#if HALF_STEPS > 0
#define FILTER_FOUR(i) four_halves(uvec2(filter_word((i) >> 1), filter_word(((i) >> 1) + 1u)))
#define X_ONE(i) unpackFloat2x16(x_word((i) >> 1) >> (((i) & 1u) << 4)).x
#elif FILTER_HALVES
#include "gemm/half_pair.glsl"
#define FILTER_FOUR(i) FOUR(half_pair(filter_word((i) >> 1)), half_pair(filter_word(((i) >> 1) + 1u)))
#define X_ONE(i) SUM(x_load(i))
#else
#define FILTER_FOUR(i) FOUR_OF_BITS(filter_vector((i) >> 2))
#define X_ONE(i) SUM(x_load(i))
#endif

// Beyond the last channel or step, the last existing ones are loaded but not used.
void load_a(uint matrix, uint m0, uint k0) {
    [[unroll]] for (uint i = 0u; i < LOADS_A; ++i) {
        uint at = gl_LocalInvocationIndex + i * WORKGROUP;
        uint k = min(at / (TILE_M / 4u), TILE_K - 1u), m = min(m0 + at % (TILE_M / 4u) * 4u, filter_STRIDE_1 - 4u);
        next_a[i] = FILTER_FOUR(matrix + m + k * filter_STRIDE_1 + k0 * filter_STRIDE_1);
    }
}

// Start of a position's window: channel 0 of its group in x, and the coordinates, which wrap around below zero. Where
// an element is outside x, another one is loaded and ignored: a load in a branch would wait for earlier ones.
struct Window {
    uint from, z, y, x;
};

// Distance in k of adjacent groups of TILE_N invocations, and of an invocation's successive loads.
#if X_FOURS
const uint OWN_K = 4u, NEXT_K = WORKGROUP / TILE_N * 4u;
#else
const uint OWN_K = 1u, NEXT_K = WORKGROUP / TILE_N;
#endif

#if ONE_TAP
// tap: the window's element (depth, height, width); channel: the first of TILE_K channels to load.
void load_b(Window window, uint tap[3], uint channel) {
    uint z = window.z + tap[0] * DILATION_0, y = window.y + tap[1] * DILATION_1, x = window.x + tap[2] * DILATION_2;
    bool inside = z < x_SIZE_2 && y < x_SIZE_3 && x < x_SIZE_4;
    uint place = z * x_STRIDE_2 + y * x_STRIDE_3 + x * x_STRIDE_4;
    uint at = window.from + (inside ? place : 0u) + (channel + gl_LocalInvocationIndex / TILE_N * OWN_K) * x_STRIDE_1;
#if X_FOURS
    [[unroll]] for (uint i = 0u; i < LOADS_B / 4u; ++i) {
        FOUR four = FOUR_OF_BITS(x_vector((at + i * NEXT_K) >> 2));
        [[unroll]] for (uint p = 0u; p < 4u; ++p) next_b[4u * i + p] = inside ? four[p] : SUM(0);
    }
#else
    [[unroll]] for (uint i = 0u; i < LOADS_B; ++i) {
        ONE_KEPT v = X_ONE(at + i * NEXT_K * x_STRIDE_1);
        next_b[i] = inside ? v : ONE_KEPT(0);
    }
#endif
}
#define LOAD_B(k0) load_b(window, tap, channel)

// Moves on by TILE_K channels, to the window's next element after the last ones. (Without branches, which would split
// the loop into many parts.)
void next_tap(inout uint tap[3], inout uint channel) {
    channel += TILE_K;
    uint carry = uint(channel == GROUP_INPUTS);
    channel -= carry * GROUP_INPUTS;
    tap[2] += carry;
    carry = uint(tap[2] == TAPS_2);
    tap[2] -= carry * TAPS_2;
    tap[1] += carry;
    carry = uint(tap[1] == TAPS_1);
    tap[1] -= carry * TAPS_1;
    tap[0] += carry;
}
#else
#define LOAD_B(k0) load_b(window, k0)
#if TABLE > 0
#include "convolution/table.glsl"

void load_b(Window window, uint k0) {
    uint first = window.from + window.z * x_STRIDE_2 + window.y * x_STRIDE_3 + window.x * x_STRIDE_4;
    [[unroll]] for (uint i = 0u; i < LOADS_B; ++i) {
        uvec2 own = steps_of_k[k0 + gl_LocalInvocationIndex / TILE_N + i * NEXT_K];
        uint z = window.z + (own.y >> 20), y = window.y + (own.y >> 10 & 1023u), x = window.x + (own.y & 1023u);
        bool inside = z < x_SIZE_2 && y < x_SIZE_3 && x < x_SIZE_4;
        ONE_KEPT v = X_ONE(inside ? first + own.x : window.from);
        next_b[i] = inside ? v : ONE_KEPT(0);
    }
}
#else
void load_b(Window window, uint k0) {
    [[unroll]] for (uint i = 0u; i < LOADS_B; ++i) {
        uint tap = k0 + gl_LocalInvocationIndex / TILE_N + i * NEXT_K;
        bool inside = tap < K_ALL;
        uint channel = take_coordinate(tap, GROUP_INPUTS_DIVISOR);
        uint x = window.x + take_coordinate(tap, TAPS_2_DIVISOR) * DILATION_2;
        uint y = window.y + take_coordinate(tap, TAPS_1_DIVISOR) * DILATION_1;
        uint z = window.z + tap * DILATION_0;
        inside = inside && z < x_SIZE_2 && y < x_SIZE_3 && x < x_SIZE_4;
        uint at = z * x_STRIDE_2 + y * x_STRIDE_3 + x * x_STRIDE_4 + channel * x_STRIDE_1;
        ONE_KEPT v = X_ONE(window.from + (inside ? at : 0u));
        next_b[i] = inside ? v : ONE_KEPT(0);
    }
}
#endif
#endif

void put() {
    [[unroll]] for (uint i = 0u; i < LOADS_A; ++i) {
        uint at = gl_LocalInvocationIndex + i * WORKGROUP;
        if (at < TILE_K * TILE_M / 4u) tile_a[at / (TILE_M / 4u)][at % (TILE_M / 4u)] = next_a[i];
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
    Window window = Window(x_at(corner), place[1] * MOVE_0 - uint(PADDING_0), place[2] * MOVE_1 - uint(PADDING_1),
                           place[3] * MOVE_2 - uint(PADDING_2));
    uint matrix = group * filter_STRIDE_0;

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
    uint tap[3] = uint[3](0u, 0u, 0u), channel = 0u;
#endif
#if LOADS_AHEAD
    load_a(matrix, m0, 0u);
    LOAD_B(0u);
    put();
    barrier();
    for (uint k0 = TILE_K; k0 <= K; k0 += TILE_K) {
        // With the last steps this loads them again, without using them: a branch would cost more.
        uint next = min(k0, K - TILE_K);
        load_a(matrix, m0, next);
#if ONE_TAP
        next_tap(tap, channel);
#endif
        LOAD_B(next);
#else
    for (uint k0 = 0u; k0 < K; k0 += TILE_K) {
        load_a(matrix, m0, k0);
        LOAD_B(k0);
        put();
        barrier();
#if ONE_TAP
        next_tap(tap, channel);
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
#else
                [[unroll]] for (uint p = 0u; p < 4u; ++p) {
                    if (n + p < PLACES) result_store(to[p] + m * result_STRIDE_1, finish(four[p]));
                }
#endif
            }
        }
    }
}
