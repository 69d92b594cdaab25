#version 450
#extension GL_EXT_control_flow_attributes : require
// Attention for few rows of queries, bound by reading keys and values. LANES adjacent invocations share a key: each has
// one vector of the key's elements and one of its value's. Each group of lanes loads EACH_ROUND keys at once. The
// prelude ends with k_four() and v_four(), which return four elements of a vector as floats.
#include "prelude.glsl"
#include "lib/math.glsl"
#include "lib/reduce.glsl"
#include "attention/mask.glsl"
#include "attention/part.glsl"

const uint GROUPS = WORKGROUP / LANES, ROUND = EACH_ROUND * GROUPS;
const uint FOURS = k_UNIT / 4u;

shared float products[ROUND * MY_ROWS * (LANES + 1u)];
shared vec4 scores[MY_ROWS * ROUND / 4u];
shared vec4 gathered[WORKGROUP];

void main() {
    uint group = workgroup_index();
    if (group >= COUNT) return;
    uint c[4];
    coordinates(group, c);
    batch = c[0], key_head = c[1], part = c[3];
    limits(batch);
    uint id = gl_LocalInvocationIndex, lane = id % LANES, team = id / LANES, first_row = c[2] * MY_ROWS;
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
    for (uint at = first; at < stop; at += ROUND) {
        uvec4 keys[EACH_ROUND], values[EACH_ROUND];
        [[unroll]] for (uint u = 0u; u < EACH_ROUND; ++u) {
            uint key = at + u * GROUPS + team;
            keys[u] = uvec4(0u);
            values[u] = uvec4(0u);
            if (key < stop && own < SIZE) keys[u] = k_vector((keys_begin + key * k_STRIDE_2 + own) / k_UNIT);
            if (key < stop && own < VALUE_SIZE) values[u] = v_vector((values_begin + key * v_STRIDE_2 + own) / k_UNIT);
        }
        [[unroll]] for (uint u = 0u; u < EACH_ROUND; ++u) {
            [[unroll]] for (uint r = 0u; r < MY_ROWS; ++r) {
                float product = 0.0;
                [[unroll]] for (uint h = 0u; h < FOURS; ++h) product += dot(q[r][h], k_four(keys[u], h));
                products[((u * GROUPS + team) * MY_ROWS + r) * (LANES + 1u) + lane] = product;
            }
        }
        barrier();
        for (uint i = id; i < ROUND * MY_ROWS; i += WORKGROUP) {
            uint r = i % MY_ROWS, place = i / MY_ROWS, key = at + place, row = min(first_row + r, ROWS - 1u);
            float product = 0.0;
            for (uint k = 0u; k < LANES; ++k) product += products[i * (LANES + 1u) + k];
            uint relative_row = 0u;
#ifdef relative_RANK
            relative_row = relative_from(row);
#endif
            float score = key < stop ? scored(product, relative_row, mask_from(row), key) : LEAST;
            scores[(r * ROUND + place) / 4u][place & 3u] = score;
        }
        barrier();
        [[unroll]] for (uint r = 0u; r < MY_ROWS; ++r) {
            float larger = most[r];
            for (uint f = 0u; f < ROUND / 4u; ++f) {
                vec4 s = scores[r * (ROUND / 4u) + f];
                larger = reduce_max(larger, reduce_max(reduce_max(s.x, s.y), reduce_max(s.z, s.w)));
            }
            float shift = shift_of(larger), factor = exp_nonpositive(most[r] - shift);
            most[r] = larger;
            total[r] *= factor;
            [[unroll]] for (uint h = 0u; h < FOURS; ++h) sums[r][h] *= factor;
            [[unroll]] for (uint u = 0u; u < EACH_ROUND; ++u) {
                uint place = u * GROUPS + team;
                float weight = exp_nonpositive(scores[(r * ROUND + place) / 4u][place & 3u] - shift);
                total[r] += weight;
                [[unroll]] for (uint h = 0u; h < FOURS; ++h) sums[r][h] += weight * v_four(values[u], h);
            }
        }
    }
    [[unroll]] for (uint r = 0u; r < MY_ROWS; ++r) {
        uint row = first_row + r;
        float weight = 0.0;
        // Add the partial sums of all groups of lanes, four columns at a time: with little shared memory, more
        // workgroups run at once.
        [[unroll]] for (uint h = 0u; h < FOURS; ++h) {
            barrier();
            if (lane == 0u && h == 0u) products[team] = total[r];
            gathered[id] = sums[r][h];
            barrier();
            if (h == 0u) for (uint g = 0u; g < GROUPS; ++g) weight += products[g];
            if (row < ROWS) {
#if IN_PARTS
                if (id == 0u && h == 0u) store_statistics(row, most[r], weight);
#endif
                for (uint f = id; f < LANES; f += WORKGROUP) {
                    vec4 v = vec4(0.0);
                    for (uint g = 0u; g < GROUPS; ++g) v += gathered[g * LANES + f];
                    store_sums(row, (f * FOURS + h) * 4u, v, most[r], weight);
                }
            }
        }
    }
}
