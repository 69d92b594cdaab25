#include "lib/int64.glsl"
// Conversions between FLOAT64 or 64-bit integers, as uvec2, low word first, and the other types. Every conversion is
// exact or rounds once, to nearest even; to integers it truncates, saturates, and makes NaN 0.

// --- between floating-point types

uvec2 float64_from_float(float value) {
    uint bits = floatBitsToUint(value);
    uint sign = bits & 0x80000000u;
    uint exponent = (bits >> 23) & 255u;
    uint fraction = bits & 0x7fffffu;
    if (exponent == 0u) {
        if (fraction == 0u) return uvec2(0u, sign);
        uint top = uint(findMSB(fraction));
        fraction = fraction << (23u - top) & 0x7fffffu;
        exponent = top - 149u + 1023u;
    } else {
        exponent = exponent == 255u ? 2047u : exponent + 896u;
    }
    return uvec2(fraction << 29, sign | exponent << 20 | fraction >> 3);
}

// The nearest float. With `odd`: rounded toward zero, with the last bit set if anything was lost, so that it can be
// rounded once more to a narrower type. (Zero gets that bit too; every narrower type rounds it back to zero.)
float float_from_float64(uvec2 v, bool odd) {
    uint sign = v.y & 0x80000000u;
    uint exponent = (v.y >> 20) & 2047u;
    if (exponent == 2047u) {
        bool is_nan = (v.y & 0xfffffu) != 0u || v.x != 0u;
        return uintBitsToFloat(sign | (is_nan ? 0x7fc00000u : 0x7f800000u));
    }
    if (exponent > 1150u) return uintBitsToFloat(sign | 0x7f800000u);
    uint significand = (v.y & 0xfffffu | 0x100000u) << 3 | v.x >> 29;
    uint rest = v.x << 3;
    uint bits;
    if (exponent < 897u) {
        uint n = min(897u - exponent, 26u);
        rest = significand << (32u - n) | uint(rest != 0u);
        bits = significand >> n;
    } else {
        bits = ((exponent - 897u) << 23) + significand;
    }
    if (odd) {
        bits |= uint(rest != 0u);
    } else if (rest > 0x80000000u || (rest == 0x80000000u && (bits & 1u) != 0u)) {
        ++bits;
    }
    return uintBitsToFloat(sign | bits);
}

// --- from integers

uvec2 float64_from_u64(uvec2 v) {
    if ((v.x | v.y) == 0u) return v;
    uint top = uint(top_bit_64(v));
    uvec2 significand = shift_left_64(v, top <= 52u ? 52u - top : 0u);
    if (top > 52u) {
        uint n = top - 52u;
        uint lost = v.x & ((1u << n) - 1u);
        uint tie = 1u << (n - 1u);
        significand = shift_right_u64(v, n);
        if (lost > tie || (lost == tie && (significand.x & 1u) != 0u)) significand = add64(significand, uvec2(1u, 0u));
    }
    return uvec2(significand.x, ((top + 1022u) << 20) + significand.y);
}

uvec2 float64_from_i64(uvec2 v) {
    if (int(v.y) >= 0) return float64_from_u64(v);
    uvec2 magnitude = float64_from_u64(neg64(v));
    return uvec2(magnitude.x, magnitude.y | 0x80000000u);
}

float float_from_u64(uvec2 v) {
    if (v.y == 0u && v.x < 0x1000000u) return float(v.x);
    uint top = uint(top_bit_64(v));
    uint n = top - 23u;
    uint significand = shift_right_u64(v, n).x;
    uvec2 lost = shift_left_64(v, 64u - n);
    uint bits = ((top + 126u) << 23) + significand;
    if (lost.y > 0x80000000u || (lost.y == 0x80000000u && (lost.x != 0u || (significand & 1u) != 0u))) ++bits;
    return uintBitsToFloat(bits);
}

float float_from_i64(uvec2 v) {
    return int(v.y) < 0 ? -float_from_u64(neg64(v)) : float_from_u64(v);
}

uvec2 i64_from_int(int v) {
    return uvec2(uint(v), v < 0 ? 0xffffffffu : 0u);
}

// --- to integers

// |v| truncated; 2^64 and more saturate.
uvec2 magnitude_of_float64(uvec2 v) {
    uint exponent = (v.y >> 20) & 2047u;
    if (exponent < 1023u) return uvec2(0u);
    if (exponent > 1086u) return uvec2(0xffffffffu);
    uvec2 significand = uvec2(v.x, v.y & 0xfffffu | 0x100000u);
    return exponent <= 1075u ? shift_right_u64(significand, 1075u - exponent)
                             : shift_left_64(significand, exponent - 1075u);
}

bool is_nan_float64(uvec2 v) {
    uint high = v.y & 0x7fffffffu;
    return high > 0x7ff00000u || (high == 0x7ff00000u && v.x != 0u);
}

uvec2 u64_from_float64(uvec2 v) {
    return is_nan_float64(v) || int(v.y) < 0 ? uvec2(0u) : magnitude_of_float64(v);
}

uvec2 i64_from_float64(uvec2 v) {
    if (is_nan_float64(v)) return uvec2(0u);
    uvec2 magnitude = magnitude_of_float64(v);
    if (int(v.y) < 0) return int(magnitude.y) < 0 ? uvec2(0u, 0x80000000u) : neg64(magnitude);
    return int(magnitude.y) < 0 ? uvec2(0xffffffffu, 0x7fffffffu) : magnitude;
}

int int_from_float64(uvec2 v, int low, int high) {
    uvec2 whole = i64_from_float64(v);
    if (less_i64(whole, i64_from_int(low))) return low;
    return less_i64(i64_from_int(high), whole) ? high : int(whole.x);
}

uint uint_from_float64(uvec2 v, uint high) {
    uvec2 whole = u64_from_float64(v);
    return whole.y != 0u ? high : min(whole.x, high);
}

bool is_nan_float(float v) {
    return (floatBitsToUint(v) & 0x7fffffffu) > 0x7f800000u;
}

int int_from_float(float v, int low, int high) {
    if (is_nan_float(v)) return 0;
    if (v >= 2147483648.0) return high;
    return v < -2147483648.0 ? low : clamp(int(v), low, high);
}

uint uint_from_float(float v, uint high) {
    if (is_nan_float(v) || v <= 0.0) return 0u;
    return v >= 4294967296.0 ? high : min(uint(v), high);
}
