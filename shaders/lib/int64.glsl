// 64-bit integers as uvec2, low word first. Two's complement: addition, subtraction and the low product are the same
// for both signs.
uvec2 add64(uvec2 a, uvec2 b) {
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

uvec2 sub64(uvec2 a, uvec2 b) {
    uint borrow;
    uint low = usubBorrow(a.x, b.x, borrow);
    return uvec2(low, a.y - b.y - borrow);
}

bool less_u64(uvec2 a, uvec2 b) {
    return a.y != b.y ? a.y < b.y : a.x < b.x;
}

bool less_i64(uvec2 a, uvec2 b) {
    return a.y != b.y ? int(a.y) < int(b.y) : a.x < b.x;
}

uvec2 mul64(uvec2 a, uvec2 b) {
    uint high, low;
    umulExtended(a.x, b.x, high, low);
    return uvec2(low, high + a.x * b.y + a.y * b.x);
}

uvec2 neg64(uvec2 a) {
    return add64(~a, uvec2(1u, 0u));
}

bool negative_i64(uvec2 a) {
    return int(a.y) < 0;
}

uvec2 abs_i64(uvec2 a) {
    return negative_i64(a) ? neg64(a) : a;
}

uvec2 shift_left_64(uvec2 a, uint n) {
    if (n >= 64u) return uvec2(0u);
    if (n >= 32u) return uvec2(0u, a.x << (n - 32u));
    return n == 0u ? a : uvec2(a.x << n, (a.y << n) | (a.x >> (32u - n)));
}

uvec2 shift_right_u64(uvec2 a, uint n) {
    if (n >= 64u) return uvec2(0u);
    if (n >= 32u) return uvec2(a.y >> (n - 32u), 0u);
    return n == 0u ? a : uvec2((a.x >> n) | (a.y << (32u - n)), a.y >> n);
}

int top_bit_64(uvec2 a) {
    return a.y != 0u ? 32 + findMSB(a.y) : findMSB(a.x);
}

// Quotient and remainder, bit by bit from the highest that can be set. A zero divisor makes both all ones, as in
// Direct3D's udiv.
uvec2 divide_u64(uvec2 a, uvec2 b, out uvec2 remainder) {
    remainder = uvec2(0xffffffffu);
    if ((b.x | b.y) == 0u) return uvec2(0xffffffffu);
    uvec2 q = uvec2(0u);
    if ((a.y | b.y) == 0u) {
        remainder = uvec2(a.x % b.x, 0u);
        return uvec2(a.x / b.x, 0u);
    }
    for (int at = top_bit_64(a) - top_bit_64(b); at >= 0; --at) {
        uvec2 part = shift_left_64(b, uint(at));
        if (!less_u64(a, part)) {
            a = sub64(a, part);
            q |= shift_left_64(uvec2(1u, 0u), uint(at));
        }
    }
    remainder = a;
    return q;
}

// Division that truncates; the remainder has the dividend's sign.
uvec2 divide_i64(uvec2 a, uvec2 b, out uvec2 remainder) {
    uvec2 q = divide_u64(abs_i64(a), abs_i64(b), remainder);
    if ((b.x | b.y) == 0u) return q;
    if (negative_i64(a)) remainder = neg64(remainder);
    return negative_i64(a) != negative_i64(b) ? neg64(q) : q;
}

uvec2 quotient_u64(uvec2 a, uvec2 b) {
    uvec2 remainder;
    return divide_u64(a, b, remainder);
}

uvec2 quotient_i64(uvec2 a, uvec2 b) {
    uvec2 remainder;
    return divide_i64(a, b, remainder);
}

uvec2 modulus_u64(uvec2 a, uvec2 b) {
    uvec2 remainder;
    divide_u64(a, b, remainder);
    return remainder;
}

uvec2 modulus_truncate_i64(uvec2 a, uvec2 b) {
    uvec2 remainder;
    divide_i64(a, b, remainder);
    return remainder;
}

uvec2 modulus_floor_i64(uvec2 a, uvec2 b) {
    uvec2 remainder;
    divide_i64(a, b, remainder);
    bool wrong = (remainder.x | remainder.y) != 0u && negative_i64(remainder) != negative_i64(b);
    return wrong && (b.x | b.y) != 0u ? add64(remainder, b) : remainder;
}

// Converts to the nearest float, ties to even.
float float_u64(uvec2 a) {
    if (a.y == 0u && a.x < 0x1000000u) return float(a.x);
    int top = top_bit_64(a);
    uint dropped = uint(max(top - 23, 0));
    uvec2 kept = shift_right_u64(a, dropped);
    uvec2 rest = sub64(a, shift_left_64(kept, dropped));
    uvec2 half_step = shift_left_64(uvec2(1u, 0u), dropped - 1u);
    if (less_u64(half_step, rest) || rest == half_step && (kept.x & 1u) != 0u) kept.x += 1u;
    return float(kept.x) * uintBitsToFloat((dropped + 127u) << 23);
}

float float_i64(uvec2 a) {
    float magnitude = float_u64(abs_i64(a));
    return negative_i64(a) ? -magnitude : magnitude;
}

// Truncates and saturates; NaN gives zero.
uvec2 u64_of_float(float x) {
    uint bits = floatBitsToUint(x);
    uint exponent = bits >> 23;
    if (exponent < 127u || (bits & 0x7fffffffu) > 0x7f800000u || exponent > 255u) return uvec2(0u);
    if (exponent >= 191u) return uvec2(0xffffffffu);
    uvec2 m = uvec2((bits & 0x7fffffu) | 0x800000u, 0u);
    return exponent >= 150u ? shift_left_64(m, exponent - 150u) : shift_right_u64(m, 150u - exponent);
}

uvec2 i64_of_float(float x) {
    bool negative = (floatBitsToUint(x) >> 31) != 0u;
    uvec2 magnitude = u64_of_float(abs(x));
    if (negative_i64(magnitude)) return negative ? uvec2(0u, 0x80000000u) : uvec2(0xffffffffu, 0x7fffffffu);
    return negative ? neg64(magnitude) : magnitude;
}
