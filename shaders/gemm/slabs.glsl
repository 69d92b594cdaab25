// Shared memory of the FLOAT16 kernels on matrix units: SLABS vectors for the slabs of a and b. At the end, the same
// memory holds a row of result matrices per subgroup, as vectors of four sums; the pitch of these rows also makes them
// begin in different banks.
const uint FOURS = SUB_N / 4u, FOURS_STEP = FOURS + 2u, STAGED = MATRIX_M * FOURS_STEP;
shared uvec4 slabs[SLABS > SUBGROUPS * STAGED ? SLABS : SUBGROUPS * STAGED];

#define MATRIX_OF_A coopmat<float16_t, gl_ScopeSubgroup, MATRIX_M, MATRIX_K, gl_MatrixUseA>
#define MATRIX_OF_B coopmat<float16_t, gl_ScopeSubgroup, MATRIX_K, MATRIX_N, gl_MatrixUseB>
#define MATRIX_OF_SUMS coopmat<float, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>
