#version 450
// The coordinates of the nonzero elements of x, in row-major order. Each invocation has a chunk of elements. COUNTS:
// only counts the nonzero elements of each chunk, into `before`. Else `before` holds the number of nonzero elements
// before each chunk, which is the row at which the chunk begins to write. A zero at element i after n nonzero elements
// fills the row i - n from the end with zeros, so that each row is written exactly once.
//
// IN_PARTS: x is a part that begins with element BEFORE of TOTAL, at the coordinates part_start(d), and y has ROWS of
// the rows, from FIRST_ROW on.
#include "prelude.glsl"
#ifndef IN_PARTS
#define FIRST_CHUNK 0u
#define BEFORE 0u
#define TOTAL COUNT
#define IS_LAST true
#define part_start(d) 0u
#endif

bool is_nonzero(x_VALUE v) {
#ifdef x_IS_FLOAT
    return (floatBitsToUint(v) & 0x7fffffffu) != 0u;
#else
    return v != x_VALUE(0);
#endif
}

void main() {
    uint chunk = global_index();
    if (chunk >= CHUNKS) return;
    uint end = min((chunk + 1u) * CHUNK, COUNT);
#if COUNTS
    uint n = 0u;
#else
    uint n = before_load(FIRST_CHUNK + chunk);
#endif
    for (uint i = chunk * CHUNK; i < end; ++i) {
        uint c[RANK];
        coordinates(i, c);
        bool found = is_nonzero(x_load(x_at(c)));
#if !COUNTS
        uint row = found ? n : TOTAL - 1u - (BEFORE + i - n);
#ifdef IN_PARTS
        row -= FIRST_ROW;
        if (row < ROWS)
#endif
        for (uint d = 0u; d < COLUMNS; ++d) {
            uint axis = RANK - COLUMNS + d;
            y_store(y_BASE + row * y_STRIDE_0 + d * y_STRIDE_1, found ? part_start(axis) + c[axis] : 0u);
        }
#endif
        if (found) ++n;
    }
#if COUNTS
    before_store(FIRST_CHUNK + chunk, n);
#else
    if (IS_LAST && chunk == CHUNKS - 1u) count_store(count_BASE, n);
#endif
}
