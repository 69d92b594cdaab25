// The lists that "pooling/roi_places.comp" makes.
#define OUTSIDE 0xffffffffu

// The sampled positions of an output along an axis: the first word of their list, their number, and the number of
// samples.
struct Places {
    uint begin;
    uint count;
    float samples;
};

struct Place {
    Tap tap;
    uint third;
    float along;
};

uint places_word(uint roi, uint at) { return places_load(places_at(uint[2](roi, at))); }

// Axis 0 is y, axis 1 is x.
Places places_of(uint roi, uint axis, uint o) {
    uint at = 3u * (axis * OUT_2 + o);
    return Places(places_word(roi, at), places_word(roi, at + 1u), uintBitsToFloat(places_word(roi, at + 2u)));
}

Tap place_tap(uint roi, uint at) {
    uint low = places_word(roi, at);
    float weight = uintBitsToFloat(places_word(roi, at + 1u));
    return Tap(low, low + (weight > 0.0 ? 1u : 0u), weight, low != OUTSIDE);
}

float place_samples(uint roi, uint at) { return uintBitsToFloat(places_word(roi, at + 2u)); }
float place_along(uint roi, uint at) { return uintBitsToFloat(places_word(roi, at + 3u)); }

#ifdef PART
// The ranges of the two lists that this dispatch reads, {y from, y to, x from, x to}: part PART of PARTS_Y x PARTS_X.
// If the lists are short enough for one dispatch (LIGHT steps), part 0 is the whole and the others are empty.
uvec4 part_of(Places y, Places x) {
    if (PARTS_Y * PARTS_X == 1u || float(x.count) * float(y.count + 2u) <= float(LIGHT))
        return PART == 0u ? uvec4(0u, y.count, 0u, x.count) : uvec4(0u);
    uint row = PART / PARTS_X, column = PART % PARTS_X;
    uint rows = (y.count + PARTS_Y - 1u) / PARTS_Y, columns = (x.count + PARTS_X - 1u) / PARTS_X;
    return uvec4(min(row * rows, y.count), min((row + 1u) * rows, y.count), min(column * columns, x.count),
                 min((column + 1u) * columns, x.count));
}
#endif
