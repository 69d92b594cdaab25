// Storage of a tile's sums: SUMS, vectors of EACH elements along a row; FOUR_OF_SUMS, elements 4 j to 4 j + 3 of a row.
// With SUMS_IN_FOURS a driver has a quarter as many variables: lavapipe compiles such kernels faster, but SwiftShader
// runs them more slowly.
#include "lib/sum.glsl"

#if SUMS_IN_FOURS
#define SUMS FOUR
#define EACH 4u
#define FOUR_OF_SUMS(row, j) (row)[j]
#else
#define SUMS SUM
#define EACH 1u
#define FOUR_OF_SUMS(row, j) FOUR((row)[4u * (j)], (row)[4u * (j) + 1u], (row)[4u * (j) + 2u], (row)[4u * (j) + 3u])
#endif
