// Where a region of interest is sampled. `regions` is {ROIs, 4}: x1, y1, x2, y2; `batches` {ROIs}. The kernel has the
// constants OUT_2 and OUT_3, IN_2 and IN_3: the pooled and the input sizes, height (dimension 2) and width (3).
#include "lib/math.glsl"

// One axis of a region: its samples per output, and what coordinate() needs. Axis 2 is y, 3 is x.
struct Axis {
    float from;
    float size;
    uint samples;
    uint outputs;
};

Axis region_axis(uint roi, uint dimension) {
    uint r[2] = uint[2](roi, 3u - dimension);
    float scale = dimension == 3u ? SCALE_X : SCALE_Y;
    uint outputs = dimension == 3u ? OUT_3 : OUT_2;
    float from = regions_load(regions_at(r)) * scale;
    r[1] += 2u;
    float size = regions_load(regions_at(r)) * scale - from;
    // An inverted region is as long as its mirror image; NaN counts as 0.
    float samples = ceil(divide(abs(size), float(outputs)));
    uint wanted = samples >= float(MOST) ? MOST : samples > 0.0 ? uint(samples) : 0u;
    return Axis(from, size, min(clamp(wanted, MINIMUM, MAXIMUM), MOST), outputs);
}

// How far along the region sample s lies, from 0 to 1. Aligned to corners, the first and the last lie at its ends.
float along(Axis a, uint s) {
    uint all = a.samples * a.outputs;
    if (!ALIGN) return divide(float(s) - OUTPUT_OFFSET, float(all));
    return all == 1u ? 0.5 : divide(float(s), float(all - 1u));
}

float coordinate(Axis a, uint s) {
    uint all = a.samples * a.outputs;
    float moved;
    // Multiplied first: samples that lie in the middle between two elements do so exactly.
    if (!ALIGN) moved = divide((float(s) - OUTPUT_OFFSET) * a.size, float(all));
    else moved = all == 1u ? 0.5 * a.size : divide(float(s) * a.size, float(all - 1u));
    return moved + a.from - INPUT_OFFSET;
}

// The two neighbours of a coordinate and the second one's weight; none where it lies more than an element outside.
struct Tap {
    uint low;
    uint high;
    float weight;
    bool inside;
};

Tap tap(float x, uint size, bool nearest) {
    if (!(x >= -1.0 && x <= float(size))) return Tap(0u, 0u, 0.0, false);
    x = clamp(x, 0.0, float(size - 1u));
    float low = nearest ? max(ceil(x - 0.5), 0.0) : floor(x);
    float weight = nearest ? 0.0 : x - low;
    return Tap(uint(low), uint(low) + (weight > 0.0 ? 1u : 0u), weight, true);
}

// What element i weighs in a tap.
float weight_of(Tap t, uint i) { return t.low == i ? 1.0 - t.weight : t.high == i ? t.weight : 0.0; }

uint batch_of(uint roi) {
    uint r[1] = uint[1](roi);
#ifdef batches_IS_UINT64
    return batches_load(batches_at(r)).x;
#else
    return batches_load(batches_at(r));
#endif
}

#ifdef source_VALUE
float blend(float a, float b, float weight) { return weight == 0.0 ? a : (1.0 - weight) * a + weight * b; }

// The input's four neighbours of a sample: top left, top right, bottom left, bottom right.
vec4 corners(uint batch, uint channel, Tap y, Tap x) {
    uint p[4] = uint[4](batch, channel, y.low, x.low);
    vec4 found;
    found.x = source_load(source_at(p));
    p[3] = x.high;
    found.y = source_load(source_at(p));
    p[2] = y.high;
    found.w = source_load(source_at(p));
    p[3] = x.low;
    found.z = source_load(source_at(p));
    return found;
}

float sample_at(uint batch, uint channel, Tap y, Tap x) {
    if (!(y.inside && x.inside)) return OUT_OF_BOUNDS;
    vec4 v = corners(batch, channel, y, x);
    return blend(blend(v.x, v.y, x.weight), blend(v.z, v.w, x.weight), y.weight);
}
#endif
