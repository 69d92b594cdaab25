#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#pragma use_vulkan_memory_model
// Convolution as in implicit.comp, for FLOAT16 on matrix units, with sums in float32: a workgroup computes TILE_M
// channels of TILE_N positions, each subgroup SUB_M x SUB_N of them in matrices of MATRIX_M x MATRIX_N, which take
// MATRIX_K steps of k at once. The filter is read as vectors of eight output channels; x as vectors of eight input
// channels (X_EIGHTS, if contiguous; a row of shared memory is a position) or as pairs of positions (a row is a step of
// k).
#include "prelude.glsl"
#include "lib/sum.glsl"

const uint PER = 8u;
const uint SUBGROUPS_N = TILE_N / SUB_N, SUBGROUPS = TILE_M / SUB_M * SUBGROUPS_N;
const uint MATRICES_M = SUB_M / MATRIX_M, MATRICES_N = SUB_N / MATRIX_N;

// Row lengths in vectors, and row pitches: odd, so that rows begin in different banks.
const uint A_LINE = TILE_M / PER, A_STEP = A_LINE | 1u;
#if X_EIGHTS
const uint B_LINES = TILE_N, B_LINE = TILE_K / PER;
#else
const uint B_LINES = TILE_K, B_LINE = TILE_N / PER;
#endif
const uint B_STEP = B_LINE | 1u;

// Loads per invocation and slab: LOADS_A vectors of the filter, LOADS_B vectors of x or pairs of positions. WINDOWS:
// positions per invocation.
const uint LOADS_A = (TILE_K * A_LINE + WORKGROUP - 1u) / WORKGROUP;
#if X_EIGHTS
const uint LOADS_B = (TILE_N * B_LINE + WORKGROUP - 1u) / WORKGROUP, WINDOWS = LOADS_B;
#else
const uint PAIRS = TILE_N / 2u, NEXT_K = WORKGROUP / PAIRS, LOADS_B = TILE_K / NEXT_K, WINDOWS = 2u;
#endif

// The slab of the filter, then that of x.
const uint B_SLAB = TILE_K * A_STEP, SLABS = B_SLAB + B_LINES * B_STEP;
#include "gemm/slabs.glsl"

uvec4 next_a[LOADS_A];
#if X_EIGHTS
uvec4 next_b[LOADS_B];
#else
uint next_b[LOADS_B];
#endif

void load_a(uint matrix, uint m0, uint k0) {
    [[unroll]] for (uint l = 0u; l < LOADS_A; ++l) {
        uint i = l * WORKGROUP + gl_LocalInvocationIndex;
        uint k = min(k0 + i / A_LINE, K - 1u), m = min(m0 + i % A_LINE * PER, filter_STRIDE_1 - PER);
        next_a[l] = filter_vector((matrix + k * filter_STRIDE_1 + m) / PER);
    }
}

// Start of a position's window: channel 0 of its group in x, and the coordinates, which wrap around below zero. Where
// an element is outside x, another one is loaded and ignored: a load in a branch would wait for earlier ones.
struct Window {
    uint from, z, y, x;
};
Window windows[WINDOWS];

// Finds a window's element, relative to the channel's start; returns false if it is outside x.
bool find(Window window, uint tap[3], out uint at) {
    uint z = window.z + tap[0] * DILATION_0, y = window.y + tap[1] * DILATION_1, x = window.x + tap[2] * DILATION_2;
    bool inside = z < x_SIZE_2 && y < x_SIZE_3 && x < x_SIZE_4;
    at = window.from + (inside ? z * x_STRIDE_2 + y * x_STRIDE_3 + x * x_STRIDE_4 : 0u);
    return inside;
}

#if !X_EIGHTS
uint half_of(uint i, bool inside) {
    uint bits = (x_word(i >> 1) >> ((i & 1u) << 4)) & 0xffffu;
    return inside ? bits : 0u;
}
#endif

#if ONE_TAP
void load_b(uint tap[3], uint channel) {
#if X_EIGHTS
    [[unroll]] for (uint l = 0u; l < LOADS_B; ++l) {
        uint at;
        bool inside = find(windows[l], tap, at);
        uint own = (l * WORKGROUP + gl_LocalInvocationIndex) % B_LINE * PER;
        uvec4 bits = x_vector((at + channel + own) / PER);
        next_b[l] = inside ? bits : uvec4(0u);
    }
#else
    uint first, second, own = (channel + gl_LocalInvocationIndex / PAIRS) * x_STRIDE_1;
    bool first_inside = find(windows[0], tap, first), second_inside = find(windows[1], tap, second);
    [[unroll]] for (uint l = 0u; l < LOADS_B; ++l) {
        uint down = own + l * NEXT_K * x_STRIDE_1;
        next_b[l] = half_of(first + down, first_inside) | half_of(second + down, second_inside) << 16;
    }
#endif
}
#elif TABLE > 0
#include "convolution/table.glsl"

uint half_of(Window window, uvec2 step) {
    uint z = window.z + (step.y >> 20), y = window.y + (step.y >> 10 & 1023u), x = window.x + (step.y & 1023u);
    bool inside = z < x_SIZE_2 && y < x_SIZE_3 && x < x_SIZE_4;
    uint first = window.from + window.z * x_STRIDE_2 + window.y * x_STRIDE_3 + window.x * x_STRIDE_4;
    return half_of(inside ? first + step.x : window.from, inside);
}

void load_b(uint k0) {
    [[unroll]] for (uint l = 0u; l < LOADS_B; ++l) {
        uvec2 step = steps_of_k[k0 + gl_LocalInvocationIndex / PAIRS + l * NEXT_K];
        next_b[l] = half_of(windows[0], step) | half_of(windows[1], step) << 16;
    }
}
#else
void load_b(uint k0) {
    [[unroll]] for (uint l = 0u; l < LOADS_B; ++l) {
        uint rest = k0 + gl_LocalInvocationIndex / PAIRS + l * NEXT_K;
        bool is_there = rest < K_ALL;
        uint down = take_coordinate(rest, GROUP_INPUTS_DIVISOR) * x_STRIDE_1;
        uint x = take_coordinate(rest, TAPS_2_DIVISOR), y = take_coordinate(rest, TAPS_1_DIVISOR);
        uint tap[3] = uint[3](is_there ? rest : 0u, y, x);
        uint first, second;
        bool first_inside = find(windows[0], tap, first), second_inside = find(windows[1], tap, second);
        next_b[l] = half_of(first + down, is_there && first_inside) |
                    half_of(second + down, is_there && second_inside) << 16;
    }
}
#endif

void put() {
    [[unroll]] for (uint l = 0u; l < LOADS_A; ++l) {
        uint i = l * WORKGROUP + gl_LocalInvocationIndex;
        if (i < TILE_K * A_LINE) slabs[i / A_LINE * A_STEP + i % A_LINE] = next_a[l];
    }
    [[unroll]] for (uint l = 0u; l < LOADS_B; ++l) {
#if X_EIGHTS
        uint i = l * WORKGROUP + gl_LocalInvocationIndex;
        if (i < B_LINES * B_LINE) slabs[B_SLAB + i / B_LINE * B_STEP + i % B_LINE] = next_b[l];
#else
        uint k = gl_LocalInvocationIndex / PAIRS + l * NEXT_K, pair = gl_LocalInvocationIndex % PAIRS;
        slabs[B_SLAB + k * B_STEP + pair / 4u][pair % 4u] = next_b[l];
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

    [[unroll]] for (uint l = 0u; l < WINDOWS; ++l) {
#if X_EIGHTS
        uint n = (l * WORKGROUP + gl_LocalInvocationIndex) / B_LINE;
#else
        uint n = gl_LocalInvocationIndex % PAIRS * 2u + l;
#endif
        uint place[4];
        place_of(n0 + n, place);
        uint corner[5] = uint[5](place[0], group * GROUP_INPUTS, 0u, 0u, 0u);
        windows[l] = Window(x_at(corner), place[1] * MOVE_0 - uint(PADDING_0), place[2] * MOVE_1 - uint(PADDING_1),
                            place[3] * MOVE_2 - uint(PADDING_2));
    }
    uint matrix = group * filter_STRIDE_0;

    MATRIX_OF_SUMS sums[MATRICES_M][MATRICES_N];
    [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
        [[unroll]] for (uint n = 0u; n < MATRICES_N; ++n) sums[m][n] = MATRIX_OF_SUMS(0.0);
    }
    load_a(matrix, m0, 0u);
#if !ONE_TAP && TABLE > 0
    fill_table();
    barrier();
#endif
#if ONE_TAP
    uint tap[3] = uint[3](0u, 0u, 0u), channel = 0u;
    load_b(tap, 0u);
#else
    load_b(0u);
#endif
    for (uint k0 = 0u; k0 < K; k0 += TILE_K) {
        barrier();
        put();
        barrier();
        if (k0 + TILE_K < K) {
            load_a(matrix, m0, k0 + TILE_K);
#if ONE_TAP
            channel += TILE_K;
            if (channel == GROUP_INPUTS) {
                channel = 0u;
                if (++tap[2] == TAPS_2) {
                    tap[2] = 0u;
                    if (++tap[1] == TAPS_1) {
                        tap[1] = 0u;
                        ++tap[0];
                    }
                }
            }
            load_b(tap, channel);
#else
            load_b(k0 + TILE_K);
#endif
        }
        [[unroll]] for (uint k = 0u; k < TILE_K; k += MATRIX_K) {
            MATRIX_OF_A a[MATRICES_M];
            [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
                uint from = k * A_STEP + (own_m + m * MATRIX_M) / PER;
                coopMatLoad(a[m], slabs, from, A_STEP, gl_CooperativeMatrixLayoutColumnMajor);
            }
            [[unroll]] for (uint n = 0u; n < MATRICES_N; ++n) {
                MATRIX_OF_B b;
                uint across = own_n + n * MATRIX_N;
#if X_EIGHTS
                uint from = B_SLAB + across * B_STEP + k / PER;
                coopMatLoad(b, slabs, from, B_STEP, gl_CooperativeMatrixLayoutColumnMajor);
#else
                uint from = B_SLAB + k * B_STEP + across / PER;
                coopMatLoad(b, slabs, from, B_STEP, gl_CooperativeMatrixLayoutRowMajor);
#endif
                [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) sums[m][n] = coopMatMulAdd(a[m], b, sums[m][n]);
            }
        }
    }

    barrier();
    #include "gemm/store_matrices.glsl"
}
