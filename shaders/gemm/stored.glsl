// B_STORED: b consists of numbers of BITS (2, 4 or 8) bits that are contiguous along k, with a scale and a zero point
// for BLOCK steps of k, a multiple of eight: (number - zero) * scale. IS_SIGNED: the numbers are INT4 or INT8.
#if B_STORED
#include "gemm/signs.glsl"

const uint STORED_PER_WORD = 32u / BITS, STORED_MASK = (1u << BITS) - 1u;

// Loads `count` (4 or 8) numbers of a column, starting at step k: up to two words, and the bits of their scale and of
// their zero point, plus OFFSET.
uvec4 stored_numbers(uint column, uint k, uint count) {
    uint i = numbers_first + column * B_COLUMN + k, word = i / STORED_PER_WORD, block = k / BLOCK;
    uint low = b_word(word) >> i % STORED_PER_WORD * BITS;
    uint high = count * BITS > 32u ? b_word(word + 1u) : 0u;
    SUM scale = scales_load(scales_first + column * SCALES_ROW + block * SCALES_COLUMN), zero = OFFSET;
#if HAS_ZEROS
    zero += float(zeros_load(zeros_first + column * ZEROS_ROW + block * ZEROS_COLUMN));
#endif
#if IS_SIGNED
    low ^= SIGNS;
    high ^= SIGNS;
#endif
    return uvec4(low, high, floatBitsToUint(scale), floatBitsToUint(zero));
}

// The first four elements. Numbers become the low bits of a float's mantissa, without a conversion.
vec4 four_stored(uvec4 loaded) {
    const uint exponent = 0x4b000000u;  // 2^23
    uvec4 numbers = (uvec4(loaded.x) >> uvec4(0u, BITS, 2u * BITS, 3u * BITS)) & STORED_MASK | exponent;
    return (uintBitsToFloat(numbers) - (uintBitsToFloat(exponent) + uintBitsToFloat(loaded.w))) * uintBitsToFloat(loaded.z);
}
#endif
