#version 450
#extension GL_EXT_control_flow_attributes : require
// Products of up to ROWS rows of a, INT32 without its zero point, with b, bytes minus their zero points, on CPU drivers.
// An invocation computes four adjacent columns, which are a word of each row of b. SIGNED: the bytes are INT8.
#include "prelude.glsl"

ivec4 bytes_of(uint word) {
#if SIGNED
    return ivec4(int(word << 24u), int(word << 16u), int(word << 8u), int(word)) >> 24;
#else
    return ivec4(uvec4(word, word >> 8u, word >> 16u, word >> 24u) & 255u);
#endif
}

void main() {
    uint unit = global_index();
    if (unit >= COUNT) return;
    ivec4 sums[ROWS];
    int totals[ROWS];
    [[unroll]] for (uint m = 0u; m < ROWS; ++m) {
        sums[m] = ivec4(0);
        totals[m] = 0;
    }
    for (uint k = 0u; k < K; k += 4u) {
        ivec4 b[4];
        [[unroll]] for (uint q = 0u; q < 4u; ++q) b[q] = bytes_of(b_load(b_at(uint[2](k + q, unit))));
        [[unroll]] for (uint m = 0u; m < ROWS; ++m) {
            ivec4 a = ivec4(a_vector(a_at(uint[2](min(m, M - 1u), k)) / 4u));
            sums[m] += a.x * b[0] + a.y * b[1] + a.z * b[2] + a.w * b[3];
            totals[m] += a.x + a.y + a.z + a.w;
        }
    }
    [[unroll]] for (uint q = 0u; q < 4u; ++q) {
        uint column = 4u * unit + q;
#if HAS_ZERO
        int zero = int(zero_load(zero_at(uint[1](column))));
#else
        const int zero = 0;
#endif
        [[unroll]] for (uint m = 0u; m < ROWS; ++m) {
            if (m < M) result_store(result_at(uint[2](m, column)), sums[m][q] - zero * totals[m]);
        }
    }
}
