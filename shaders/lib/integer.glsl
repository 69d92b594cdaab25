// 32-bit integers: division with every case defined, powers, and conversions from and to float. Narrower types are
// computed as 32-bit ones and wrap when stored.

// A zero divisor makes quotient and remainder all ones, as in Direct3D's udiv.
uint divide_uint(uint a, uint b) {
    return b == 0u ? 0xffffffffu : a / b;
}

uint modulus_uint(uint a, uint b) {
    return b == 0u ? 0xffffffffu : a % b;
}

// Divisions work on magnitudes: the quotient of the lowest number and -1 wraps instead of trapping.
uint magnitude(int a) {
    return a < 0 ? 0u - uint(a) : uint(a);
}

int divide_int(int a, int b) {
    if (b == 0) return -1;
    uint q = magnitude(a) / magnitude(b);
    return int((a < 0) != (b < 0) ? 0u - q : q);
}

int modulus_truncate_int(int a, int b) {
    if (b == 0) return -1;
    uint r = magnitude(a) % magnitude(b);
    return int(a < 0 ? 0u - r : r);
}

int modulus_floor_int(int a, int b) {
    int r = modulus_truncate_int(a, b);
    return b != 0 && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

uint shift_left(uint a, uint n) {
    return n < 32u ? a << n : 0u;
}

uint shift_right(uint a, uint n) {
    return n < 32u ? a >> n : 0u;
}

// x^n modulo 2^32, the same bits for both signs of x.
uint power_uint(uint x, uint n) {
    uint y = 1u;
    for (; n != 0u; n >>= 1) {
        if ((n & 1u) != 0u) y *= x;
        x *= x;
    }
    return y;
}

// For negative exponents, x^-n = 1 / x^n by integer division.
uint power_uint(uint x, int n) {
    if (n >= 0) return power_uint(x, uint(n));
    return x == 0u ? 0xffffffffu : x == 1u ? 1u : 0u;
}

int power_int(int x, uint n) {
    return int(power_uint(uint(x), n));
}

int power_int(int x, int n) {
    if (n >= 0) return power_int(x, uint(n));
    if (x == -1) return (n & 1) != 0 ? -1 : 1;
    return x == 0 ? -1 : x == 1 ? 1 : 0;
}

// Truncates and saturates; NaN gives zero.
int int_of_float(float x) {
    if ((floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u) return 0;
    return x >= 2147483648.0 ? 0x7fffffff : x < -2147483648.0 ? int(0x80000000u) : int(x);
}

uint uint_of_float(float x) {
    if ((floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u || x < 0.0) return 0u;
    return x >= 4294967296.0 ? 0xffffffffu : uint(x);
}

// Returns a - b as the nearest float, exact up to 24 bits.
float difference_int(int a, int b) {
    uint d = uint(a) - uint(b);
    return a >= b ? float(d) : -float(0u - d);
}

float difference_uint(uint a, uint b) {
    return a >= b ? float(a - b) : -float(b - a);
}

// Returns (a + b) / 2 without overflow, truncated.
int mean_int(int a, int b) {
    int floored = (a & b) + ((a ^ b) >> 1);
    return floored < 0 && ((a ^ b) & 1) != 0 ? floored + 1 : floored;
}
