// What kernels of FLOAT16 on matrix units have in shared memory: SLABS vectors for their factors and, in the end, a row of
// matrices of each subgroup, on its way to be finished: lines of fours of sums, which begin in different banks too. And
// the matrices that it holds.
const uint FOURS = SUB_N / 4u, FOURS_STEP = FOURS + 2u, STAGED = MATRIX_M * FOURS_STEP;
shared uvec4 slabs[SLABS > SUBGROUPS * STAGED ? SLABS : SUBGROUPS * STAGED];

#define MATRIX_OF_A coopmat<float16_t, gl_ScopeSubgroup, MATRIX_M, MATRIX_K, gl_MatrixUseA>
#define MATRIX_OF_B coopmat<float16_t, gl_ScopeSubgroup, MATRIX_K, MATRIX_N, gl_MatrixUseB>
#define MATRIX_OF_SUMS coopmat<float, gl_ScopeSubgroup, MATRIX_M, MATRIX_N, gl_MatrixUseAccumulator>
