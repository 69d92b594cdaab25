// Samples of the image in a region: `source` is {N, C, height, width}; `batches` {ROIs} are the regions' batch indices.
#include "lib/math.glsl"

// The two elements around a coordinate and the weight of the second; none if it is more than an element outside.
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

// Returns the weight of element i in a tap.
float weight_of(Tap t, uint i) { return t.low == i ? 1.0 - t.weight : t.high == i ? t.weight : 0.0; }

#ifdef batches_VALUE
uint batch_of(uint roi) {
    uint r[1] = uint[1](roi);
#ifdef batches_IS_UINT64
    return batches_load(batches_at(r)).x;
#else
    return batches_load(batches_at(r));
#endif
}
#endif

#if defined(batches_VALUE) && defined(source_VALUE)
// Returns the place of a region's image in `source`; IN_PARTS has some of IMAGES, from FIRST_IMAGE on.
uint image_of(uint roi) {
#ifdef IN_PARTS
    return min(batch_of(roi), IMAGES - 1u) - FIRST_IMAGE;
#else
    return min(batch_of(roi), source_SIZE_0 - 1u);
#endif
}
#endif

#ifdef source_VALUE
float blend(float a, float b, float weight) { return weight == 0.0 ? a : (1.0 - weight) * a + weight * b; }

// Returns the four elements around a sample: top left, top right, bottom left, bottom right.
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
