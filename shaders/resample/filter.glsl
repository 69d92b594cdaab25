#include "lib/math.glsl"
// Where an output element stands in the input, and what each input element weighs there. round_position, from the
// generated prelude, is the rounding of the nearest neighbour.
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
    return uint(clamp(round_position(x), 0.0, float(size - 1u)));
}

// The first and the last element less than `reach` away from x; elements outside of the input stand for the edges.
ivec2 taps(inout float x, float reach, uint size) {
    // Past the edges a filter sees nothing but the edge.
    x = clamp(x, -reach, float(size - 1u) + reach);
    return ivec2(int(floor(x - reach)) + 1, int(ceil(x + reach)) - 1);
}

float weight(float x, float slope, int i) {
    float w = 1.0 - abs(float(i) - x) * slope;
    return w > 0.0 ? w : 0.0;
}

// What the weights of all taps add up to.
float total_weight(float x, float slope, ivec2 range) {
    float total = 0.0;
    for (int i = range.x; i <= range.y; ++i) total += weight(x, slope, i);
    return total;
}

// The two neighbours of x.
struct Pair {
    uvec2 element;
    vec2 weight;
};

Pair pair(float x, uint size) {
    x = clamp(x, 0.0, float(size - 1u));
    float low = floor(x);
    uint i = uint(low);
    return Pair(uvec2(i, min(i + 1u, size - 1u)), vec2(1.0 - (x - low), x - low));
}

float term(float weight, float value) {
    return weight == 0.0 ? 0.0 : weight * value;
}

// An 8-bit result: its whole part, as in CAST. Float32 sums that miss a whole number by a hair count as that number.
int whole(float v) {
    float near = roundEven(v);
    return int(abs(v - near) < 0.001 ? near : trunc(v));
}

#define finish(v) result_VALUE(whole(v))

// --- gradients

// The outputs between which an input element's share can be other than zero; the edge elements also have all beyond.
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
    return weight(clamp(x, 0.0, float(size - 1u)), 1.0, int(i));
}
