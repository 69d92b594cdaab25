// The end of main() of the FLOAT16 kernels on matrix units, after a barrier: sums[MATRICES_M][MATRICES_N] of each
// subgroup, whose first row and column are m0 + own_m and n0 + own_n, go through shared memory. The kernel's
// STORE_FOUR(m, n, four) finishes and stores four of them, in row m starting at column n, for m below ALL_M and n below
// ALL_N.
//
// One row of matrices at a time, in a loop that is not unrolled and selects its row by constant indices: NVIDIA's
// compiler does not unroll loops with long bodies, and keeps arrays that they index in memory from the start.
uint own = gl_SubgroupID * STAGED;
[[dont_unroll]] for (uint i = 0u; i < MATRICES_M; ++i) {
    [[unroll]] for (uint m = 0u; m < MATRICES_M; ++m) {
        if (i == m) {
            [[unroll]] for (uint n = 0u; n < MATRICES_N; ++n) {
                uint to = own + n * (MATRIX_N / 4u);
                coopMatStore(sums[m][n], slabs, to, FOURS_STEP, gl_CooperativeMatrixLayoutRowMajor);
            }
        }
    }
    subgroupBarrier();
    for (uint f = gl_SubgroupInvocationID; f < MATRIX_M * FOURS; f += gl_SubgroupSize) {
        uint down = f / FOURS, across = f % FOURS;
        uint m = m0 + own_m + i * MATRIX_M + down, n = n0 + own_n + across * 4u;
        if (m < ALL_M && n < ALL_N) {
            STORE_FOUR(m, n, uintBitsToFloat(slabs[own + down * FOURS_STEP + across]))
        }
    }
    subgroupBarrier();
}
