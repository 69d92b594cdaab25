// Eight stored numbers as the FLOAT16 elements of a vector, for matrix units: see gemm/stored.glsl.
#if B_STORED
// Numbers q and q + 4, in the low bits of a word's halves.
uint stored_pair(uvec4 loaded, uint q) {
    if (BITS == 4u) return loaded.x >> 4u * q & 0x000f000fu;
    uint second = BITS == 8u ? loaded.y : loaded.x >> 8u;
    return (loaded.x >> BITS * q & STORED_MASK) | (second >> BITS * q & STORED_MASK) << 16u;
}

uvec4 eight_stored(uvec4 loaded) {
    const uint exponents = 0x64006400u;  // 2^10, whose mantissa's low bits hold numbers
    float16_t zero = float16_t(1024.0 + uintBitsToFloat(loaded.w)), scale = float16_t(uintBitsToFloat(loaded.z));
    f16vec2 pairs[4];
    [[unroll]] for (uint q = 0u; q < 4u; ++q) {
        pairs[q] = (unpackFloat2x16(stored_pair(loaded, q) | exponents) - f16vec2(zero)) * f16vec2(scale);
    }
    return uvec4(packFloat2x16(f16vec2(pairs[0].x, pairs[1].x)), packFloat2x16(f16vec2(pairs[2].x, pairs[3].x)),
                 packFloat2x16(f16vec2(pairs[0].y, pairs[1].y)), packFloat2x16(f16vec2(pairs[2].y, pairs[3].y)));
}
#endif
