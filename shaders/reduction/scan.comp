#version 450
#extension GL_EXT_control_flow_attributes : require
#if SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
// The running combination (a sum or a product) along the last dimension of x. Each line is cut into CHUNKS; LANES
// adjacent invocations of a workgroup share a chunk, ITEMS elements each at a time. TOTALS: only compute the
// combination of each chunk. OFFSETS: `offsets` holds the combination of all elements before each chunk. Each element
// is read before its position is written, so y may be x.
//
// VECTORS: the ITEMS are a whole number of vectors of 16 bytes, which load_items() and store_items() move; chunks and
// lines are multiples of them. SUBGROUP: as in "lib/subgroups.glsl".
//
// COMPENSATED: the running total includes the rounding errors of its additions, so that long sums stay exact to a few
// ulp.
#include "prelude.glsl"
#include "lib/scan_lanes.glsl"

#if LANES > 1
LANES_SCAN(lanes_scan, ACC, combine)
#endif

#if COMPENSATED
#define CARRY vec2
CARRY carry_of(float a) { return vec2(a, 0.0); }
float value_of(CARRY a) { return a.x + a.y; }
CARRY extend(CARRY a, float b) {
    precise float sum = a.x + b;
    precise float part = sum - a.x;
    precise float lost = (a.x - (sum - part)) + (b - part);
    // If the sum is infinite or NaN, so is the error, and adding it would turn an infinity into NaN.
    return vec2(sum, abs(sum) <= 3.4028235e38 ? a.y + lost : 0.0);
}
#else
#define CARRY ACC
#define carry_of(a) a
#define value_of(a) a
#define extend(a, b) combine(a, b)
#endif

void main() {
    uint slot = workgroup_index() * (WORKGROUP / LANES) + place() / LANES;
    uint lane = place() % LANES;
    bool inside = slot < LINES * CHUNKS;
    uint chunk = inside ? divided(slot, LINES_DIVISOR) : 0u;
    uint line = inside ? slot - chunk * LINES : 0u;
    uint c[x_RANK];
    line_coordinates(line, c);

    uint begin = chunk * CHUNK;
    uint end = min(begin + CHUNK, LENGTH);
#if OFFSETS
    CARRY carry = carry_of(offsets_load(line * CHUNKS + chunk));
#else
    CARRY carry = carry_of(IDENTITY);
#endif
    // All chunks run the same number of rounds, although the last may be shorter: all invocations must reach the
    // barriers.
    for (uint tile = begin; tile < begin + CHUNK; tile += LANES * ITEMS) {
        ACC v[ITEMS];
        uint first = tile + lane * ITEMS;
#if VECTORS
        for (uint k = 0u; k < ITEMS; ++k) v[k] = IDENTITY;
        if (first < end) {
            c[x_RANK - 1u] = BACKWARDS ? LENGTH - ITEMS - first : first;
            load_items(x_at(c), v);
        }
        for (uint k = 1u; k < ITEMS; ++k) v[k] = combine(v[k - 1u], v[k]);
#else
        for (uint k = 0u; k < ITEMS; ++k) {
            v[k] = IDENTITY;
            if (first + k < end) {
                c[x_RANK - 1u] = BACKWARDS ? LENGTH - 1u - (first + k) : first + k;
                v[k] = x_load(x_at(c));
            }
            if (k > 0u) v[k] = combine(v[k - 1u], v[k]);
        }
#endif
#if LANES > 1
        ACC total;
        ACC before = lanes_scan(v[ITEMS - 1], IDENTITY, lane, total);
#else
        ACC total = v[ITEMS - 1];
        ACC before = IDENTITY;
#endif
#if VECTORS && !TOTALS
        if (inside && first < end) {
            [[unroll]] for (uint k = ITEMS; k > 0u; --k) {
                ACC own = EXCLUSIVE ? (k > 1u ? combine(before, v[max(k, 2u) - 2u]) : before) : combine(before, v[k - 1u]);
                v[k - 1u] = value_of(extend(carry, own));
            }
            c[x_RANK - 1u] = BACKWARDS ? LENGTH - ITEMS - first : first;
            store_items(y_at(c), v);
        }
#elif !TOTALS
        for (uint k = 0u; k < ITEMS; ++k) {
            if (!inside || first + k >= end) break;
            c[x_RANK - 1u] = BACKWARDS ? LENGTH - 1u - (first + k) : first + k;
            ACC own = EXCLUSIVE ? (k > 0u ? combine(before, v[max(k, 1u) - 1u]) : before) : combine(before, v[k]);
            y_store(y_at(c), value_of(extend(carry, own)));
        }
#endif
        carry = extend(carry, total);
    }
#if TOTALS
    if (inside && lane == 0u) totals_store(line * CHUNKS + chunk, value_of(carry));
#endif
}
