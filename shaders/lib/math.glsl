// Functions with the same results on every device, to 4 ulp, from additions, multiplications, bit operations and
// quotients that are corrected after the division: Vulkan promises less of its built-ins. Polynomials are minimax fits.
// NaN, infinities and the signs of zeros are as in IEEE 754; subnormal results may be flushed.
//
//   is_nan is_inf               from the bits: compilers may fold isnan() away
//   quotient(a, b)              a / b, to slightly over half an ulp; a and b from 2^-50 to 2^50 in magnitude
//   divide(a, b)                the same for all a and b
//   divide_nearest(a, b)        as IEEE 754 rounds it, for all a and b
//   sqrt_accurate reciprocal    to slightly over half an ulp
//   multiply_add(x, a, b)       x a + b, rounded after each step
//   modulus_truncate modulus_floor   exact; the sign of the dividend (C) or of the divisor (Python)
//   round_quotient(x, s)        the float32 quotient x / s to the nearest integer, halves to even; NaN to 0
//   round_half_away
//   exp_nonpositive(x)          e^x for x <= 0 without a branch; undefined for NaN
//   exp_of_half(x)              the same, precise enough for a FLOAT16 result
//   exp_accurate expm1_accurate log_accurate log1p_accurate pow_accurate
//   sin_accurate cos_accurate tan_accurate (any argument) asin_accurate acos_accurate atan_accurate
//   atan2_accurate(y, x)
//   sinh_accurate cosh_accurate tanh_accurate asinh_accurate acosh_accurate atanh_accurate
//   sigmoid softplus(x) = log(1 + e^x); sigmoid_scaled softplus_scaled take a factor of x and do not round the product
//   erf_accurate normal_tail(t) = erfc(t / sqrt 2) / 2 for t >= 0; gelu(x) = x (1 + erf(x / sqrt 2)) / 2
#define INFINITY uintBitsToFloat(0x7f800000u)
#define NOT_A_NUMBER uintBitsToFloat(0x7fc00000u)

bool is_nan(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u;
}

bool is_inf(float x) {
    return (floatBitsToUint(x) & 0x7fffffffu) == 0x7f800000u;
}

// Returns 0 for negative numbers and keeps NaN, which NVIDIA's driver turns into 0 in an equivalent comparison and
// selection.
float not_negative(float x) {
    uint bits = floatBitsToUint(x);
    return bits > 0x80000000u && bits <= 0xff800000u ? 0.0 : x;
}

// A magnitude (+0 or above, or NaN) with the sign of b, without touching NaN. The sign bit is only set: with (a &
// 0x7fffffff) | (b & 0x80000000), a selection of bits, lavapipe 26.1.6 selects the wrong ones after a branch whose
// other side is b, on CPUs with AVX-512 (LLVM 19 exchanges vpternlog's operands: llvm/llvm-project issue 157929).
float with_sign(float magnitude, float b) {
    return uintBitsToFloat(floatBitsToUint(magnitude) | (floatBitsToUint(b) & 0x80000000u));
}

// x * 2^n for |n| <= 250, in two steps so that a result near the ends of the range does not overflow in between.
float scale_by(float x, int n) {
    int a = n / 2;
    precise float y = x * uintBitsToFloat(uint(a + 127) << 23);
    precise float z = y * uintBitsToFloat(uint(n - a + 127) << 23);
    return z;
}

// a * b - p exactly, where p is a * b rounded: the factors are split into halves of 12 bits, since fma may round twice.
float product_error(float a, float b, float p) {
    float ah = uintBitsToFloat(floatBitsToUint(a) & 0xfffff000u);
    float bh = uintBitsToFloat(floatBitsToUint(b) & 0xfffff000u);
    precise float al = a - ah;
    precise float bl = b - bh;
    precise float e = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
    return e;
}

float quotient(float a, float b) {
    precise float q = a / b;
    precise float p = q * b;
    precise float r = (a - p) - product_error(q, b, p);
    precise float corrected = q + r / b;
    return corrected;
}

// Correctly rounded: the adjacent float, if the remainder exceeds half a step towards it.
float quotient_nearest(float a, float b) {
    float q = quotient(a, b);
    precise float p = q * b;
    precise float r = (a - p) - product_error(q, b, p);
    float next = uintBitsToFloat(floatBitsToUint(q) + ((r < 0.0) == (a < 0.0) ? 1u : 0xffffffffu));
    precise float step = (next - q) * b;
    return 2.0 * abs(r) > abs(step) ? next : q;
}

// Splits the bits of a finite nonzero magnitude into the significand in [1, 2) and the exponent. The bits of a
// subnormal number are converted as an integer, since a device may take the number itself for zero.
float significand(uint bits, out int exponent) {
    exponent = -127;
    if (bits < 0x00800000u) {
        bits = floatBitsToUint(float(bits));
        exponent = -149 - 127;
    }
    exponent += int(bits >> 23);
    return uintBitsToFloat((bits & 0x7fffffu) | 0x3f800000u);
}

float divide_by(float a, float b, bool nearest) {
    uint ua = floatBitsToUint(a) & 0x7fffffffu;
    uint ub = floatBitsToUint(b) & 0x7fffffffu;
    // Exponents from -50 to 49: neither the quotient nor the corrections of its last bits leave the range.
    if (ua - 0x26800000u < 0x32000000u && ub - 0x26800000u < 0x32000000u) {
        return nearest ? quotient_nearest(a, b) : quotient(a, b);
    }
    uint sign = (floatBitsToUint(a) ^ floatBitsToUint(b)) & 0x80000000u;
    if (ua > 0x7f800000u) return a;
    if (ub > 0x7f800000u) return b;
    if (ua == 0x7f800000u) return ub == 0x7f800000u ? NOT_A_NUMBER : uintBitsToFloat(sign | 0x7f800000u);
    if (ub == 0u) return ua == 0u ? NOT_A_NUMBER : uintBitsToFloat(sign | 0x7f800000u);
    if (ua == 0u || ub == 0x7f800000u) return uintBitsToFloat(sign);
    int ea, eb;
    float ma = significand(ua, ea), mb = significand(ub, eb);
    float q = nearest ? quotient_nearest(ma, mb) : quotient(ma, mb);
    q = scale_by(q, clamp(ea - eb, -200, 200));
    return uintBitsToFloat(sign | floatBitsToUint(q));
}

float divide(float a, float b) {
    return divide_by(a, b, false);
}

float divide_nearest(float a, float b) {
    return divide_by(a, b, true);
}

float reciprocal(float x) {
    return divide(1.0, x);
}

float multiply_add(float x, float a, float b) {
    precise float y = x * a + b;
    return y;
}

// The remainder of magnitudes by long division of the significands, eight bits at a time.
float modulus_truncate(float a, float b) {
    if (is_nan(a)) return a;
    if (is_nan(b)) return b;
    uint ua = floatBitsToUint(a) & 0x7fffffffu;
    uint ub = floatBitsToUint(b) & 0x7fffffffu;
    if (ua == 0x7f800000u || ub == 0u) return NOT_A_NUMBER;
    if (ua < ub) return a;
    int ea = int(ua >> 23), eb = int(ub >> 23);
    uint ma = ea == 0 ? ua : (ua & 0x7fffffu) | 0x800000u;
    uint mb = eb == 0 ? ub : (ub & 0x7fffffu) | 0x800000u;
    ea = max(ea, 1);
    eb = max(eb, 1);
    uint r = ma % mb;
    for (int left = ea - eb; left > 0; left -= 8) r = (r << min(left, 8)) % mb;
    // r 2^(eb - 150), assembled from bits.
    uint bits = 0u;
    if (r != 0u) {
        int shift = min(23 - findMSB(r), eb - 1);
        r <<= shift;
        bits = (r & 0x800000u) != 0u ? (uint(eb - shift) << 23) | (r & 0x7fffffu) : r;
    }
    return uintBitsToFloat(bits | (floatBitsToUint(a) & 0x80000000u));
}

float modulus_floor(float a, float b) {
    float r = modulus_truncate(a, b);
    if (is_nan(r)) return r;
    if (r == 0.0) return with_sign(0.0, b);
    return (r < 0.0) != (b < 0.0) ? r + b : r;
}

float round_quotient(float x, float s) {
    float q = divide_nearest(x, s);
    return is_nan(q) ? 0.0 : roundEven(q);
}

float round_half_away(float x) {
    float t = trunc(x);
    return abs(x - t) >= 0.5 ? t + with_sign(1.0, x) : t;
}

float sqrt_accurate(float x) {
    uint u = floatBitsToUint(x);
    if (u - 1u >= 0x7f7fffffu) return u == 0x7f800000u || (u << 1) == 0u || is_nan(x) ? x : NOT_A_NUMBER;
    int e;
    float m = significand(u, e);
    if ((e & 1) != 0) m *= 2.0;
    float s = sqrt(m);
    precise float p = s * s;
    precise float r = (m - p) - product_error(s, s, p);
    precise float corrected = s + 0.5 * r / s;
    return corrected * uintBitsToFloat(uint((e >> 1) + 127) << 23);
}

// P of e^r = 1 + r + r^2 P(r), |r| <= 0.35.
float exp_tail(float r) {
    float p = 1.974269e-4;
    p = p * r + 1.3935934e-3;
    p = p * r + 8.333569e-3;
    p = p * r + 4.1666456e-2;
    p = p * r + 0.16666666;
    return p * r + 0.5;
}

// x = n ln 2 + r. n ln 2 in two parts, the first exact.
float exp_reduce(float x, out float n) {
    n = roundEven(x * 1.44269504);
    precise float high = x - n * 0.693359375;
    precise float r = high + n * 2.12194440e-4;
    return r;
}

// factor * e^(x + low) * 2^k for |x| <= 120, |low| far below 1, |k| <= 2.
float exp_scaled(float x, float low, float factor, int k) {
    float n;
    precise float r = exp_reduce(x, n) + low;
    precise float y = factor * (exp_tail(r) * (r * r) + r) + factor;
    return scale_by(y, int(n) + k);
}

float exp_accurate(float x) {
    if (is_nan(x)) return x;
    if (x > 88.72284) return INFINITY;
    if (x < -103.972084) return 0.0;
    return exp_scaled(x, 0.0, 1.0, 0);
}

// e^x for x <= 0, without a branch; 0 for large negative x, undefined for NaN.
float exp_nonpositive(float x) {
    // At least -88, below which e^x is 0: the bits of negative floats are ordered by magnitude.
    float near = uintBitsToFloat(min(floatBitsToUint(x), 0xc2b00000u));
    // Adding 1.5 * 2^23 rounds to an integer, which the low bits of the sum then hold. With fma(), since SwiftShader
    // drops an addition and its subtraction in unrolled loops, whose copies lose their `precise`.
    precise float shifted = fma(near, 1.44269504, 12582912.0);
    precise float n = shifted - 12582912.0;
    precise float high = near - n * 0.693359375;
    precise float r = high + n * 2.12194440e-4;
    // exp_tail() with fewer terms, which keeps the result within 2.3 ulp, in an order with fewer dependencies.
    float square = r * r;
    float p = (0.49999231 + 0.16667114 * r) + (4.1890148e-2 + 8.3125215e-3 * r) * square;
    precise float y = p * square + r + 1.0;
    // 2^n from the bits of n; 0 for -127.
    precise float z = y * uintBitsToFloat((floatBitsToUint(shifted) << 23) + (127u << 23));
    return z;
}

// e^x within 3 + 2 |x| ulp, the precision that Vulkan requires of exp2(). It is faster, and precise enough for softmax
// of FLOAT16.
float exp_of_half(float x) { return exp2((x > -105.0 ? x : -105.0) * 1.44269504); }

float expm1_accurate(float x) {
    if (is_nan(x)) return x;
    if (x > 88.72284) return INFINITY;
    if (x < -20.0) return -1.0;
    float n;
    float r = exp_reduce(x, n);
    precise float p = exp_tail(r) * (r * r) + r;
    if (n == 0.0) return abs(x) < 1e-10 ? x : p;
    if (n > 100.0) return scale_by(p + 1.0, int(n));
    float power = uintBitsToFloat(uint(int(n) + 127) << 23);
    precise float y = n < -1.0 || n > 23.0 ? power * (p + 1.0) - 1.0 : power * p + (power - 1.0);
    return y;
}

// x = 2^n (1 + f) with 1 + f from sqrt 1/2 to sqrt 2, for the bits of a positive finite x.
float log_reduce(uint bits, out float n) {
    int e = 0;
    if (bits < 0x00800000u) {
        bits = floatBitsToUint(float(bits));
        e = -149;
    }
    int k = int(bits - 0x3f3504f3u) >> 23;
    n = float(k + e);
    precise float f = uintBitsToFloat(bits - uint(k << 23)) - 1.0;
    return f;
}

float log_accurate(float x) {
    uint u = floatBitsToUint(x);
    if ((u << 1) == 0u) return -INFINITY;
    if (u == 0x7f800000u || is_nan(x)) return x;
    if ((u & 0x80000000u) != 0u) return NOT_A_NUMBER;
    float n;
    float f = log_reduce(u, n);
    float p = 0.0692903;
    p = p * f - 0.11804683;
    p = p * f + 0.11874565;
    p = p * f - 0.12382197;
    p = p * f + 0.14218292;
    p = p * f - 0.1666935;
    p = p * f + 0.20002238;
    p = p * f - 0.24999985;
    p = p * f + 0.3333331;
    float z = f * f;
    precise float y = (p * f * z - n * 2.12194440e-4) - 0.5 * z;
    precise float result = (f + y) + n * 0.693359375;
    return result;
}

float log1p_accurate(float x) {
    if (is_nan(x) || is_inf(x) && x > 0.0 || abs(x) < 2e-8) return x;
    precise float u = 1.0 + x;
    if (u <= 0.0) return u == 0.0 ? -INFINITY : NOT_A_NUMBER;
    // The addition's rounding error, to first order.
    precise float lost = x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0);
    precise float result = log_accurate(u) + lost / u;
    return result;
}

// log x as high + low, to about 2^-31, for the bits of a positive finite x.
void log_parts(uint bits, out float high, out float low) {
    float n;
    float f = log_reduce(bits, n);
    // log(1 + f) = 2 artanh(s) with s = f / (2 + f) as two numbers.
    precise float g = f + 2.0;
    precise float g_low = f - (g - 2.0);
    precise float s = f / g;
    precise float p = s * g;
    precise float s_low = (((f - p) - product_error(s, g, p)) - s * g_low) / g;
    precise float z = s * s;
    precise float z_low = product_error(s, s, z) + 2.0 * s * s_low;
    precise float c = z * z * (0.20000486 + z * (0.14249419 + z * 0.12138418));
    precise float third = z * 0.33333334;
    precise float third_low = product_error(z, 0.33333334, third) + z_low * 0.33333334 - z * 9.934108e-9;
    precise float q = third + c;
    precise float q_low = (c - (q - third)) + third_low;
    precise float t = 2.0 * s;
    precise float tq = t * q;
    precise float tq_low = product_error(t, q, tq) + t * q_low + 2.0 * s_low * (1.0 + q);
    precise float a = t + tq;
    precise float a_low = (tq - (a - t)) + tq_low;
    precise float big = n * 0.693359375;
    precise float sum = big + a;
    precise float rest = (n == 0.0 ? 0.0 : a - (sum - big)) + (a_low - n * 2.12194440e-4);
    precise float h = sum + rest;
    precise float l = rest - (h - sum);
    high = h;
    low = l;
}

// |x|^y for finite x other than 0.
float pow_magnitude(float x, float y) {
    float high, low;
    log_parts(floatBitsToUint(x) & 0x7fffffffu, high, low);
    precise float p = y * high;
    if (!(p < 89.0)) return INFINITY;
    if (p < -104.0) return 0.0;
    precise float p_low = product_error(y, high, p) + y * low;
    return exp_scaled(p, p_low, 1.0, 0);
}

// x^y, including special values. integer, odd: whether y is an integer, and whether it is an odd one.
float pow_special(float x, float y, bool integer, bool odd) {
    uint ux = floatBitsToUint(x) & 0x7fffffffu;
    uint uy = floatBitsToUint(y) & 0x7fffffffu;
    if (uy == 0u || floatBitsToUint(x) == 0x3f800000u) return 1.0;
    if (ux > 0x7f800000u) return x;
    if (uy > 0x7f800000u) return y;
    // Signs are tested by bits, since a device may treat a subnormal as 0 in comparisons.
    bool rising = (floatBitsToUint(y) & 0x80000000u) == 0u;
    if (uy == 0x7f800000u) {
        if (ux == 0x3f800000u) return 1.0;
        return (ux > 0x3f800000u) == rising ? INFINITY : 0.0;
    }
    float sign = odd ? x : 1.0;
    if (ux == 0u || ux == 0x7f800000u) return with_sign((ux == 0u) == rising ? 0.0 : INFINITY, sign);
    if ((floatBitsToUint(x) & 0x80000000u) != 0u && !integer) return NOT_A_NUMBER;
    return with_sign(pow_magnitude(x, y), sign);
}

float pow_accurate(float x, float y) {
    // Every float of at least 2^24 is an even integer.
    uint uy = floatBitsToUint(y) & 0x7fffffffu;
    bool integer = uy >= 0x4b800000u || floor(y) == y;
    bool odd = uy < 0x4b800000u && integer && (int(y) & 1) != 0;
    return pow_special(x, y, integer, odd);
}

float pow_accurate(float x, int n) {
    return pow_special(x, float(n), true, (n & 1) != 0);
}

float pow_accurate(float x, uint n) {
    return pow_special(x, float(n), true, (n & 1u) != 0u);
}

// An integer to the power of a float, as an integer: exact powers and roots stay exact, other results are truncated.
float pow_truncated(float x, float y) {
    float p = pow_accurate(x, y);
    float nearest = roundEven(p);
    return abs(p - nearest) <= 4e-7 * abs(p) ? nearest : trunc(p);
}

// Returns four words of 2/pi, which begins with 32 zero bits, starting at word `at`, which is at most 4. The words are
// selected, not indexed: llvmpipe copies an indexed table to each invocation's memory, which is far slower.
uvec4 two_over_pi(uint at) {
    const uvec4 first = uvec4(0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u);
    const uvec4 last = uvec4(0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu);
    bvec4 second = bvec4((at & 2u) != 0u);
    uvec4 four = mix(first, uvec4(first.zw, last.xy), second);
    uint fifth = second.x ? last.z : last.x;
    four = mix(four, uvec4(four.yzw, fifth), bvec4((at & 1u) != 0u));
    return mix(four, last, bvec4(at == 4u));
}

// x = (4 k + quadrant) pi/2 + r with |r| <= pi/4; r = high + low. For every finite x: the product with 2/pi is computed
// in integers, without the first bits of 2/pi, which add only whole turns (Payne and Hanek).
uint reduce_angle(float x, out float high, out float low) {
    uint u = floatBitsToUint(x) & 0x7fffffffu;
    if (u <= 0x3f490fdau) {
        high = x;
        low = 0.0;
        return 0u;
    }
    uint m = (u & 0x7fffffu) | 0x800000u;
    // x = m 2^k; bit j of 2/pi weighs 2^-j, and weights of 4 and more drop out.
    uint first = (u >> 23) - 150u + 30u;
    uint at = first >> 5, shift = first & 31u;
    uvec4 words = two_over_pi(at);
    uint a = words.x, b = words.y, c = words.z, d = words.w;
    if (shift != 0u) {
        a = (a << shift) | (b >> (32u - shift));
        b = (b << shift) | (c >> (32u - shift));
        c = (c << shift) | (d >> (32u - shift));
    }
    uint high_b, low_b, high_c, low_c, carry, carry2;
    umulExtended(m, b, high_b, low_b);
    umulExtended(m, c, high_c, low_c);
    low_b = uaddCarry(low_b, high_c, carry);
    uint top = m * a + high_b + carry;
    // top, low_b, low_c: 4 turns / 2^96. Two bits of quadrant, then its fraction; rounded to the nearest quadrant.
    uint quadrant = top >> 30;
    uint f1 = (top << 2) | (low_b >> 30), f0 = (low_b << 2) | (low_c >> 30);
    bool negative = (f1 & 0x80000000u) != 0u;
    if (negative) {
        quadrant += 1u;
        f0 = ~f0 + 1u;
        f1 = ~f1 + (f0 == 0u ? 1u : 0u);
    }
    int e = -1;
    if (f1 == 0u) {
        f1 = f0;
        f0 = 0u;
        e = -33;
    }
    int zeros = 31 - findMSB(f1);
    if (zeros > 0) f1 = (f1 << zeros) | (f0 >> (32 - zeros));
    // The product of f1 2^(e - 31 - zeros) and pi/2, which is 0xc90fdaa2 2^-31.
    uint p, p_low;
    umulExtended(f1, 0xc90fdaa2u, p, p_low);
    float unit = uintBitsToFloat(uint(e - 29 - zeros + 127) << 23) * 0.5;
    if ((floatBitsToUint(x) >> 31) != (negative ? 1u : 0u)) unit = -unit;
    high = float(p & 0xffffff00u) * unit;
    low = float(p & 0xffu) * unit;
    return (floatBitsToUint(x) >> 31) != 0u ? 0u - quadrant : quadrant;
}

float sin_kernel(float r, float low) {
    float z = r * r;
    float p = 2.8373952e-6;
    p = p * z - 1.9853505e-4;
    p = p * z + 8.33338e-3;
    p = p * z - 0.16666667;
    precise float y = r + (p * z * r + low);
    return y;
}

float cos_kernel(float r, float low) {
    precise float z = r * r;
    float p = -2.8975907e-7;
    p = p * z + 2.4822977e-5;
    p = p * z - 1.3888982e-3;
    p = p * z + 4.1666668e-2;
    precise float h = 0.5 * z;
    precise float w = 1.0 - h;
    precise float y = w + (((1.0 - w) - h) + (p * z * z - r * low));
    return y;
}

float sin_accurate(float x) {
    if ((floatBitsToUint(x) & 0x7f800000u) == 0x7f800000u) return NOT_A_NUMBER;
    if (abs(x) < 1e-6) return x;
    float r, low;
    uint quadrant = reduce_angle(x, r, low);
    float y = (quadrant & 1u) != 0u ? cos_kernel(r, low) : sin_kernel(r, low);
    return (quadrant & 2u) != 0u ? -y : y;
}

float cos_accurate(float x) {
    if ((floatBitsToUint(x) & 0x7f800000u) == 0x7f800000u) return NOT_A_NUMBER;
    float r, low;
    uint quadrant = reduce_angle(x, r, low) + 1u;
    float y = (quadrant & 1u) != 0u ? cos_kernel(r, low) : sin_kernel(r, low);
    return (quadrant & 2u) != 0u ? -y : y;
}

float tan_accurate(float x) {
    if ((floatBitsToUint(x) & 0x7f800000u) == 0x7f800000u) return NOT_A_NUMBER;
    if (abs(x) < 1e-6) return x;
    float r, low;
    uint quadrant = reduce_angle(x, r, low);
    float s = sin_kernel(r, low), c = cos_kernel(r, low);
    return (quadrant & 1u) != 0u ? -quotient(c, s) : quotient(s, c);
}

// asin x = x + x z P(z) with z = x^2, z <= 1/4.
float asin_tail(float z) {
    float p = 0.03761694;
    p = p * z + 0.014362824;
    p = p * z + 0.031829067;
    p = p * z + 0.044514213;
    p = p * z + 0.075005196;
    p = p * z + 0.1666666;
    return p * z;
}

const float HALF_PI = 1.5707964;
const float HALF_PI_LOW = -4.371139e-8;

float asin_accurate(float x) {
    float a = abs(x);
    if (is_nan(x)) return x;
    if (a > 1.0) return NOT_A_NUMBER;
    if (a <= 0.5) {
        precise float y = asin_tail(x * x) * x + x;
        return a < 1e-6 ? x : y;
    }
    float z = 0.5 * (1.0 - a);
    float s = sqrt_accurate(z);
    precise float y = HALF_PI - (2.0 * (s + s * asin_tail(z)) - HALF_PI_LOW);
    return with_sign(y, x);
}

float acos_accurate(float x) {
    float a = abs(x);
    if (is_nan(x)) return x;
    if (a > 1.0) return NOT_A_NUMBER;
    if (a <= 0.5) {
        precise float y = HALF_PI - (x - (HALF_PI_LOW - asin_tail(x * x) * x));
        return y;
    }
    float z = 0.5 * (1.0 - a);
    float s = sqrt_accurate(z);
    precise float y = 2.0 * (s + s * asin_tail(z));
    precise float other = 2.0 * HALF_PI - (y - 2.0 * HALF_PI_LOW);
    return x < 0.0 ? other : y;
}

float atan_accurate(float x) {
    float a = abs(x);
    if (is_nan(x) || a < 1e-6) return x;
    float base = 0.0, base_low = 0.0, t = a;
    if (a > 2.4142135) {
        t = -reciprocal(a);
        base = HALF_PI;
        base_low = HALF_PI_LOW;
    } else if (a > 0.41421357) {
        t = quotient(a - 1.0, a + 1.0);
        base = 0.5 * HALF_PI;
        base_low = 0.5 * HALF_PI_LOW;
    }
    float z = t * t;
    float p = -0.060904693;
    p = p * z + 0.10599384;
    p = p * z - 0.14244424;
    p = p * z + 0.1999853;
    p = p * z - 0.33333316;
    precise float y = base + (t + (p * z * t + base_low));
    return with_sign(y, x);
}

// The angle of (x, y), from -pi to pi.
float atan2_accurate(float y, float x) {
    if (is_nan(x)) return x;
    if (is_nan(y)) return y;
    float ay = abs(y), ax = abs(x);
    bool steep = ay > ax;
    float q = 0.0;
    if (ay == ax) {
        q = ay == 0.0 ? 0.0 : 1.0;
    } else {
        q = steep ? divide(ax, ay) : divide(ay, ax);
    }
    precise float angle = atan_accurate(q);
    if (steep) angle = HALF_PI - (angle - HALF_PI_LOW);
    if ((floatBitsToUint(x) & 0x80000000u) != 0u) angle = 2.0 * HALF_PI - (angle - 2.0 * HALF_PI_LOW);
    return with_sign(angle, y);
}

float sinh_accurate(float x) {
    float a = abs(x);
    if (is_nan(x) || a < 1e-6) return x;
    if (a < 1.0) {
        float z = x * x;
        float p = 2.7839255e-6;
        p = p * z + 1.9842635e-4;
        p = p * z + 8.333311e-3;
        p = p * z + 0.16666667;
        precise float y = p * z * x + x;
        return y;
    }
    if (a > 89.5) return with_sign(INFINITY, x);
    precise float y = exp_scaled(a, 0.0, 1.0, -1) - exp_scaled(-a, 0.0, 1.0, -1);
    return with_sign(y, x);
}

float cosh_accurate(float x) {
    float a = abs(x);
    if (is_nan(x)) return x;
    if (a > 89.5) return INFINITY;
    precise float y = exp_scaled(a, 0.0, 1.0, -1) + exp_scaled(-a, 0.0, 1.0, -1);
    return y;
}

float tanh_accurate(float x) {
    float a = abs(x);
    if (is_nan(x) || a < 1e-6) return x;
    if (a < 0.625) {
        float z = x * x;
        float p = 2.1576358e-3;
        p = p * z - 8.195086e-3;
        p = p * z + 2.170875e-2;
        p = p * z - 5.3948462e-2;
        p = p * z + 0.13333222;
        p = p * z - 0.3333333;
        precise float y = p * z * x + x;
        return y;
    }
    float y = 1.0;
    if (a < 10.0) y = 1.0 - 2.0 / (exp_scaled(2.0 * a, 0.0, 1.0, 0) + 1.0);
    return x < 0.0 ? -y : y;
}

float asinh_accurate(float x) {
    float a = abs(x);
    if (is_nan(x) || is_inf(x) || a < 1e-6) return x;
    if (a <= 0.5) {
        float z = x * x;
        float p = 9.257228e-3;
        p = p * z - 2.0049928e-2;
        p = p * z + 3.0033633e-2;
        p = p * z - 4.46161e-2;
        p = p * z + 7.499907e-2;
        p = p * z - 0.16666666;
        precise float y = p * z * x + x;
        return y;
    }
    float y;
    if (a > 4096.0) {
        y = log_accurate(a) + 0.6931472;
    } else {
        y = log1p_accurate(a + quotient(a * a, 1.0 + sqrt_accurate(a * a + 1.0)));
    }
    return with_sign(y, x);
}

float acosh_accurate(float x) {
    if (is_nan(x)) return x;
    if (x < 1.0) return NOT_A_NUMBER;
    if (x > 4096.0) return log_accurate(x) + 0.6931472;
    precise float t = x - 1.0;
    return log1p_accurate(t + sqrt_accurate(2.0 * t + t * t));
}

float atanh_accurate(float x) {
    float a = abs(x);
    if (is_nan(x) || a < 1e-6) return x;
    if (a >= 1.0) return a == 1.0 ? with_sign(INFINITY, x) : NOT_A_NUMBER;
    if (a <= 0.5) {
        float z = x * x;
        float p = 0.1846714;
        p = p * z + 0.017310629;
        p = p * z + 0.10514601;
        p = p * z + 0.10930681;
        p = p * z + 0.1429774;
        p = p * z + 0.19999623;
        p = p * z + 0.33333337;
        precise float y = p * z * x + x;
        return y;
    }
    return with_sign(0.5 * log1p_accurate(quotient(2.0 * a, 1.0 - a)), x);
}

// e^-|x + low|.
float exp_negative(float x, float low) {
    float a = abs(x);
    return a > 103.97208 ? 0.0 : exp_scaled(-a, x < 0.0 ? low : -low, 1.0, 0);
}

float sigmoid_of(float x, float low) {
    if (is_nan(x)) return x;
    float e = exp_negative(x, low);
    return quotient(x < 0.0 ? e : 1.0, 1.0 + e);
}

float softplus_of(float x, float low) {
    if (is_nan(x)) return x;
    return log1p_accurate(exp_negative(x, low)) + (x > 0.0 ? x : 0.0);
}

// A product's rounding error, if the product is far from the ends of the range.
float factor_error(float x, float factor, float product) {
    return abs(product) < 200.0 && abs(x) < 1e18 && abs(factor) < 1e18 ? product_error(x, factor, product) : 0.0;
}

float sigmoid(float x) {
    return sigmoid_of(x, 0.0);
}

float softplus(float x) {
    return softplus_of(x, 0.0);
}

float sigmoid_scaled(float x, float factor) {
    precise float product = x * factor;
    return sigmoid_of(product, factor_error(x, factor, product));
}

float softplus_scaled(float x, float factor) {
    precise float product = x * factor;
    return softplus_of(product, factor_error(x, factor, product));
}

// factor * erfc(t / sqrt 2) / 2 for t >= 0: e^(-t^2 / 2) times a function that varies slowly, a polynomial of
// u = 1 / (1 + t / 4) in two pieces.
float scaled_normal_tail(float t, float factor) {
    if (is_nan(t)) return t;
    if (t > 14.5) return 0.0 * factor;
    precise float s = 0.25 * t;
    precise float w = 1.0 + s;
    precise float w_low = s > 1.0 ? 1.0 - (w - s) : s - (w - 1.0);
    precise float u = 1.0 / w;
    precise float product = u * w;
    precise float u_low = (((1.0 - product) - product_error(u, w, product)) - u * w_low) / w;
    bool near = u >= 0.5;
    precise float d = u - (near ? 0.5 : 0.21875);
    precise float v = d + u_low;
    precise float v_low = u_low - (v - d);
    float p = near ? 0.06760146 : 0.0;
    p = p * v + (near ? -0.21857218 : 0.006829217);
    p = p * v + (near ? 0.11398455 : 0.07676363);
    p = p * v + (near ? 0.24433117 : 0.14995982);
    p = p * v + (near ? 0.49911964 : 0.19002765);
    p = p * v + (near ? 0.5731014 : 0.20594934);
    p = p * v + (near ? 0.49754575 : 0.19275604);
    p = p * v + (near ? 0.3407949 : 0.1610616);
    float rest = (near ? 0.3 + 2.6 * v : 0.16 + 0.65 * v) * v_low + (near ? -1.6795603e-9 : -3.1384945e-10);
    precise float slow = (near ? 0.09441064 : 0.027791087) + (p * v + rest);
    precise float square = t * t;
    return exp_scaled(-0.5 * square, -0.5 * product_error(t, t, square), slow * factor, 0);
}

float normal_tail(float t) {
    return scaled_normal_tail(t, 1.0);
}

float erf_accurate(float x) {
    float a = abs(x);
    if (is_nan(x)) return x;
    if (a > 1.0) return with_sign(1.0 - 2.0 * normal_tail(min(a, 10.0) * 1.4142135), x);
    if (a < 1e-6) return x * 1.1283792;
    float z = x * x;
    float p = 7.806903e-5;
    p = p * z - 7.997853e-4;
    p = p * z + 5.187162e-3;
    p = p * z - 2.6853347e-2;
    p = p * z + 0.11283579;
    p = p * z - 0.37612626;
    p = p * z + 0.12837917;
    precise float y = p * x + x;
    return y;
}

float gelu(float x) {
    if (is_nan(x)) return x;
    if (is_inf(x)) return x > 0.0 ? x : -0.0;
    float tail = scaled_normal_tail(abs(x), x < 0.0 ? x : 1.0);
    return x < 0.0 ? tail : x * (1.0 - tail);
}
