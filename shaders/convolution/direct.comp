#version 450
#extension GL_EXT_control_flow_attributes : require
// Convolution with sums in registers: an invocation computes TILE_Y rows of TILE_X elements in each of TILE_C output
// channels, so that every element it reads serves many products. x is padded so that no window leaves it, and its rows
// begin at multiples of four elements; weights are in the layout of weights.comp. SPAN: elements of a row of x that
// TILE_X windows span, rounded up to a multiple of four. TAPS, TAPS_HIGH, TAPS_DEEP: the window's width, height, depth.
// MOVE_d: distance of windows along axis d of depth, height, width. The space counts {group, tile of channels, batch,
// depth, tile of rows, tile of columns}.
#include "prelude.glsl"
#include "lib/sums.glsl"
#if WEIGHTS_HALVES
#include "gemm/half_pair.glsl"
#endif

// A tile is stored by a loop over channels or, if it has one channel, over rows; INNER: rows per round. With
// STORES_IN_LOOPS the loops are not unrolled: the code that finishes four sums is compiled once. They select among the
// sums of all channels (rows), which lavapipe compiles faster than arrays indexed by a loop.
#if STORES_IN_LOOPS
#define STORES [[dont_unroll]]
#else
#define STORES [[unroll]]
#endif
const uint OUTER = TILE_C > 1u ? TILE_C : TILE_Y;
const uint INNER = TILE_C > 1u ? TILE_Y : 1u;

// The element of x that tap k reads for element i of a channel's tile. WINDOW: the same for the tile's i-th
// value of type SUMS.
#define ELEMENT(i, k) row[(i) / TILE_X][(i) % TILE_X * MOVE_2 + (k) * DILATION_2]
#if SUMS_IN_FOURS
#define WINDOW(i, k) windows[i][k]
#else
#define WINDOW(i, k) ELEMENT(i, k)
#endif

void main() {
    // Invocations outside do not return, since after a return lavapipe masks every write: they compute the last tile's
    // sums without storing them.
    bool is_inside = global_index() < COUNT;
    uint c[RANK];
    coordinates(min(global_index(), COUNT - 1u), c);
    uint group = c[0], channel = c[1] * TILE_C, n = c[2], z = c[3], y0 = c[4] * TILE_Y, x0 = c[5] * TILE_X;
    uint tile = group * SIZE_1 + c[1];
    uint corner[5] = uint[5](n, group * GROUP_INPUTS, z * MOVE_0, y0 * MOVE_1, x0 * MOVE_2);
    uint from = x_at(corner);
    uint weight = tile * GROUP_INPUTS * TAPS_DEEP * TAPS_HIGH * TAPS * TILE_C;

    SUMS sums[OUTER][INNER * TILE_X / EACH];
    [[unroll]] for (uint o = 0u; o < OUTER; ++o) {
        [[unroll]] for (uint j = 0u; j < INNER * TILE_X / EACH; ++j) sums[o][j] = SUMS(0);
    }
    // One loop over input channels, planes and rows of the window: drivers carry all sums through each enclosing loop.
    uint at = from, kz = 0u, ky = 0u;
    uint to_row = DILATION_1 * x_STRIDE_3, to_plane = DILATION_0 * x_STRIDE_2 - TAPS_HIGH * to_row;
    uint to_channel = x_STRIDE_1 - TAPS_DEEP * DILATION_0 * x_STRIDE_2;
    for (uint step = 0u; step < GROUP_INPUTS * TAPS_DEEP * TAPS_HIGH; ++step) {
        SUM row[TILE_Y][SPAN], w[TAPS][TILE_C];
        [[unroll]] for (uint y = 0u; y < TILE_Y; ++y) {
            [[unroll]] for (uint v = 0u; v < SPAN; v += 4u) {
                FOUR four = FOUR_OF_BITS(x_vector((at + y * MOVE_1 * x_STRIDE_3 + v) >> 2));
                [[unroll]] for (uint p = 0u; p < 4u; ++p) row[y][v + p] = four[p];
            }
        }
        [[unroll]] for (uint k = 0u; k < TAPS; ++k) {
#if WEIGHTS_WIDE
            [[unroll]] for (uint m = 0u; m < TILE_C; m += 4u) {
#if WEIGHTS_HALVES
                uint word = (weight + k * TILE_C + m) >> 1;
                FOUR four = FOUR(half_pair(weights_word(word)), half_pair(weights_word(word + 1u)));
#else
                FOUR four = FOUR_OF_BITS(weights_vector((weight + k * TILE_C + m) >> 2));
#endif
                [[unroll]] for (uint p = 0u; p < 4u; ++p) w[k][m + p] = four[p];
            }
#else
            [[unroll]] for (uint m = 0u; m < TILE_C; ++m) w[k][m] = weights_load(weight + k * TILE_C + m);
#endif
        }
#if SUMS_IN_FOURS
        FOUR windows[TILE_Y * TILE_X / 4u][TAPS];
        [[unroll]] for (uint i = 0u; i < TILE_Y * TILE_X / 4u; ++i) {
            [[unroll]] for (uint k = 0u; k < TAPS; ++k) {
                [[unroll]] for (uint p = 0u; p < 4u; ++p) windows[i][k][p] = ELEMENT(4u * i + p, k);
            }
        }
#endif
        // Taps are the innermost loop: each sum is read and written once for all of them.
        [[unroll]] for (uint o = 0u; o < OUTER; ++o) {
            [[unroll]] for (uint j = 0u; j < INNER * TILE_X / EACH; ++j) {
                uint i = TILE_C > 1u ? j : o * (TILE_X / EACH) + j;
                SUMS own = sums[o][j];
                [[unroll]] for (uint k = 0u; k < TAPS; ++k) own += WINDOW(i, k) * w[k][TILE_C > 1u ? o : 0u];
                sums[o][j] = own;
            }
        }
        weight += TAPS * TILE_C;
        ++ky;
        bool ends_plane = ky == TAPS_HIGH;
        kz += uint(ends_plane);
        bool ends_channel = kz == TAPS_DEEP;
        at += to_row + (ends_plane ? to_plane : 0u) + (ends_channel ? to_channel : 0u);
        ky = ends_plane ? 0u : ky;
        kz = ends_channel ? 0u : kz;
    }

    STORES for (uint o = 0u; o < OUTER; ++o) {
        uint m = channel + (TILE_C > 1u ? o : 0u);
        if (is_inside && m < GROUP_OUTPUTS) {
            uint place[5] = uint[5](n, group * GROUP_OUTPUTS + m, z, 0u, 0u);
            SUM bias = SUM(0);
#if HAS_BIAS
            bias = bias_load(bias_BASE + place[1] * bias_STRIDE_1);
#endif
            FOUR fours[INNER * TILE_X / 4u];
            [[unroll]] for (uint j = 0u; j < INNER * TILE_X / 4u; ++j) {
                FOUR four = FOUR_OF_SUMS(sums[0], j);
                [[unroll]] for (uint k = 1u; k < OUTER; ++k) four = mix(four, FOUR_OF_SUMS(sums[k], j), bvec4(o == k));
                fours[j] = four + bias;
            }
            STORES for (uint j = 0u; j < INNER * TILE_X / 4u; ++j) {
                FOUR four = fours[0];
                [[unroll]] for (uint k = 1u; k < INNER * TILE_X / 4u; ++k) four = mix(four, fours[k], bvec4(j == k));
                uint y = y0 + (TILE_C > 1u ? j / (TILE_X / 4u) : o), x = x0 + j % (TILE_X / 4u) * 4u;
                if (y < result_SIZE_3 && x < result_SIZE_4) {
                    place[3] = y;
                    place[4] = x;
                    uint to = result_at(place);
#if RESULT_WIDE
                    uvec4 bits;
                    [[unroll]] for (uint p = 0u; p < 4u; ++p) bits[p] = result_encode(finish(four[p]));
                    result_vector_store(to >> 2, bits);
#else
                    [[unroll]] for (uint p = 0u; p < 4u; ++p) {
                        if (x + p < result_SIZE_4) result_store(to + p * result_STRIDE_4, finish(four[p]));
                    }
#endif
                }
            }
        }
    }
}
