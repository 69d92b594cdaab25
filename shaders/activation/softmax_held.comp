#version 450
#extension GL_EXT_control_flow_attributes : require
#if SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
// Softmax or its logarithm as in "softmax.comp", with rows held in registers: read once, written once. LANES adjacent
// invocations share a row, each with up to STEPS steps of UNIT elements. OF_HALVES: y is FLOAT16 and LOG is 0.
#include "prelude.glsl"
#include "lib/math.glsl"
#include "lib/reduce.glsl"
#include "lib/reduce_lanes.glsl"

#if OF_HALVES
#define POWER exp_of_half
#else
#define POWER exp_nonpositive
#endif

#if LANES > 1
LANES_REDUCTION(lanes_max, float, reduce_max)
LANES_REDUCTION(lanes_sum, float, REDUCE_ADD)
#endif

void main() {
    uint slot = workgroup_index() * (WORKGROUP / LANES) + place() / LANES;
    uint lane = place() % LANES;
    bool inside = slot < ROWS;
    uint c[x_RANK];
    c[x_RANK - 1u] = 0u;
    row_coordinates(min(slot, ROWS - 1u), c);
    uint from = x_at(c), to = y_at(c), end = inside ? LENGTH : 0u;

    float v[STEPS][UNIT];
    [[unroll]] for (uint step = 0u; step < STEPS; ++step) {
        [[unroll]] for (uint k = 0u; k < UNIT; ++k) v[step][k] = uintBitsToFloat(0xff800000u);
        uint at = (step * LANES + lane) * UNIT;
        if (at < end) load_step(from + at, v[step]);
    }
    float most = uintBitsToFloat(0xff800000u);
    [[unroll]] for (uint step = 0u; step < STEPS; ++step) {
        [[unroll]] for (uint k = 0u; k < UNIT; ++k) most = reduce_max(most, v[step][k]);
    }
#if LANES > 1
    most = lanes_max(most, lane);
#endif
    float total = 0.0;
    [[unroll]] for (uint step = 0u; step < STEPS; ++step) {
        float part = 0.0;
        [[unroll]] for (uint k = 0u; k < UNIT; ++k) {
            float power = POWER(v[step][k] - most);
            part += power;
#if !LOG
            v[step][k] = power;
#endif
        }
        // Elements after the row would be exp(-infinity) = 0, but undefined if the whole row is -infinity: never add
        // them.
        if ((step * LANES + lane) * UNIT < end) total += part;
    }
#if LANES > 1
    total = lanes_sum(total, lane);
#endif
    // exp_nonpositive() is undefined for NaN. If the row has a NaN or +infinity, so has `most`, the row's maximum, and
    // every result is NaN.
    bool finite = !is_nan(most) && !is_inf(most);
#if LOG
    float shift = finite ? log_accurate(total) : NOT_A_NUMBER;
#else
    float scale = finite ? reciprocal(total) : NOT_A_NUMBER;
#endif
    [[unroll]] for (uint step = 0u; step < STEPS; ++step) {
        [[unroll]] for (uint k = 0u; k < UNIT; ++k) {
#if LOG
            v[step][k] = (v[step][k] - most) - shift;
#else
            v[step][k] *= scale;
#endif
        }
        uint at = (step * LANES + lane) * UNIT;
        if (at < end) store_step(to + at, v[step]);
    }
}
