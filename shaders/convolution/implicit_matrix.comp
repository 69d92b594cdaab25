#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#pragma use_vulkan_memory_model
// Convolution as in implicit.comp, for FLOAT16 on matrix units, with sums in float32: a workgroup computes TILE_M
// channels of TILE_N positions, each subgroup SUB_M x SUB_N of them in matrices of MATRIX_M x MATRIX_N, which take
// MATRIX_K steps of k at once. The filter {group, output channel, k} is read as vectors of eight steps of k; x as
// vectors of eight input channels (X_EIGHTS, if contiguous) or as pairs of steps.
#include "prelude.glsl"
#include "lib/sum.glsl"

const uint PER = 8u;
const uint SUBGROUPS_N = TILE_N / SUB_N, SUBGROUPS = TILE_M / SUB_M * SUBGROUPS_N;
const uint MATRICES_M = SUB_M / MATRIX_M, MATRICES_N = SUB_N / MATRIX_N;

// Number of vectors per channel or position in shared memory, and the distance between adjacent ones: odd, so that they
// begin in different banks.
const uint LINE = TILE_K / PER, STEP = LINE | 1u;

// Loads per invocation and slab: LOADS_A vectors of the filter, LOADS_B vectors of x or pairs of steps. WINDOWS:
// positions per invocation.
const uint LOADS_A = (TILE_M * LINE + WORKGROUP - 1u) / WORKGROUP;
#if X_EIGHTS
const uint LOADS_B = (TILE_N * LINE + WORKGROUP - 1u) / WORKGROUP, WINDOWS = LOADS_B;
#else
const uint LOADS_B = TILE_N * TILE_K / 2u / WORKGROUP, WINDOWS = TILE_N > WORKGROUP ? TILE_N / WORKGROUP : 1u;
// Distance in k of an invocation's successive loads for a window.
const uint NEXT_K = WORKGROUP * WINDOWS / TILE_N * 2u;
#endif

// The slab of the filter, then that of x.
const uint B_SLAB = TILE_M * STEP, SLABS = B_SLAB + TILE_N * STEP;
#include "gemm/slabs.glsl"

uvec4 next_a[LOADS_A];
#if X_EIGHTS
uvec4 next_b[LOADS_B];
#else
uint next_b[LOADS_B];
#endif

// The first vectors of the filter that an invocation loads. Beyond the last channel, its vectors are loaded but not
// used.
uint filters[LOADS_A];

void load_a(uint k0) {
    [[unroll]] for (uint l = 0u; l < LOADS_A; ++l) next_a[l] = filter_vector(filters[l] + k0 / PER);
}

// The first element of a position's window, as in implicit.comp.
struct Window {
    uint corner, z, y, x;
};
Window windows[WINDOWS];

bool is_in_x(uint z, uint y, uint x) {
    return (FLAT == 1 || z < x_SIZE_2) && y < x_SIZE_3 && x < x_SIZE_4;
}

#if !X_EIGHTS
uint half_of(uint i, bool inside) {
    uint bits = (x_word(i >> 1) >> ((i & 1u) << 4)) & 0xffffu;
    return inside ? bits : 0u;
}
#endif

#if ONE_TAP
#include "convolution/tap.glsl"

void load_b(Tap tap) {
    [[unroll]] for (uint l = 0u; l < LOADS_B; ++l) {
        Window window = windows[l % WINDOWS];
        bool inside = is_in_x(window.z + tap.z, window.y + tap.y, window.x + tap.x);
        uint there = window.corner + tap.distance, at = inside ? there : x_BASE;
#if X_EIGHTS
        uvec4 bits = x_vector(at / PER);
        next_b[l] = inside ? bits : uvec4(0u);
#else
        at += l / WINDOWS * NEXT_K * x_STRIDE_1;
        next_b[l] = half_of(at, inside) | half_of(at + x_STRIDE_1, inside) << 16;
#endif
    }
}
#define LOAD_B(k0) load_b(tap)
#else
#define LOAD_B(k0) load_b(k0)
#if TABLE > 0
#include "convolution/table.glsl"

uint half_at(Window window, uint k) {
    uvec2 own = steps_of_k[k];
    bool inside = is_in_x(window.z + (own.y >> 20), window.y + (own.y >> 10 & 1023u), window.x + (own.y & 1023u));
    return half_of(inside ? window.corner + own.x : x_BASE, inside);
}
#else
uint half_at(Window window, uint k) {
    uint tap = k;
    bool inside = k < K_ALL;
    uint channel = take_coordinate(tap, GROUP_INPUTS_DIVISOR);
    uint x = take_coordinate(tap, TAPS_2_DIVISOR) * DILATION_2, y = take_coordinate(tap, TAPS_1_DIVISOR) * DILATION_1;
    uint z = tap * DILATION_0;
    inside = inside && is_in_x(window.z + z, window.y + y, window.x + x);
    uint there = window.corner + z * x_STRIDE_2 + y * x_STRIDE_3 + x * x_STRIDE_4 + channel * x_STRIDE_1;
    return half_of(inside ? there : x_BASE, inside);
}
#endif

void load_b(uint k0) {
    [[unroll]] for (uint l = 0u; l < LOADS_B; ++l) {
        uint k = k0 + gl_LocalInvocationIndex / TILE_N * 2u + l / WINDOWS * NEXT_K;
        next_b[l] = half_at(windows[l % WINDOWS], k) | half_at(windows[l % WINDOWS], k + 1u) << 16;
    }
}
#endif

void put() {
    [[unroll]] for (uint l = 0u; l < LOADS_A; ++l) {
        uint i = l * WORKGROUP + gl_LocalInvocationIndex;
        if (i < TILE_M * LINE) slabs[i / LINE * STEP + i % LINE] = next_a[l];
    }
    [[unroll]] for (uint l = 0u; l < LOADS_B; ++l) {
        uint i = l * WORKGROUP + gl_LocalInvocationIndex;
#if X_EIGHTS
        if (i < TILE_N * LINE) slabs[B_SLAB + i / LINE * STEP + i % LINE] = next_b[l];
#else
        uint pair = i / TILE_N;
        slabs[B_SLAB + i % TILE_N * STEP + pair / 4u][pair % 4u] = next_b[l];
#endif
    }
}

// Splits a position into its image and its coordinates. Positions beyond the last read the last one's data.
void place_of(uint n, out uint at[4]) {
    uint rest = min(n, PLACES - 1u);
    at[3] = take_coordinate(rest, result_SIZE_4_DIVISOR);
    at[2] = take_coordinate(rest, result_SIZE_3_DIVISOR);
    at[1] = take_coordinate(rest, result_SIZE_2_DIVISOR);
    at[0] = rest;
}

uint index_of(uint n, uint channel) {
    uint place[4];
    place_of(n, place);
    uint at[5] = uint[5](place[0], channel, place[1], place[2], place[3]);
    return result_at(at);
}

// Finishes and stores four sums of a channel, starting at position n: macros, for store_matrices.glsl at the end of
// main().
#if HAS_BIAS
#define ADD_BIAS(four, channel) four += bias_load(bias_BASE + channel * bias_STRIDE_1);
#else
#define ADD_BIAS(four, channel)
#endif
#if RESULT_FOURS
#define STORE_PLACES(four, channel, n) \
    uint e = index_of(n, channel); \
    [[unroll]] for (uint p = 0u; p < 4u; p += 2u) { \
        result_word_store((e + p) >> 1, result_encode_at(e + p, finish(four[p])) | \
                                        result_encode_at(e + p + 1u, finish(four[p + 1u])) << 16); \
    }
#else
#define STORE_PLACES(four, channel, n) \
    [[unroll]] for (uint p = 0u; p < 4u; ++p) { \
        if (n + p < PLACES) result_store(index_of(n + p, channel), finish(four[p])); \
    }
#endif
#define ALL_M GROUP_OUTPUTS
#define ALL_N PLACES
#define STORE_FOUR(m, n, sums_of_four) \
    vec4 four = sums_of_four; \
    uint channel = group * GROUP_OUTPUTS + m; \
    ADD_BIAS(four, channel) \
    STORE_PLACES(four, channel, n)

void main() {
    const uint tiles_m = (GROUP_OUTPUTS + TILE_M - 1u) / TILE_M;
    const uint tiles_n = (PLACES + TILE_N - 1u) / TILE_N;
    uint rest = workgroup_index();
    uint m0 = rest % tiles_m * TILE_M;
    rest /= tiles_m;
    uint n0 = rest % tiles_n * TILE_N, group = rest / tiles_n;
    if (group >= GROUPS) return;  // the whole workgroup returns
    uint own_m = gl_SubgroupID / SUBGROUPS_N * SUB_M, own_n = gl_SubgroupID % SUBGROUPS_N * SUB_N;

    [[unroll]] for (uint l = 0u; l < LOADS_A; ++l) {
        uint i = l * WORKGROUP + gl_LocalInvocationIndex, m = min(m0 + i / LINE, GROUP_OUTPUTS - 1u);
        filters[l] = (group * filter_STRIDE_0 + m * filter_STRIDE_1) / PER + i % LINE;
    }
    [[unroll]] for (uint l = 0u; l < WINDOWS; ++l) {
        uint i = l * WORKGROUP + gl_LocalInvocationIndex;
#if X_EIGHTS
        uint n = i / LINE, channel = i % LINE * PER;
#else
        uint n = i % TILE_N, channel = ONE_TAP * (i / TILE_N * 2u);
#endif
        uint place[4];
        place_of(n0 + n, place);
        uint z = place[1] * MOVE_0 - uint(PADDING_0), y = place[2] * MOVE_1 - uint(PADDING_1);
        uint x = place[3] * MOVE_2 - uint(PADDING_2);
        uint first = x_at(uint[5](place[0], group * GROUP_INPUTS + channel, 0u, 0u, 0u));
        windows[l] = Window(first + z * x_STRIDE_2 + y * x_STRIDE_3 + x * x_STRIDE_4, z, y, x);
    }

    MATRIX_OF_SUMS sums[MATRICES_M][MATRICES_N];
    [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
        [[unroll]] for (uint n = 0u; n < MATRICES_N; ++n) sums[m][n] = MATRIX_OF_SUMS(0.0);
    }
#if !ONE_TAP && TABLE > 0
    fill_table();
    barrier();
#endif
#if ONE_TAP
    Tap tap = Tap(0u, 0u, 0u, 0u, 0u);
    Moves moves = moves_of_taps();
#endif
    load_a(0u);
    LOAD_B(0u);
    for (uint k0 = TILE_K; k0 <= K; k0 += TILE_K) {
        barrier();
        put();
        barrier();
        // After the last steps this loads elements that are not used, as in implicit.comp.
        uint next = min(k0, K - TILE_K);
        load_a(next);
#if ONE_TAP
        next_tap(tap, moves);
#endif
        LOAD_B(next);
        [[unroll]] for (uint k = 0u; k < LINE; k += MATRIX_K / PER) {
            MATRIX_OF_A a[MATRICES_M];
            [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
                coopMatLoad(a[m], slabs, (own_m + m * MATRIX_M) * STEP + k, STEP, gl_CooperativeMatrixLayoutRowMajor);
            }
            [[unroll]] for (uint n = 0u; n < MATRICES_N; ++n) {
                MATRIX_OF_B b;
                uint from = B_SLAB + (own_n + n * MATRIX_N) * STEP + k;
                coopMatLoad(b, slabs, from, STEP, gl_CooperativeMatrixLayoutColumnMajor);
                [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) sums[m][n] = coopMatMulAdd(a[m], b, sums[m][n]);
            }
        }
    }

    barrier();
    #include "gemm/store_matrices.glsl"
}
