#version 450
// Element i, counted in row-major order, is START + i * DELTA.
#include "prelude.glsl"

#ifdef result_IS_FLOAT
bool finite(float x) { return (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u; }

// START + i * DELTA with about one rounding; float(i) * DELTA would lose low bits. i and DELTA are split into parts of
// at most 12 bits, whose products are exact. Their sums' rounding errors (by Knuth's two-sum) are summed separately and
// added at the end.
float value(uint c[RANK]) {
    uint i = position(c);
    if (!finite(START) || !finite(DELTA)) return START + float(i) * DELTA;
    float d_high = uintBitsToFloat(floatBitsToUint(DELTA) & 0xfffff000u);
    precise float d_low = DELTA - d_high;
    float i_high = float(i & 0xfff00000u);
    float i_middle = float(i & 0x000ffc00u);
    float i_low = float(i & 0x000003ffu);
    precise float parts[6] = float[6](
        i_high * d_high, i_middle * d_high, i_low * d_high, i_high * d_low, i_middle * d_low, i_low * d_low);
    precise float sum = START;
    precise float rest = 0.0;
    for (uint k = 0u; k < 6u; ++k) {
        precise float next = sum + parts[k];
        precise float added = next - sum;
        precise float lost = (sum - (next - added)) + (parts[k] - added);
        rest += lost;
        sum = next;
    }
    precise float total = sum + rest;
    return finite(sum) ? total : sum;
}
#elif defined(result_IS_UINT64)
uvec2 value(uint c[RANK]) {
    uint i = position(c);
    uvec2 d = delta();
    uvec2 product;
    umulExtended(i, d.x, product.y, product.x);
    product.y += i * d.y;
    uint carry;
    uint low = uaddCarry(start().x, product.x, carry);
    return uvec2(low, start().y + product.y + carry);
}
#else
uint value(uint c[RANK]) { return start() + position(c) * delta(); }
#endif

#include "lib/for_each.glsl"
