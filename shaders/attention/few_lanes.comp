#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
// Attention as in "few.comp", where the LANES that share a key are adjacent in one subgroup: they exchange values by
// subgroup operations, each group of lanes keeps its own maximum and sums, and there is no barrier before the end.
// OF_HALVES: the result is FLOAT16.
#include "prelude.glsl"
#include "lib/math.glsl"
#include "lib/reduce.glsl"
#include "lib/subgroups.glsl"
#include "attention/mask.glsl"
#include "attention/part.glsl"

const uint GROUPS = WORKGROUP / LANES;
const uint FOURS = k_UNIT / 4u;
const uint EACH_TIME = EACH_ROUND * MY_ROWS;

shared float passed[WORKGROUP];
shared vec4 gathered[WORKGROUP * FOURS];
shared float mosts[GROUPS], totals[GROUPS];

#if OF_HALVES
#define POWER exp_of_half
#else
#define POWER exp_nonpositive
#endif

// Sums each value over the lanes that share a key.
void add_lanes(inout float sums[EACH_TIME], uint id) {
    if (fills_subgroups()) {
        [[unroll]] for (uint i = 0u; i < EACH_TIME; ++i) {
            [[unroll]] for (uint k = 1u; k < LANES; k *= 2u) sums[i] += subgroupShuffleXor(sums[i], k);
        }
    } else {
        [[unroll]] for (uint i = 0u; i < EACH_TIME; ++i) {
            barrier();
            passed[id] = sums[i];
            barrier();
            sums[i] = 0.0;
            [[dont_unroll]] for (uint k = 0u; k < LANES; ++k) sums[i] += passed[id / LANES * LANES + k];
        }
    }
}

void main() {
    uint group = workgroup_index();
    if (group >= COUNT) return;
    uint c[4];
    coordinates(group, c);
    batch = c[0], key_head = c[1], part = c[3];
    limits(batch);
    uint id = place(), lane = id % LANES, team = id / LANES, first_row = c[2] * MY_ROWS;
    uint own = lane * k_UNIT;
    vec4 q[MY_ROWS][FOURS], sums[MY_ROWS][FOURS];
    float most[MY_ROWS], total[MY_ROWS];
    [[unroll]] for (uint r = 0u; r < MY_ROWS; ++r) {
        uint from = query_from(min(first_row + r, ROWS - 1u));
        [[unroll]] for (uint h = 0u; h < FOURS; ++h) {
            sums[r][h] = vec4(0.0);
            [[unroll]] for (uint k = 0u; k < 4u; ++k) {
                uint at = own + 4u * h + k;
                q[r][h][k] = at < SIZE ? q_load(from + at * q_STRIDE_4) : 0.0;
            }
        }
        most[r] = LEAST;
        total[r] = 0.0;
    }
    uint keys_begin = k_at(uint[4](batch, key_head, 0u, 0u)), values_begin = v_at(uint[4](batch, key_head, 0u, 0u));
    uint first = part * PART_KEYS, stop = min(first + PART_KEYS, end);
    for (uint at = first; at < stop; at += EACH_ROUND * GROUPS) {
        uvec4 keys[EACH_ROUND], values[EACH_ROUND];
        [[unroll]] for (uint u = 0u; u < EACH_ROUND; ++u) {
            uint key = at + u * GROUPS + team;
            keys[u] = uvec4(0u);
            values[u] = uvec4(0u);
            if (key < stop && own < SIZE) keys[u] = k_vector((keys_begin + key * k_STRIDE_2 + own) / k_UNIT);
            if (key < stop && own < VALUE_SIZE) values[u] = v_vector((values_begin + key * v_STRIDE_2 + own) / k_UNIT);
        }
        float scores[EACH_TIME];
        [[unroll]] for (uint u = 0u; u < EACH_ROUND; ++u) {
            [[unroll]] for (uint r = 0u; r < MY_ROWS; ++r) {
                float product = 0.0;
                [[unroll]] for (uint h = 0u; h < FOURS; ++h) product += dot(q[r][h], k_four(keys[u], h));
                scores[u * MY_ROWS + r] = product;
            }
        }
        add_lanes(scores, id);
        [[unroll]] for (uint r = 0u; r < MY_ROWS; ++r) {
            uint row = min(first_row + r, ROWS - 1u), relative_row = 0u, masks = mask_from(row);
#ifdef relative_RANK
            relative_row = relative_from(row);
#endif
            float larger = most[r];
            [[unroll]] for (uint u = 0u; u < EACH_ROUND; ++u) {
                uint key = at + u * GROUPS + team;
                float score = key < stop ? scored(scores[u * MY_ROWS + r], relative_row, masks, key) : LEAST;
                scores[u * MY_ROWS + r] = score;
                larger = reduce_max(larger, score);
            }
            float shift = shift_of(larger), factor = POWER(most[r] - shift);
            most[r] = larger;
            total[r] *= factor;
            [[unroll]] for (uint h = 0u; h < FOURS; ++h) sums[r][h] *= factor;
            [[unroll]] for (uint u = 0u; u < EACH_ROUND; ++u) {
                float weight = POWER(scores[u * MY_ROWS + r] - shift);
                total[r] += weight;
                [[unroll]] for (uint h = 0u; h < FOURS; ++h) sums[r][h] += weight * v_four(values[u], h);
            }
        }
    }
    [[unroll]] for (uint r = 0u; r < MY_ROWS; ++r) {
        // Combine the partial sums of all groups of lanes.
        barrier();
        if (lane == 0u) {
            mosts[team] = most[r];
            totals[team] = total[r];
        }
        barrier();
        float all_ = LEAST, weight = 0.0;
        for (uint g = 0u; g < GROUPS; ++g) all_ = reduce_max(all_, mosts[g]);
        float shift = shift_of(all_), factor = POWER(most[r] - shift);
        for (uint g = 0u; g < GROUPS; ++g) weight += totals[g] * POWER(mosts[g] - shift);
        [[unroll]] for (uint h = 0u; h < FOURS; ++h) gathered[id * FOURS + h] = sums[r][h] * factor;
        barrier();
        uint row = first_row + r;
        if (row < ROWS) {
#if IN_PARTS
            if (id == 0u) store_statistics(row, all_, weight);
#endif
            for (uint f = id; f < LANES * FOURS; f += WORKGROUP) {
                vec4 v = vec4(0.0);
                for (uint g = 0u; g < GROUPS; ++g) v += gathered[g * LANES * FOURS + f];
                store_sums(row, f * 4u, v, all_, weight);
            }
        }
    }
}
