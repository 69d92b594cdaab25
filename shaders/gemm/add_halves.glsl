// Adds the products of the slabs in tile_a and tile_b to an invocation's sums; HALF_STEPS steps of k are summed in
// FLOAT16 first. Blocks are laid out as in gemm/shared.comp.
#if HALF_STEPS > 0
void add_halves(uint own_m, uint own_n, inout FOUR sums[4u * FOURS_M][FOURS_N]) {
    [[unroll]] for (uint k = 0u; k < TILE_K; k += HALF_STEPS) {
        f16vec4 halves[4u * FOURS_M][FOURS_N];
        [[unroll]] for (uint step = 0u; step < HALF_STEPS; ++step) {
            f16vec4 a[FOURS_M], b[FOURS_N];
            [[unroll]] for (uint m = 0u; m < FOURS_M; ++m) a[m] = tile_a[k + step][own_m + m * GROUPS_M];
            [[unroll]] for (uint n = 0u; n < FOURS_N; ++n) b[n] = tile_b[k + step][own_n + n * GROUPS_N];
            [[unroll]] for (uint m = 0u; m < 4u * FOURS_M; ++m) {
                f16vec4 factor = f16vec4(a[m / 4u][m % 4u]);
                [[unroll]] for (uint n = 0u; n < FOURS_N; ++n) {
                    halves[m][n] = step == 0u ? factor * b[n] : fma(factor, b[n], halves[m][n]);
                }
            }
        }
        [[unroll]] for (uint m = 0u; m < 4u * FOURS_M; ++m) {
            [[unroll]] for (uint n = 0u; n < FOURS_N; ++n) sums[m][n] += FOUR(halves[m][n]);
        }
    }
}
#endif
