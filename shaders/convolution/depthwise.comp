#version 450
#extension GL_EXT_control_flow_attributes : require
// Convolution with one input channel per group: an invocation computes TILE_Y rows of TILE_X elements of a channel, and
// reads each element of x in their windows once. Adjacent invocations compute adjacent columns. The window has TAPS_0
// planes of TAPS_1 x TAPS_2 elements. Along axis d, tap j is element FIRST_d + j * STEP_d of the filter; adjacent
// windows are MOVE_d elements of x apart and adjacent taps DILATION_d; PADDING_d elements precede x. The results of a
// tile are GAP_1 rows and GAP_2 columns apart. A gap is the dilation if windows move by one, so that the windows of a
// tile share elements of x; else it is 1. The space counts {batch, channel, depth, tile of rows, tile of columns};
// tiles that interleave within a gap are numbered consecutively. RESULT_PAIRS: float16, and tiles are whole words.
// FOURS: a tile has four columns, windows and their elements move by one, and rows on both sides are multiples of four,
// read as vectors of float32 or two words of float16; PADDED elements precede x.
#include "prelude.glsl"
#include "lib/sum.glsl"

// Strides between adjacent windows of a tile (MOVED) and between adjacent taps (DILATED), in units of GAP_d elements.
const uint MOVED_1 = GAP_1 > 1u ? 1u : MOVE_1, DILATED_1 = GAP_1 > 1u ? 1u : DILATION_1;
const uint MOVED_2 = GAP_2 > 1u ? 1u : MOVE_2, DILATED_2 = GAP_2 > 1u ? 1u : DILATION_2;
const uint ROWS = (TILE_Y - 1u) * MOVED_1 + (TAPS_1 - 1u) * DILATED_1 + 1u;
const uint COLUMNS = (TILE_X - 1u) * MOVED_2 + (TAPS_2 - 1u) * DILATED_2 + 1u;

#if FOURS
#if RESULT_PAIRS
#include "gemm/half_pair.glsl"
#endif
// Four adjacent elements.
FOUR x_four(uint i) {
#if RESULT_PAIRS
    return FOUR(half_pair(x_word(i >> 1)), half_pair(x_word((i >> 1) + 1u)));
#else
    return FOUR_OF_BITS(x_vector(i >> 2));
#endif
}
#endif

void main() {
    uint i = global_index();
    if (i >= COUNT) return;
    uint c[RANK];
    coordinates(i, c);
    uint y0 = c[3] / GAP_1 * (TILE_Y * GAP_1) + c[3] % GAP_1, x0 = c[4] / GAP_2 * (TILE_X * GAP_2) + c[4] % GAP_2;
    uint group = divided(c[1], GROUP_OUTPUTS_DIVISOR);
    uint corner[5] = uint[5](c[0], group, 0u, 0u, 0u);
    uint tap[6] = uint[6](group, c[1] - group * GROUP_OUTPUTS, 0u, uint(FIRST_0), uint(FIRST_1), uint(FIRST_2));
    uint from = x_at(corner), weight = filter_at(tap);
    // Coordinates below zero wrap around to more than any size.
    uint z = c[2] * MOVE_0 - uint(PADDING_0), y = y0 * MOVE_1 - uint(PADDING_1), x = x0 * MOVE_2 - uint(PADDING_2);

    SUM sums[TILE_Y][TILE_X];
    [[unroll]] for (uint v = 0u; v < TILE_Y; ++v) {
        [[unroll]] for (uint u = 0u; u < TILE_X; ++u) sums[v][u] = SUM(0);
    }
    for (uint kz = 0u; kz < TAPS_0; ++kz, z += DILATION_0, weight += uint(STEP_0) * filter_STRIDE_3) {
        if (z >= x_SIZE_2) continue;
        SUM w[TAPS_1][TAPS_2];
        [[unroll]] for (uint ky = 0u; ky < TAPS_1; ++ky) {
            [[unroll]] for (uint kx = 0u; kx < TAPS_2; ++kx) {
                w[ky][kx] = SUM(filter_load(weight + ky * uint(STEP_1) * filter_STRIDE_4 + kx * uint(STEP_2) * filter_STRIDE_5));
            }
        }
        [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
            uint down = y + r * GAP_1, row = from + z * x_STRIDE_2 + down * x_STRIDE_3;
            SUM found[COLUMNS];
#if FOURS
            // The four columns starting at x0 are loaded as one vector, the columns on both sides one by one.
            bool here = down < x_SIZE_3 && x0 < x_SIZE_4;
            FOUR four = x_four(here ? row + x0 : from);
            [[unroll]] for (uint s = 0u; s < 4u; ++s) found[PADDED + s] = here ? four[s] : SUM(0);
#endif
            [[unroll]] for (uint s = 0u; s < COLUMNS; ++s) {
#if FOURS
                if (s >= PADDED && s < PADDED + 4u) continue;
#endif
                uint across = x + s * GAP_2;
                bool inside = down < x_SIZE_3 && across < x_SIZE_4;
                SUM value = SUM(x_load(inside ? row + across * x_STRIDE_4 : from));
                found[s] = inside ? value : SUM(0);
            }
            [[unroll]] for (uint v = 0u; v < TILE_Y; ++v) {
                [[unroll]] for (uint ky = 0u; ky < TAPS_1; ++ky) {
                    if (v * MOVED_1 + ky * DILATED_1 != r) continue;
                    [[unroll]] for (uint u = 0u; u < TILE_X; ++u) {
                        [[unroll]] for (uint kx = 0u; kx < TAPS_2; ++kx) {
                            sums[v][u] += found[u * MOVED_2 + kx * DILATED_2] * w[ky][kx];
                        }
                    }
                }
            }
        }
    }

    SUM bias = SUM(0);
#if HAS_BIAS
    bias = bias_load(bias_BASE + c[1] * bias_STRIDE_1);
#endif
    uint first[5] = uint[5](c[0], c[1], c[2], y0, x0);
    uint to = result_at(first);
    [[unroll]] for (uint v = 0u; v < TILE_Y; ++v) {
        if (y0 + v * GAP_1 < result_SIZE_3) {
#if FOURS && !RESULT_PAIRS
            uint e = to + v * GAP_1 * result_STRIDE_3;
            if (x0 < result_SIZE_4) {
                uvec4 bits;
                [[unroll]] for (uint u = 0u; u < 4u; ++u) bits[u] = result_encode(finish(sums[v][u] + bias));
                result_vector_store(e >> 2, bits);
            }
#elif RESULT_PAIRS
            uint e = to + v * GAP_1 * result_STRIDE_3;
            [[unroll]] for (uint u = 0u; u < TILE_X; u += 2u) {
                if (x0 + u < result_SIZE_4) {
                    result_word_store((e + u) >> 1, result_encode_at(e + u, finish(sums[v][u] + bias)) |
                                                    result_encode_at(e + u + 1u, finish(sums[v][u + 1u] + bias)) << 16);
                }
            }
#else
            [[unroll]] for (uint u = 0u; u < TILE_X; ++u) {
                if (x0 + u * GAP_2 < result_SIZE_4) {
                    result_store(to + v * GAP_1 * result_STRIDE_3 + u * GAP_2 * result_STRIDE_4, finish(sums[v][u] + bias));
                }
            }
#endif
        }
    }
}
