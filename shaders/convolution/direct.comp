#version 450
#extension GL_EXT_control_flow_attributes : require
// Convolution by sums kept in registers: an invocation makes TILE_Y rows of TILE_X elements in each of TILE_C output
// channels, so that every element it reads serves many products. x is padded so that no window leaves it, and its rows
// begin at multiples of four elements; weights lie as weights.comp writes them. SPAN: the elements of a row of x that
// TILE_X windows reach, rounded up to a multiple of four. The space counts {group, tile of channels, batch, depth, tile of
// rows, tile of columns}. TAPS, TAPS_HIGH, TAPS_DEEP: the window's width, height,
// depth. MOVE_d: elements from one window to the next along axis d of depth, height, width.
#include "prelude.glsl"
#include "lib/sum.glsl"

void main() {
    if (global_index() >= COUNT) return;
    uint c[RANK];
    coordinates(global_index(), c);
    uint group = c[0], channel = c[1] * TILE_C, n = c[2], z = c[3], y0 = c[4] * TILE_Y, x0 = c[5] * TILE_X;
    uint tile = group * SIZE_1 + c[1];
    uint corner[5] = uint[5](n, group * GROUP_INPUTS, z * MOVE_0, y0 * MOVE_1, x0 * MOVE_2);
    uint from = x_at(corner);
    uint weight = tile * GROUP_INPUTS * TAPS_DEEP * TAPS_HIGH * TAPS * TILE_C;

    SUM sums[TILE_C][TILE_Y][TILE_X];
    [[unroll]] for (uint m = 0u; m < TILE_C; ++m) {
        [[unroll]] for (uint y = 0u; y < TILE_Y; ++y) {
            [[unroll]] for (uint x = 0u; x < TILE_X; ++x) sums[m][y][x] = SUM(0);
        }
    }
    for (uint i = 0u; i < GROUP_INPUTS; ++i) {
        for (uint kz = 0u; kz < TAPS_DEEP; ++kz) {
            for (uint ky = 0u; ky < TAPS_HIGH; ++ky) {
                SUM row[TILE_Y][SPAN], w[TAPS][TILE_C];
                uint at = from + i * x_STRIDE_1 + kz * DILATION_0 * x_STRIDE_2 + ky * DILATION_1 * x_STRIDE_3;
                [[unroll]] for (uint y = 0u; y < TILE_Y; ++y) {
                    [[unroll]] for (uint v = 0u; v < SPAN; v += 4u) {
                        FOUR four = FOUR_OF_BITS(x_vector((at + y * MOVE_1 * x_STRIDE_3 + v) >> 2));
                        [[unroll]] for (uint p = 0u; p < 4u; ++p) row[y][v + p] = four[p];
                    }
                }
                [[unroll]] for (uint k = 0u; k < TAPS; ++k) {
#if WEIGHTS_WIDE
                    [[unroll]] for (uint m = 0u; m < TILE_C; m += 4u) {
                        FOUR four = FOUR_OF_BITS(weights_vector((weight + k * TILE_C + m) >> 2));
                        [[unroll]] for (uint p = 0u; p < 4u; ++p) w[k][m + p] = four[p];
                    }
#else
                    [[unroll]] for (uint m = 0u; m < TILE_C; ++m) w[k][m] = weights_load(weight + k * TILE_C + m);
#endif
                }
                weight += TAPS * TILE_C;
                [[unroll]] for (uint m = 0u; m < TILE_C; ++m) {
                    [[unroll]] for (uint y = 0u; y < TILE_Y; ++y) {
                        [[unroll]] for (uint x = 0u; x < TILE_X; ++x) {
                            [[unroll]] for (uint k = 0u; k < TAPS; ++k) {
                                sums[m][y][x] += row[y][x * MOVE_2 + k * DILATION_2] * w[k][m];
                            }
                        }
                    }
                }
            }
        }
    }

    [[unroll]] for (uint m = 0u; m < TILE_C; ++m) {
        if (channel + m < GROUP_OUTPUTS) {
            uint c = group * GROUP_OUTPUTS + channel + m;
            SUM bias = SUM(0);
#if HAS_BIAS
            bias = bias_load(bias_BASE + c * bias_STRIDE_1);
#endif
            [[unroll]] for (uint y = 0u; y < TILE_Y; ++y) {
                if (y0 + y < result_SIZE_3) {
                    uint place[5] = uint[5](n, c, z, y0 + y, x0);
                    uint to = result_at(place);
#if RESULT_WIDE
                    [[unroll]] for (uint x = 0u; x < TILE_X; x += 4u) {
                        if (x0 + x < result_SIZE_4) {
                            uvec4 four;
                            [[unroll]] for (uint p = 0u; p < 4u; ++p) {
                                four[p] = result_encode(finish(sums[m][y][x + p] + bias));
                            }
                            result_vector_store((to + x) >> 2, four);
                        }
                    }
#else
                    [[unroll]] for (uint x = 0u; x < TILE_X; ++x) {
                        if (x0 + x < result_SIZE_4) {
                            result_store(to + x * result_STRIDE_4, finish(sums[m][y][x] + bias));
                        }
                    }
#endif
                }
            }
        }
    }
}
