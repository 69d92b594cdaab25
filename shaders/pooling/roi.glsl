// Sampling of regions of interest. `regions` is {ROIs, 4}: x1, y1, x2, y2; `batches` {ROIs}. The kernel has the
// constants OUT_2 and OUT_3, IN_2 and IN_3: the pooled and the input sizes, height (dimension 2) and width (3).
#include "lib/math.glsl"

// One axis of a region: its samples per output, and the parameters of coordinate(). Axis 2 is y, axis 3 is x.
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
    uint wanted = samples >= 4294967296.0 ? 0xffffffffu : samples > 0.0 ? uint(samples) : 0u;
    return Axis(from, size, clamp(wanted, MINIMUM, MAXIMUM), outputs);
}

// Returns the number of output o's sample i among the region's samples, as a float: there may be more than 2^32.
float number(Axis a, uint o, uint i) { return float(o) * float(a.samples) + float(i); }
float all_of(Axis a) { return float(a.samples) * float(a.outputs); }

// Returns a sample's position along the region, from 0 to 1. With ALIGN, the first and the last are at the region's
// ends.
float along(Axis a, uint o, uint i) {
    float all = all_of(a);
    if (!ALIGN) return quotient(number(a, o, i) - OUTPUT_OFFSET, all);
    return all == 1.0 ? 0.5 : quotient(number(a, o, i), all - 1.0);
}

float coordinate(Axis a, uint o, uint i) {
    float all = all_of(a);
    float moved;
    // Multiplies before dividing, so that a sample exactly between two elements is computed exactly.
    if (!ALIGN) moved = quotient((number(a, o, i) - OUTPUT_OFFSET) * a.size, all);
    else moved = all == 1.0 ? 0.5 * a.size : quotient(number(a, o, i) * a.size, all - 1.0);
    return moved + a.from - INPUT_OFFSET;
}
