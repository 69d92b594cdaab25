// FLOAT16 <-> float. Subnormals are kept and stores round to nearest even; the built-ins promise neither. There are no
// branches (?: would make some): a kernel has many of these conversions, and drivers compile many blocks slowly.
float half_decode(uint h) {
    uint sign = (h & 0x8000u) << 16;
    uint exponent = h & 0x7c00u;
    uint bits = (h & 0x7fffu) << 13;
    uint normal = bits + mix(0x38000000u, 0x70000000u, exponent == 0x7c00u);
    uint subnormal = floatBitsToUint(float(h & 0x3ffu) * 5.9604644775390625e-8);
    return uintBitsToFloat(sign | mix(normal, subnormal, exponent == 0u));
}

uint half_encode(float v) {
    uint u = floatBitsToUint(v);
    uint sign = (u >> 16) & 0x8000u;
    u &= 0x7fffffffu;
    uint special = mix(0x7c00u, 0x7e00u, u > 0x7f800000u);
    // Adding 0.5 aligns the 24-bit significand with a half's subnormal steps; the addition rounds.
    uint subnormal = floatBitsToUint(uintBitsToFloat(u) + 0.5) - 0x3f000000u;
    uint normal = (u + 0xc8000fffu + ((u >> 13) & 1u)) >> 13;
    return sign | mix(mix(normal, subnormal, u < 0x38800000u), special, u >= 0x47800000u);
}

// Decodes the upper half of a word.
float half_decode_high(uint word) { return half_decode(word >> 16); }

// Rounds v to the nearest FLOAT16 number.
float half_rounded(float v) { return half_decode(half_encode(v)); }
