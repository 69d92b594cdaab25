#include "lib/math.glsl"
// The position in the input at which an output element is sampled, and the weights of the input elements there.
// round_position(x), from the generated prelude, rounds a position to the nearest element.
float position(uint element, float scale, float input_offset, float output_offset) {
    precise float from_start = float(element) - output_offset;
    precise float x = (scale == 1.0 ? from_start : divide(from_start, scale)) - input_offset;
    return x;
}

float over_power(uint element, float reciprocal_scale, float input_offset, float output_offset) {
    precise float x = (float(element) - output_offset) * reciprocal_scale - input_offset;
    return x;
}

uint nearest(float x, uint size) {
    return min(uint(clamp(round_position(x), 0.0, float(size - 1u))), size - 1u);
}

float weight(float x, float slope, float i) {
    float w = 1.0 - abs(i - x) * slope;
    return w > 0.0 ? w : 0.0;
}

// The sum of the weights of the elements from `first` to `last`: two arithmetic series, one rising up to x and one
// falling after it.
float total_weight(float x, float slope, float first, float last) {
    float middle = floor(x);
    float below = min(last, middle) - first + 1.0;
    float above = last - max(first, middle + 1.0) + 1.0;
    float total = 0.0;
    if (below > 0.0) total += 0.5 * below * (weight(x, slope, first) + weight(x, slope, min(last, middle)));
    if (above > 0.0) total += 0.5 * above * (weight(x, slope, max(first, middle + 1.0)) + weight(x, slope, last));
    return total;
}

// A stretched filter at x: the range of input elements that it covers, and additional weights of the input's first and
// last elements, which repeat beyond the edges.
struct Wide {
    uvec2 range;
    vec2 edges;
    float total;
};

Wide wide(inout float x, float slope, uint size) {
    float reach = 1.0 / slope;
    float end = float(size - 1u);
    // A filter further out than this covers only copies of the edge element.
    x = clamp(x, -reach, end + reach);
    float first = floor(x - reach) + 1.0;
    float last = ceil(x + reach) - 1.0;
    Wide seen;
    seen.range = min(uvec2(uint(clamp(first, 0.0, end)), uint(clamp(last, 0.0, end))), uvec2(size - 1u));
    seen.edges.x = total_weight(x, slope, first, min(last, -1.0));
    seen.edges.y = total_weight(x, slope, max(first, end + 1.0), last);
    seen.total = total_weight(x, slope, first, last);
    return seen;
}

float wide_weight(Wide seen, float x, float slope, uint i, uint size) {
    float w = weight(x, slope, float(i));
    if (i == 0u) w += seen.edges.x;
    if (i == size - 1u) w += seen.edges.y;
    return w / seen.total;
}

// The elements on both sides of x, and their weights.
struct Pair {
    uvec2 element;
    vec2 weight;
};

Pair pair(float x, uint size) {
    x = clamp(x, 0.0, float(size - 1u));
    float low = floor(x);
    uint i = min(uint(low), size - 1u);
    return Pair(uvec2(i, min(i + 1u, size - 1u)), vec2(1.0 - (x - low), x - low));
}

float term(float weight, float value) {
    return weight == 0.0 ? 0.0 : weight * value;
}

// An 8-bit result is truncated, as in CAST. A sum within 0.001 of an integer counts as that integer: rounding to
// float32 (by up to 2^-17 in an addition, below 256) may have put it just below.
int whole(float v) {
    float near = roundEven(v);
    return int(abs(v - near) < 0.001 ? near : trunc(v));
}

#define finish(v) result_VALUE(whole(v))

// --- gradients

// The first and the last output that an input element may contribute to. An edge element also contributes to outputs
// beyond the edge.
uvec2 outputs_of(uint i, float scale, float input_offset, float output_offset, uint inputs, uint outputs) {
    float last = float(outputs - 1u);
    float low = floor((float(i) - 1.0 + input_offset) * scale + output_offset) - 1.0;
    float high = ceil((float(i) + 1.0 + input_offset) * scale + output_offset) + 1.0;
    return uvec2(i == 0u ? 0u : uint(clamp(low, 0.0, last)),
                 i + 1u == inputs ? outputs - 1u : uint(clamp(high, 0.0, last)));
}

float nearest_share(float x, uint i, uint size) {
    return nearest(x, size) == i ? 1.0 : 0.0;
}

float linear_share(float x, uint i, uint size) {
    return weight(clamp(x, 0.0, float(size - 1u)), 1.0, float(i));
}
