// FLOAT64 arithmetic in integers, for devices without doubles: bits as uvec2, low word first. Rounds to nearest even;
// subnormals are kept.
#include "lib/int64.glsl"

uvec2 shift_right_sticky(uvec2 a, uint n) {
    uvec2 shifted = shift_right_u64(a, n);
    if (n >= 64u ? (a.x | a.y) != 0u : shift_left_64(shifted, n) != a) shifted.x |= 1u;
    return shifted;
}

// The number m 2^(e - 63), rounded. Bit 63 of m is set, and bit 0 is a sticky bit.
uvec2 pack_f64(uint sign, int e, uvec2 m) {
    if (e < -1022) {
        m = shift_right_sticky(m, uint(min(-1022 - e, 100)));
        e = -1023;
    }
    if (e > 1023) return uvec2(0u, sign | 0x7ff00000u);
    uint dropped = m.x & 0x7ffu;
    uvec2 kept = shift_right_u64(m, 11u);
    if (dropped > 0x400u || dropped == 0x400u && (kept.x & 1u) != 0u) kept = add64(kept, uvec2(1u, 0u));
    // The leading one of `kept` adds to the exponent, and so does a carry out of it.
    uint exponent = uint(max(e + 1022, 0));
    return uvec2(kept.x, sign | (kept.y + (exponent << 20)));
}

// The significand of a nonzero finite number with its leading one at bit 63, and its exponent.
uvec2 unpack_f64(uvec2 a, out int e) {
    e = int((a.y >> 20) & 0x7ffu) - 1023;
    uvec2 m = uvec2(a.x, a.y & 0xfffffu);
    if (e == -1023) {
        int top = top_bit_64(m);
        e = -1074 + top;
        return shift_left_64(m, uint(63 - top));
    }
    m.y |= 0x100000u;
    return shift_left_64(m, 11u);
}

bool is_nan_f64(uvec2 a) {
    uint high = a.y & 0x7fffffffu;
    return high > 0x7ff00000u || high == 0x7ff00000u && a.x != 0u;
}

bool is_inf_f64(uvec2 a) {
    return (a.y & 0x7fffffffu) == 0x7ff00000u && a.x == 0u;
}

bool is_zero_f64(uvec2 a) {
    return ((a.y << 1) | a.x) == 0u;
}

uvec2 mul_f64(uvec2 a, uvec2 b) {
    uint sign = (a.y ^ b.y) & 0x80000000u;
    if (is_nan_f64(a)) return a;
    if (is_nan_f64(b)) return b;
    if (is_inf_f64(a) || is_inf_f64(b)) {
        return is_zero_f64(a) || is_zero_f64(b) ? uvec2(0u, 0x7ff80000u) : uvec2(0u, sign | 0x7ff00000u);
    }
    if (is_zero_f64(a) || is_zero_f64(b)) return uvec2(0u, sign);
    int ea, eb;
    uvec2 ma = unpack_f64(a, ea), mb = unpack_f64(b, eb);
    uvec2 low, cross, cross2, high;
    umulExtended(ma.x, mb.x, low.y, low.x);
    umulExtended(ma.x, mb.y, cross.y, cross.x);
    umulExtended(ma.y, mb.x, cross2.y, cross2.x);
    umulExtended(ma.y, mb.y, high.y, high.x);
    uvec2 middle = add64(uvec2(low.y, 0u), uvec2(cross.x, 0u));
    middle = add64(middle, uvec2(cross2.x, 0u));
    high = add64(high, uvec2(cross.y, 0u));
    high = add64(high, uvec2(cross2.y, 0u));
    high = add64(high, uvec2(middle.y, 0u));
    uvec2 rest = uvec2(low.x, middle.x);
    int e = ea + eb + 1;
    if ((high.y & 0x80000000u) == 0u) {
        high = shift_left_64(high, 1u);
        high.x |= rest.y >> 31;
        rest = shift_left_64(rest, 1u);
        e -= 1;
    }
    if ((rest.x | rest.y) != 0u) high.x |= 1u;
    return pack_f64(sign, e, high);
}

uvec2 add_f64(uvec2 a, uvec2 b) {
    if (is_nan_f64(a)) return a;
    if (is_nan_f64(b)) return b;
    uint sa = a.y & 0x80000000u, sb = b.y & 0x80000000u;
    if (is_inf_f64(a)) return is_inf_f64(b) && sa != sb ? uvec2(0u, 0x7ff80000u) : a;
    if (is_inf_f64(b)) return b;
    if (is_zero_f64(b)) return is_zero_f64(a) ? uvec2(0u, sa & sb) : a;
    if (is_zero_f64(a)) return b;
    if (less_u64(uvec2(a.x, a.y ^ sa), uvec2(b.x, b.y ^ sb))) {
        uvec2 t = a;
        a = b;
        b = t;
        sa = a.y & 0x80000000u;
        sb = b.y & 0x80000000u;
    }
    int ea, eb;
    uvec2 ma = shift_right_u64(unpack_f64(a, ea), 1u);
    uvec2 mb = shift_right_sticky(shift_right_u64(unpack_f64(b, eb), 1u), uint(ea - eb));
    uvec2 sum = sa == sb ? add64(ma, mb) : sub64(ma, mb);
    if ((sum.x | sum.y) == 0u) return uvec2(0u);
    int top = top_bit_64(sum);
    return pack_f64(sa, ea + top - 62, shift_left_64(sum, uint(63 - top)));
}
