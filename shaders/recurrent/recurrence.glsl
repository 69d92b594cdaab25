// The common part of the recurrences. A workgroup takes ROWS sequences of one direction. Its invocations take UNITS
// hidden units in each of TILES tiles, so that each weight read serves ROWS rows.
//
// There are two forms. In the first, workgroups loop over the steps. The state of their rows is double-buffered in
// shared memory, since units are replaced while other invocations still read them. PARTED: several dispatches share the
// steps; each runs those from FIRST (an even number) up to, but not including, LAST, and passes the state on in
// buffers. In the second form, STEPWISE, there is a dispatch for each phase of each step (push constant STEP). The
// state is in a buffer, and a workgroup has one tile.
//
// SLICED is for GPUs, and implies STEPWISE: a workgroup computes GROUP_UNITS units of GROUP_ROWS rows, its cells, and
// its invocations share the sums along k: each computes one of SLICES for all units of BLOCK_ROWS rows. The sums then
// go through shared memory to the invocations that own the cells, UNITS cells of one row each.
//
// SHARES_STATE is for llvmpipe, which reads shared memory invocation by invocation: the workgroup is a subgroup of
// SHARES_STATE invocations. Each invocation reads different vectors of the state and broadcasts them to all.
//
// MULTIPLIED is for many sequences on CPU drivers, and implies STEPWISE: a matrix product before each dispatch computes
// its products. An invocation reads and writes its row's four adjacent units (UNITS) as vectors.
//
// A recurrence defines phase_0(step, tile), and phase_1(step, tile) for work that must wait for phase 0 of all units.
#extension GL_EXT_control_flow_attributes : require
#if SHARES_STATE
#extension GL_KHR_shader_subgroup_shuffle : require
#endif

uint direction, first_row, tile_of_group;
// The last product's results. Loops over several cells are not unrolled, since each cell's arithmetic is long. A loop
// over one cell is unrolled, since NVIDIA's driver would else keep its products in memory.
#if ONE_CELL
#define EACH_CELL [[unroll]]
#else
#define EACH_CELL [[dont_unroll]]
#endif
float products[GATES * UNITS * ROWS];
uint lengths_of_rows[ROWS];

#if SLICED
// Cells are numbered by unit (fastest), then by row in a block, then by block.
const uint CELLS = GROUP_UNITS * GROUP_ROWS, BLOCKS = GROUP_ROWS / BLOCK_ROWS;

uint unit_of(uint tile, uint u) {
    return tile * GROUP_UNITS + (gl_LocalInvocationIndex + u * WORKGROUP) / GROUP_ROWS;
}

uint row_of(uint row) {
    uint own = gl_LocalInvocationIndex % GROUP_ROWS;
    return first_row + own % BLOCKS * BLOCK_ROWS + own / BLOCKS;
}
#else
uint unit_of(uint tile, uint u) {
#if MULTIPLIED
    return (tile * WORKGROUP + gl_LocalInvocationIndex) * UNITS + u;
#else
    return (tile * UNITS + u) * WORKGROUP + gl_LocalInvocationIndex;
#endif
}

uint row_of(uint row) {
    return first_row + row;
}
#endif

// Rows beyond the batch read the last row's elements; nothing is stored for them.
uint clamped_row(uint row) {
    return min(row_of(row), BATCH - 1u);
}

bool stores(uint unit, uint row) {
#if SLICED
    if (gl_LocalInvocationIndex >= CELLS) return false;
#endif
    return unit < HIDDEN && row_of(row) < BATCH;
}

// Returns the element of a row's sequence that a step takes: a backward pass begins at the end of the row's own
// sequence.
uint time_of(uint step, uint row) {
    uint n = lengths_of_rows[row];
    bool backward = direction == BACKWARD_DIRECTION;
    return backward && step < n ? n - 1u - step : step;
}

#if AHEAD
// The input's part of each gate of the invocation's one cell, loaded early: before the products, which take long.
float gates_ahead[GATES];
#endif

#if MULTIPLIED
// The invocation's values, by unit; new_copy: the state that gets new_state.
vec4 products_of_gates[GATES], inputs_of_gates[GATES], old_state, new_state, kept_values, new_outputs;
uint new_copy;

float projected(uint step, uint row, uint gate, uint unit) {
    return inputs_of_gates[gate][unit % 4u];
}
#else
float projection(uint step, uint row, uint gate, uint unit) {
    return gates_load(gates_at(uint[4](direction, time_of(step, row), clamped_row(row),
                                       gate * HIDDEN + min(unit, HIDDEN - 1u))));
}

float projected(uint step, uint row, uint gate, uint unit) {
#if AHEAD
    return gates_ahead[gate];
#else
    return projection(step, row, gate, unit);
#endif
}
#endif

#if STEPWISE
uint state_index(uint which, uint row, uint k) {
    return ((which * DIRECTIONS + direction) * BATCH + clamped_row(row)) * (K4 * 4u) + k;
}

vec4 state_four(uint which, uint row, uint k4) {
    return uintBitsToFloat(state_vector(state_index(which, row, k4 * 4u) >> 2));
}

#if KEEPS
uint kept_index(uint row, uint unit) {
    return (direction * BATCH + clamped_row(row)) * HIDDEN + min(unit, HIDDEN - 1u);
}
#endif

#if MULTIPLIED
float state_get(uint which, uint row, uint unit) {
    return old_state[unit % 4u];
}

void state_set(uint which, uint row, uint unit, float v) {
    new_copy = which;
    new_state[unit % 4u] = v;
}

float kept_get(uint tile, uint u, uint row) {
    return kept_values[u];
}

void kept_set(uint tile, uint u, uint row, float v) {
    kept_values[u] = v;
}
#else
float state_get(uint which, uint row, uint unit) {
    return state_load(state_index(which, row, min(unit, HIDDEN - 1u)));
}

void state_set(uint which, uint row, uint unit, float v) {
    if (stores(unit, row)) state_store(state_index(which, row, unit), v);
}

#if KEEPS
float kept_get(uint tile, uint u, uint row) {
    return kept_load(kept_index(row, unit_of(tile, u)));
}

void kept_set(uint tile, uint u, uint row, float v) {
    if (stores(unit_of(tile, u), row)) kept_store(kept_index(row, unit_of(tile, u)), v);
}
#endif
#endif
#else
shared vec4 states[2 * ROWS * K4];

vec4 state_four(uint which, uint row, uint k4) {
    return states[(which * ROWS + row) * K4 + k4];
}

float state_get(uint which, uint row, uint unit) {
    return states[(which * ROWS + row) * K4 + min(unit / 4u, K4 - 1u)][unit % 4u];
}

void state_set(uint which, uint row, uint unit, float v) {
    if (unit < HIDDEN) states[(which * ROWS + row) * K4 + unit / 4u][unit % 4u] = v;
}

#if KEEPS
// Values that units keep in addition to their state; only the invocation that computes a unit reads them.
float kept_values[TILES * UNITS * ROWS];

float kept_get(uint tile, uint u, uint row) {
    return kept_values[(tile * UNITS + u) * ROWS + row];
}

void kept_set(uint tile, uint u, uint row, float v) {
    kept_values[(tile * UNITS + u) * ROWS + row] = v;
}
#endif
#endif

#if !STEPWISE && !PARTED
#define FIRST 0u
#define LAST STEPS
#endif

#if MULTIPLIED
float product(uint gate, uint u, uint row) {
    return products_of_gates[gate][u];
}

// Loads the invocation's values for gates first <= gate < end, with their products of state `which`.
void multiply(uint first, uint end, uint which, uint tile) {
    uint unit = min(unit_of(tile, 0u), HIDDEN - UNITS), row = clamped_row(0u);
    [[unroll]] for (uint g = first; g < end; ++g) {
        uint at = g * HIDDEN + unit;
        products_of_gates[g] = uintBitsToFloat(products_vector(products_at(uint[3](direction, row, at)) >> 2));
        inputs_of_gates[g] =
            uintBitsToFloat(gates_vector(gates_at(uint[4](direction, time_of(STEP, 0u), row, at)) >> 2));
    }
    old_state = state_four(PHASES == 2 ? 0u : which, 0u, unit / 4u);
#if KEEPS
    kept_values = uintBitsToFloat(kept_vector(kept_index(0u, unit) >> 2));
#endif
}

void store_fours() {
    uint unit = unit_of(tile_of_group, 0u);
    if (!stores(unit, 0u)) return;
    state_vector_store(state_index(new_copy, 0u, unit) >> 2, floatBitsToUint(new_state));
#if KEEPS
    kept_vector_store(kept_index(0u, unit) >> 2, floatBitsToUint(kept_values));
#endif
#ifdef sequence_RANK
    if (PHASE < PHASES - 1) return;
    uint at = sequence_at(uint[4](time_of(STEP, 0u), direction, row_of(0u), unit));
#if SEQUENCE_WIDE
    sequence_vector_store(at >> 2, uvec4(sequence_encode(new_outputs.x), sequence_encode(new_outputs.y),
                                         sequence_encode(new_outputs.z), sequence_encode(new_outputs.w)));
#else
    [[unroll]] for (uint u = 0u; u < UNITS; ++u) sequence_store(at + u * sequence_STRIDE_3, new_outputs[u]);
#endif
#endif
}
#else
#if RESIDENT
// The invocation's weights, loaded once: CPU drivers read an invocation's private memory fastest.
vec4 resident[TILES * K4 * GATES * UNITS];
#endif

uint weight_index(uint tile, uint k4, uint gate, uint u) {
    return ((tile * K4 + k4) * GATES + gate) * UNITS + u;
}

vec4 weight_from_memory(uint index) {
    return uintBitsToFloat(weights_vector((direction * TILES * K4 * GATES * UNITS + index) * WORKGROUP +
                                          gl_LocalInvocationIndex));
}

vec4 weight_of(uint tile, uint k4, uint gate, uint u) {
#if RESIDENT
    return resident[weight_index(tile, k4, gate, u)];
#else
    return weight_from_memory(weight_index(tile, k4, gate, u));
#endif
}

float product(uint gate, uint u, uint row) {
    return products[(gate * UNITS + u) * ROWS + row];
}

float with_products(float sum, vec4 w, vec4 state) {
    sum = fma(w.x, state.x, sum);
    sum = fma(w.y, state.y, sum);
    sum = fma(w.z, state.z, sum);
    return fma(w.w, state.w, sum);
}

#if SLICED
// Distance in shared memory between the sums of adjacent slices, padded so that slices begin in different banks.
const uint SLICE_STRIDE = GATES * CELLS + BLOCKS;
shared float slices[SLICES * SLICE_STRIDE];

void multiply(uint first, uint end, uint which, uint tile) {
    uint block = gl_LocalInvocationIndex % BLOCKS, slice = gl_LocalInvocationIndex / BLOCKS;
    uint state_rows[BLOCK_ROWS];
    [[unroll]] for (uint r = 0u; r < BLOCK_ROWS; ++r) {
        uint row = min(first_row + block * BLOCK_ROWS + r, BATCH - 1u);
        state_rows[r] = ((which * DIRECTIONS + direction) * BATCH + row) * K4;
    }
    float sums[GATES][GROUP_UNITS][BLOCK_ROWS];
    [[unroll]] for (uint g = 0u; g < GATES; ++g) {
        [[unroll]] for (uint u = 0u; u < GROUP_UNITS; ++u) {
            [[unroll]] for (uint r = 0u; r < BLOCK_ROWS; ++r) sums[g][u][r] = 0.0;
        }
    }
#if AHEAD
    [[unroll]] for (uint g = 0u; g < GATES; ++g) {
        if (g >= first && g < end) gates_ahead[g] = projection(STEP, 0u, g, unit_of(tile, 0u));
    }
#endif
    // The number of rounds is constant, so that drivers unroll the loop and load ahead.
    for (uint i = 0u; i < (K4 + SLICES - 1u) / SLICES; ++i) {
        uint k4 = slice + i * SLICES;
        if (K4 % SLICES != 0u && k4 >= K4) break;
        vec4 state[BLOCK_ROWS];
        [[unroll]] for (uint r = 0u; r < BLOCK_ROWS; ++r) state[r] = uintBitsToFloat(state_vector(state_rows[r] + k4));
        uint at = ((direction * TILES + tile) * K4 + k4) * GATES * GROUP_UNITS;
        [[unroll]] for (uint g = 0u; g < GATES; ++g) {
            if (g < first || g >= end) continue;
            [[unroll]] for (uint u = 0u; u < GROUP_UNITS; ++u) {
                vec4 w = uintBitsToFloat(weights_vector(at + g * GROUP_UNITS + u));
                [[unroll]] for (uint r = 0u; r < BLOCK_ROWS; ++r) {
                    sums[g][u][r] = with_products(sums[g][u][r], w, state[r]);
                }
            }
        }
    }
    [[unroll]] for (uint g = 0u; g < GATES; ++g) {
        if (g < first || g >= end) continue;
        [[unroll]] for (uint u = 0u; u < GROUP_UNITS; ++u) {
            [[unroll]] for (uint r = 0u; r < BLOCK_ROWS; ++r) {
                slices[slice * SLICE_STRIDE + g * CELLS + (u * BLOCK_ROWS + r) * BLOCKS + block] = sums[g][u][r];
            }
        }
    }
    barrier();
    [[unroll]] for (uint g = 0u; g < GATES; ++g) {
        if (g < first || g >= end) continue;
        [[unroll]] for (uint u = 0u; u < UNITS; ++u) {
            uint cell = min(gl_LocalInvocationIndex + u * WORKGROUP, CELLS - 1u);
            float sum = 0.0;
            [[unroll]] for (uint other = 0u; other < SLICES; ++other) sum += slices[other * SLICE_STRIDE + g * CELLS + cell];
            products[g * UNITS + u] = sum;
        }
    }
}
#else
// Sets product(gate, u, row) for first <= gate < end: the tile's recurrence weights times state `which`.
void multiply(uint first, uint end, uint which, uint tile) {
    float sums[GATES][UNITS][ROWS];
    [[unroll]] for (uint g = 0u; g < GATES; ++g) {
        [[unroll]] for (uint u = 0u; u < UNITS; ++u) {
            [[unroll]] for (uint row = 0u; row < ROWS; ++row) sums[g][u][row] = 0.0;
        }
    }
#if SHARES_STATE
    [[dont_unroll]] for (uint from = 0u; from < K4; from += SHARES_STATE) {
    vec4 own[ROWS];
    [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
        own[row] = state_four(which, row, min(from + gl_SubgroupInvocationID, K4 - 1u));
    }
    [[dont_unroll]] for (uint k4 = from; k4 < min(from + SHARES_STATE, K4); ++k4) {
#else
    [[dont_unroll]] for (uint k4 = 0u; k4 < K4; ++k4) {
#endif
        vec4 state[ROWS];
        [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
#if SHARES_STATE
            state[row] = subgroupShuffle(own[row], k4 - from);
#else
            state[row] = state_four(which, row, k4);
#endif
        }
        [[unroll]] for (uint g = 0u; g < GATES; ++g) {
            if (g < first || g >= end) continue;
            [[unroll]] for (uint u = 0u; u < UNITS; ++u) {
                vec4 w = weight_of(tile, k4, g, u);
                [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
                    sums[g][u][row] = with_products(sums[g][u][row], w, state[row]);
                }
            }
        }
    }
#if SHARES_STATE
    }
#endif
    [[unroll]] for (uint g = 0u; g < GATES; ++g) {
        if (g < first || g >= end) continue;
        [[unroll]] for (uint u = 0u; u < UNITS; ++u) {
            [[unroll]] for (uint row = 0u; row < ROWS; ++row) products[(g * UNITS + u) * ROWS + row] = sums[g][u][row];
        }
    }
}

#endif
#endif

// Writes a unit's new value to state `next` and to the output sequence. Where the row's sequence has ended, the state
// keeps its old value, and the output sequence gets zero.
void advance(uint step, uint row, uint unit, uint next, float old, float new) {
    bool runs = step < lengths_of_rows[row];
    state_set(next, row, unit, runs ? new : old);
#if MULTIPLIED
    new_outputs[unit % 4u] = runs ? new : 0.0;
#elif defined(sequence_RANK)
    if (stores(unit, row)) {
        sequence_store(sequence_at(uint[4](time_of(step, row), direction, row_of(row), unit)), runs ? new : 0.0);
    }
#endif
}

void begin() {
    uint group = workgroup_index();
#if SLICED
    const uint rows = GROUP_ROWS;
#else
    const uint rows = ROWS;
#endif
    const uint row_tiles = (BATCH + rows - 1u) / rows;
#if STEPWISE
    tile_of_group = group % TILES;
    group /= TILES;
#endif
    first_row = group % row_tiles * rows;
    direction = group / row_tiles;
    [[unroll]] for (uint row = 0u; row < ROWS; ++row) {
#ifdef lengths_RANK
        lengths_of_rows[row] = min(lengths_load(lengths_at(uint[1](clamped_row(row)))), STEPS);
#else
        lengths_of_rows[row] = STEPS;
#endif
    }
}

void phase_0(uint step, uint tile);
#if PHASES == 2
void phase_1(uint step, uint tile);
#endif

#if STEPWISE
void main() {
    begin();
    if (direction >= DIRECTIONS) return;
#if PHASE == 0
    phase_0(STEP, tile_of_group);
#else
    phase_1(STEP, tile_of_group);
#endif
#if MULTIPLIED
    store_fours();
#endif
}
#else
void main() {
    begin();
    if (direction >= DIRECTIONS) return;
    [[dont_unroll]] for (uint i = gl_LocalInvocationIndex; i < ROWS * K4 * 4u; i += WORKGROUP) {
        uint row = i / (K4 * 4u), unit = i % (K4 * 4u);
        float v = 0.0;
#ifdef initial_RANK
        if (unit < HIDDEN) v = initial_load(initial_at(uint[3](direction, clamped_row(row), unit)));
#endif
        states[row * K4 + unit / 4u][unit % 4u] = v;
        states[(ROWS + row) * K4 + unit / 4u][unit % 4u] = 0.0;
    }
#ifdef cell_initial_RANK
    [[dont_unroll]] for (uint tile = 0u; tile < TILES; ++tile) {
        [[dont_unroll]] for (uint u = 0u; u < UNITS; ++u) {
            uint unit = min(unit_of(tile, u), HIDDEN - 1u);
            [[dont_unroll]] for (uint row = 0u; row < ROWS; ++row) {
                kept_set(tile, u, row, cell_initial_load(cell_initial_at(uint[3](direction, clamped_row(row), unit))));
            }
        }
    }
#elif KEEPS
    [[dont_unroll]] for (uint i = 0u; i < TILES * UNITS * ROWS; ++i) kept_values[i] = 0.0;
#endif
#if RESIDENT
    [[dont_unroll]] for (uint i = 0u; i < TILES * K4 * GATES * UNITS; ++i) resident[i] = weight_from_memory(i);
#endif
    barrier();
    [[dont_unroll]] for (uint step = FIRST; step < LAST; ++step) {
        [[dont_unroll]] for (uint tile = 0u; tile < TILES; ++tile) phase_0(step, tile);
        barrier();
#if PHASES == 2
        [[dont_unroll]] for (uint tile = 0u; tile < TILES; ++tile) phase_1(step, tile);
        barrier();
#endif
    }
#if defined(single_RANK) || defined(cell_single_RANK)
    uint which = PHASES == 2 ? 0u : LAST & 1u;
    [[dont_unroll]] for (uint tile = 0u; tile < TILES; ++tile) {
        [[dont_unroll]] for (uint u = 0u; u < UNITS; ++u) {
            uint unit = unit_of(tile, u);
            [[dont_unroll]] for (uint row = 0u; row < ROWS; ++row) {
                if (stores(unit, row)) {
                    uint at[3] = uint[3](direction, row_of(row), unit);
#ifdef single_RANK
                    single_store(single_at(at), state_get(which, row, unit));
#endif
#ifdef cell_single_RANK
                    cell_single_store(cell_single_at(at), kept_get(tile, u, row));
#endif
                }
            }
        }
    }
#endif
}
#endif
