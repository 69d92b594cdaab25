#version 450
// Lists the positions (places) at which the outputs of each region are sampled along an axis; row `roi` of `places` is
// the list of a region. The row begins with three words per output: the start of its list, its number of places, and
// its number of samples, as a float. A place is four words: the tap's lower element, or OUTSIDE; the upper element's
// weight; the sample's number (EXTREMES), else the number of samples that the place replaces, as a float; its position
// along the region.
//
// All samples in one cell (between the same two elements) become one place, their mean position: interpolation is
// linear there, so the sum of the samples is their number times the value at that position. EXTREMES, for the maximum,
// keeps the first and the last sample of a cell, one of which is the largest. So the length of a list is bounded by the
// input's size, regardless of the number of samples.
//
// A dispatch adds AT_ONCE places to each list. Until the last dispatch writes an output's number of samples, that word
// holds the sample at which the next dispatch continues.
#include "prelude.glsl"
#include "pooling/roi.glsl"
#include "pooling/tap.glsl"
#include "pooling/places.glsl"

// Maps a coordinate to its cell: an interval in which a tap's weights are linear in the coordinate (between two
// elements, or, with NEAREST, the range that rounds to one element). Cells are -1 to `size`; -2 and size + 1 mean
// outside. ON_ELEMENTS: an exact integer coordinate is a separate cell (a whole number); the intervals between are n
// + 0.5.
float cell(float x, uint size) {
    if (!(x >= -1.0)) return -2.0;
    if (x > float(size)) return float(size + 1u);
#if ON_ELEMENTS
    return 0.5 * (floor(x) + ceil(x));
#else
    return NEAREST ? ceil(x - 0.5) : floor(x);
#endif
}

float cell_of(Axis a, uint o, uint i, uint size) { return cell(coordinate(a, o, i), size); }

// Returns the first sample after `first` that lies outside cell k, the cell of `first`. Coordinates are monotonic in
// the samples.
uint leave(Axis a, uint o, uint first, float k, uint size) {
#if ON_ELEMENTS
    float edge = a.size >= 0.0 ? ceil(k) : floor(k);
#else
    float edge = (a.size >= 0.0 ? k + 1.0 : k) - (NEAREST ? 0.5 : 0.0);
#endif
    edge = clamp(edge, -1.0, float(size)) - a.from + INPUT_OFFSET;
    float guess = quotient(edge * (ALIGN ? all_of(a) - 1.0 : all_of(a)), a.size) + (ALIGN ? 0.0 : OUTPUT_OFFSET);
    guess -= float(o) * float(a.samples);

    // The sought sample is above `low` and at most `high`. The search probes the next sample, the last one, and the
    // guess; then it doubles its steps away from the guess, up to the middle of the remaining range.
    uint low = first, high = a.samples, step = 1u;
    bool below = false;
    for (uint probes = 0u; high - low > 1u; ++probes) {
        uint stride = min(step, (high - low) / 2u);
        uint at = below ? high - stride : low + stride;
        if (probes == 0u) at = low + 1u;
        else if (probes == 1u) at = high - 1u;
        else if (probes == 2u) at = guess < float(high) ? guess > float(low) ? uint(guess) : low : high;
        else step = min(2u * step, 0x40000000u);
        at = clamp(at, low + 1u, high - 1u);
        float found = cell_of(a, o, at, size);
        bool passed = a.size >= 0.0 ? found > k : found < k;
        if (probes == 2u) below = passed;
        if (passed) high = at;
        else low = at;
    }
    return high;
}

void put(uint roi, uint at, Tap t, uint third, float far) {
    uint w = places_at(uint[2](roi, at));
    places_store(w, t.inside ? t.low : OUTSIDE);
    places_store(w + 1u, floatBitsToUint(t.weight));
    places_store(w + 2u, third);
    places_store(w + 3u, floatBitsToUint(far));
}

void main() {
    uint unit = global_index();
    if (unit >= COUNT) return;
    uint c[RANK];
    coordinates(unit, c);
    bool across = c[1] >= OUT_2;
    uint o = across ? c[1] - OUT_2 : c[1], size = across ? IN_3 : IN_2;
    Axis a = region_axis(c[0], across ? 3u : 2u);

    // This list begins after the space reserved for the places of earlier outputs.
    uint room = MAXIMUM, begin = o * MAXIMUM;
    if (across ? CELLS_3 : CELLS_2) {
        float here = cell_of(a, o, 0u, size), from = cell_of(a, 0u, 0u, size), to = cell_of(a, o, a.samples - 1u, size);
        begin = uint(abs(here - from) * PER_CELL) + o * PER_OUTPUT;
        room = uint(abs(to - here) * PER_CELL) + PER_OUTPUT;
    }
    begin = 4u * begin + (across ? LISTS_3 : LISTS_2);
    uint w = places_at(uint[2](c[0], 3u * c[1])), found = 0u, i = 0u;
#if !IS_FIRST
    found = places_load(w + 1u);
    i = places_load(w + 2u);
#endif
    for (uint k = 0u; k < AT_ONCE && i < a.samples; ++k) {
        float x = coordinate(a, o, i);
        Tap t = tap(x, size, NEAREST);
        uint next = found + 1u < room ? leave(a, o, i, cell(x, size), size) : a.samples;
        uint last = next - 1u;
#if EXTREMES
        put(c[0], begin + 4u * found, t, i, 0.0);
        ++found;
        if (last > i && found < room) {
            put(c[0], begin + 4u * found, tap(coordinate(a, o, last), size, NEAREST), last, 0.0);
            ++found;
        }
#else
        if (t.inside && !NEAREST && x >= 0.0 && x < float(size - 1u)) {
            float other = coordinate(a, o, last) - float(t.low);
            t.weight = 0.5 * (t.weight + clamp(other, 0.0, 1.0));
        }
        float far = 0.5 * (along(a, o, i) + along(a, o, last));
        put(c[0], begin + 4u * found, t, floatBitsToUint(float(next - i)), far);
        ++found;
#endif
        i = next;
    }
    places_store(w, begin);
    places_store(w + 1u, found);
#if IS_LAST
    places_store(w + 2u, floatBitsToUint(float(a.samples)));
#else
    places_store(w + 2u, i);
#endif
}
