// Functions that every device answers alike, to 4 ulp where nothing else is said: from additions, multiplications and
// bit operations, since Vulkan promises less of its built-ins.

// e^x. Cody-Waite reduction by ln 2, then a polynomial.
float exp_accurate(float x) {
    if (isnan(x)) return x;
    if (x > 88.72284) return uintBitsToFloat(0x7f800000u);
    if (x < -103.972084) return 0.0;
    float n = roundEven(x * 1.44269504);
    precise float high = x - n * 0.693359375;
    precise float r = high + n * 2.12194440e-4;
    float p = 1.9875691500e-4;
    p = p * r + 1.3981999507e-3;
    p = p * r + 8.3334519073e-3;
    p = p * r + 4.1665795894e-2;
    p = p * r + 1.6666665459e-1;
    p = p * r + 5.0000001201e-1;
    float y = p * (r * r) + r + 1.0;
    // 2^n in two steps, so that results near the ends of the range do not overflow on the way.
    int half_n = int(n) / 2;
    return y * uintBitsToFloat(uint(half_n + 127) << 23) * uintBitsToFloat(uint(int(n) - half_n + 127) << 23);
}

float sigmoid(float x) {
    float e = exp_accurate(-abs(x));
    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

float tanh_accurate(float x) {
    float a = abs(x);
    if (a < 0.625) {
        float s = x * x;
        float p = -5.70498872745e-3;
        p = p * s + 2.06390887954e-2;
        p = p * s - 5.37397155531e-2;
        p = p * s + 1.33314422036e-1;
        p = p * s - 3.33332819422e-1;
        return p * s * x + x;
    }
    float y = 1.0 - 2.0 / (exp_accurate(2.0 * a) + 1.0);
    return x < 0.0 ? -y : y;
}
