// Winograd's F(4x4, 3x3): 4 x 4 adjacent results of a 3 x 3 window from 36 products. Along each axis, input and window
// are polynomials that are multiplied at the points 0, 1, -1, 2, -2 and infinity. Each function transforms one axis.

// Replaces six adjacent elements of the input by their values at the six points.
void input_points(inout float a, inout float b, inout float c, inout float d, inout float e, inout float f) {
    float even = e - 4.0 * c, odd = d - 4.0 * b, near = e - c, far = 2.0 * (d - b);
    a = 4.0 * a - 5.0 * c + e;
    f = 4.0 * b - 5.0 * d + f;
    b = even + odd;
    c = even - odd;
    d = near + far;
    e = near - far;
}

// Evaluates three adjacent elements of the window at the six points.
float[6] window_points(float a, float b, float c) {
    float near = (a + c) * (-1.0 / 6.0), far = a * (1.0 / 24.0) + c * (1.0 / 6.0);
    float one = b * (1.0 / 6.0), two = b * (1.0 / 12.0);
    return float[6](a * 0.25, near - one, near + one, far + two, far - two, c);
}

// Returns four adjacent results from a product's values at the six points.
vec4 results(float a, float b, float c, float d, float e, float f) {
    float even = b + c, odd = b - c, far = d + e, apart = d - e;
    return vec4(a + even + far, odd + 2.0 * apart, even + 4.0 * far, odd + 8.0 * apart + f);
}
