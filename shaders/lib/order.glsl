// Keys: unsigned integers that compare as the values do (64-bit keys: high word first). NaN comes after infinity, and
// the zeros are equal.
uint order_float(float x) {
    uint bits = floatBitsToUint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0xffffffffu;
    if ((bits & 0x7fffffffu) == 0u) return 0x80000000u;
    return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}

uint order_int(int x) { return uint(x) ^ 0x80000000u; }
uint order_uint(uint x) { return x; }
uvec2 order_int64(uvec2 x) { return uvec2(x.x, x.y ^ 0x80000000u); }
uvec2 order_uint64(uvec2 x) { return x; }
