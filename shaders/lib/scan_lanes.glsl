// LANES_SCAN(NAME, TYPE, COMBINE) declares TYPE NAME(TYPE value, TYPE neutral, uint lane, out TYPE total): the scan of
// scan.glsl over LANES adjacent invocations by place(), a power of two. With SUBGROUP (see subgroups.glsl) it scans in
// subgroups; if LANES exceed a subgroup, the subgroups' combinations go through shared memory.
#include "lib/scan.glsl"
#include "lib/subgroups.glsl"
#if !SUBGROUP
#define LANES_SCAN(NAME, TYPE, COMBINE) \
    WORKGROUP_SCAN(NAME##_all, TYPE, COMBINE) \
    TYPE NAME(TYPE value, TYPE neutral, uint lane, out TYPE total) { return NAME##_all(value, neutral, lane, LANES, total); }
#else
#if LANES > SUBGROUP
#define LANES_SCAN_NEAR SUBGROUP
#define LANES_SCAN_FAR(NAME, TYPE, COMBINE) \
    const uint groups = LANES / SUBGROUP; \
    uint group = gl_SubgroupID & ~(groups - 1u); \
    barrier(); \
    if (gl_SubgroupInvocationID == SUBGROUP - 1u) NAME##_each[gl_SubgroupID] = value; \
    barrier(); \
    total = neutral; \
    for (uint k = 0u; k < groups; ++k) { \
        if (group + k == gl_SubgroupID) before = COMBINE(total, before); \
        total = COMBINE(total, NAME##_each[group + k]); \
    }
#else
#define LANES_SCAN_NEAR LANES
#define LANES_SCAN_FAR(NAME, TYPE, COMBINE)
#endif
#define LANES_SCAN(NAME, TYPE, COMBINE) \
    WORKGROUP_SCAN(NAME##_all, TYPE, COMBINE) \
    shared TYPE NAME##_each[WORKGROUP / SUBGROUP]; \
    TYPE NAME(TYPE value, TYPE neutral, uint lane, out TYPE total) { \
        if (!fills_subgroups()) return NAME##_all(value, neutral, lane, LANES, total); \
        uint id = gl_SubgroupInvocationID, at = id & (LANES_SCAN_NEAR - 1u); \
        [[unroll]] for (uint reach = 1u; reach < LANES_SCAN_NEAR; reach *= 2u) { \
            TYPE earlier = subgroupShuffle(value, id - min(at, reach)); \
            if (at >= reach) value = COMBINE(earlier, value); \
        } \
        TYPE before = subgroupShuffle(value, id - min(at, 1u)); \
        if (at == 0u) before = neutral; \
        total = subgroupShuffle(value, id | (LANES_SCAN_NEAR - 1u)); \
        LANES_SCAN_FAR(NAME, TYPE, COMBINE) \
        return before; \
    }
#endif
