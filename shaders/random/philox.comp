#version 450
// Philox 4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011): each invocation makes the
// block of four words of one counter value.
#include "prelude.glsl"

uint given(uint i) { return state_load(state_BASE + i * STATE_STRIDE); }

// The state's 128-bit counter, lowest word first, advanced by `blocks`.
uvec4 counter(uint blocks) {
    uvec4 c = uvec4(given(0u), given(1u), given(2u), given(3u));
    uint carry;
    c.x = uaddCarry(c.x, blocks, carry);
    c.y = uaddCarry(c.y, carry, carry);
    c.z = uaddCarry(c.z, carry, carry);
    c.w += carry;
    return c;
}

// Ten rounds; the multipliers and the increments of the key are the paper's.
uvec4 philox(uvec4 c, uvec2 key) {
    for (uint i = 0u; i < 10u; ++i) {
        uint high0, low0, high1, low1;
        umulExtended(0xd2511f53u, c.x, high0, low0);
        umulExtended(0xcd9e8d57u, c.z, high1, low1);
        c = uvec4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
        key += uvec2(0x9e3779b9u, 0xbb67ae85u);
    }
    return c;
}

void main() {
    uint block = global_index();
    if (4u * block >= COUNT + SKIP) return;
    uvec2 key = uvec2(given(4u), given(5u));
    uvec4 words = philox(counter(FIRST + block), key);
#if VECTORS
    result_vector_store(result_BASE / 4u + block, words);
#else
    for (uint k = block == 0u ? SKIP : 0u; k < 4u && 4u * block + k - SKIP < COUNT; ++k) {
        uint c[RANK];
        coordinates(4u * block + k - SKIP, c);
        result_store(result_at(c), words[k]);
    }
#endif
#if ADVANCE
    if (block == 0u) {
        uvec4 next = counter(BLOCKS);
        for (uint i = 0u; i < 4u; ++i) next_store(next_BASE + i * NEXT_STRIDE, next[i]);
        next_store(next_BASE + 4u * NEXT_STRIDE, key.x);
        next_store(next_BASE + 5u * NEXT_STRIDE, key.y);
    }
#endif
}
