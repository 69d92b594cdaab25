#version 450
#extension GL_EXT_control_flow_attributes : require
// An expression of one transposed tensor: elements adjacent along the last dimension of result are adjacent along the
// dimension before it in x0. A workgroup reads TILE x TILE words' worth of elements in x0's order, and writes them in
// the result's. NARROW: the elements are narrower than a word, and rows of the result are whole words. The generated
// prelude ends with compute(x), the expression. The space counts tiles along the last two dimensions.
#include "prelude.glsl"

const uint WIDE = TILE * result_PER_WORD;
// Rows are padded by one element, so that adjacent elements of a column lie in different banks.
shared x0_VALUE tile[WIDE][TILE + 1u];

void main() {
    uint group = workgroup_index();
    if (group >= COUNT) return;
    uint c[RANK];
    coordinates(group, c);
    uint t0 = c[RANK - 2u] * TILE, n0 = c[RANK - 1u] * WIDE;
    for (uint i = gl_LocalInvocationIndex; i < WIDE * TILE; i += WORKGROUP) {
        uint t = t0 + i % TILE, n = n0 + i / TILE;
        if (t < HIGH && n < ACROSS) {
            c[RANK - 2u] = t;
            c[RANK - 1u] = n;
            tile[i / TILE][i % TILE] = x0_load(x0_at(c));
        }
    }
    barrier();
    for (uint i = gl_LocalInvocationIndex; i < TILE * TILE; i += WORKGROUP) {
        uint own = i % TILE * result_PER_WORD, t = t0 + i / TILE, n = n0 + own;
        if (t < HIGH && n < ACROSS) {
            c[RANK - 2u] = t;
            c[RANK - 1u] = n;
            uint to = result_at(c);
#if NARROW
            uint word = 0u;
            [[unroll]] for (uint k = 0u; k < result_PER_WORD; ++k) {
                word |= result_encode_at(to + k, compute(tile[own + k][i / TILE])) << (k * result_BITS);
            }
            result_word_store(to / result_PER_WORD, word);
#else
            result_store(to, compute(tile[own][i / TILE]));
#endif
        }
    }
}
