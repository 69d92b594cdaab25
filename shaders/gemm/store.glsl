// What the matrix product kernels share: how a finished sum becomes an element of result.
// The last two dimensions of a, b, c and result are the matrix; those before it are the batch. finish() is generated.

float finished(float sum, uint c_row, uint n) {
#if HAS_C
    return finish(ALPHA * sum + BETA * c_load(c_row + n * C_COLUMN));
#else
    return finish(ALPHA * sum);
#endif
}
