// LANES_REDUCTION(NAME, TYPE, COMBINE) declares TYPE NAME(TYPE value, uint lane): the reduction of reduce.glsl over
// LANES adjacent invocations, a power of two up to 512, with few barriers. Up to 32 lanes each read all values; of more
// lanes, 16 first combine the values of the others. The function may be called once.
//
// SUBGROUP: as in subgroups.glsl; values are first combined in each subgroup, of which one invocation then writes the
// result to shared memory. Lanes are combined in pairs, so the order of a sum is the same in every run and on every
// device.
#include "lib/subgroups.glsl"
// With SUBGROUP, this code only runs if subgroups are not full, so its loops are not unrolled, which keeps it short.
#if SUBGROUP
#define LANES_LOOP [[dont_unroll]]
#else
#define LANES_LOOP
#endif
#define LANES_READ(LOOP, NAME, FROM, COUNT, STEP, COMBINE) \
    result = NAME[FROM]; \
    LOOP for (uint k = 1u; k < (COUNT); ++k) result = COMBINE(result, NAME[(FROM) + k * (STEP)]);
#if !SUBGROUP
#define IN_SUBGROUPS(NAME, TYPE, COMBINE)
#define FROM_SUBGROUPS(NAME, COMBINE)
#elif LANES > SUBGROUP
#define IN_SUBGROUPS(NAME, TYPE, COMBINE) \
    shared TYPE NAME##_each[WORKGROUP / SUBGROUP]; \
    TYPE NAME##_in_subgroup(TYPE value) { \
        [[unroll]] for (uint k = 1u; k < SUBGROUP; k *= 2u) value = COMBINE(value, subgroupShuffleXor(value, k)); \
        return value; \
    }
#define FROM_SUBGROUPS(NAME, COMBINE) \
    if (fills_subgroups()) { \
        value = NAME##_in_subgroup(value); \
        if (gl_SubgroupInvocationID == 0u) NAME##_each[gl_SubgroupID] = value; \
        barrier(); \
        LANES_READ([[unroll]], NAME##_each, gl_SubgroupID & ~(LANES / SUBGROUP - 1u), LANES / SUBGROUP, 1u, COMBINE) \
        return result; \
    }
#else
#define IN_SUBGROUPS(NAME, TYPE, COMBINE) \
    TYPE NAME##_in_subgroup(TYPE value) { \
        [[unroll]] for (uint k = 1u; k < LANES; k *= 2u) value = COMBINE(value, subgroupShuffleXor(value, k)); \
        return value; \
    }
#define FROM_SUBGROUPS(NAME, COMBINE) if (fills_subgroups()) return NAME##_in_subgroup(value);
#endif
#if LANES > 32
#define LANES_REDUCTION(NAME, TYPE, COMBINE) \
    shared TYPE NAME##_shared[WORKGROUP]; \
    shared TYPE NAME##_few[WORKGROUP * 16u / LANES]; \
    IN_SUBGROUPS(NAME, TYPE, COMBINE) \
    TYPE NAME(TYPE value, uint lane) { \
        uint id = gl_LocalInvocationIndex, few = id / LANES * 16u; \
        TYPE result; \
        FROM_SUBGROUPS(NAME, COMBINE) \
        NAME##_shared[id] = value; \
        barrier(); \
        if (lane < 16u) { \
            LANES_READ(LANES_LOOP, NAME##_shared, id, LANES / 16u, 16u, COMBINE) \
            NAME##_few[few + lane] = result; \
        } \
        barrier(); \
        LANES_READ(LANES_LOOP, NAME##_few, few, 16u, 1u, COMBINE) \
        return result; \
    }
#else
#define LANES_REDUCTION(NAME, TYPE, COMBINE) \
    shared TYPE NAME##_shared[WORKGROUP]; \
    IN_SUBGROUPS(NAME, TYPE, COMBINE) \
    TYPE NAME(TYPE value, uint lane) { \
        TYPE result; \
        FROM_SUBGROUPS(NAME, COMBINE) \
        NAME##_shared[gl_LocalInvocationIndex] = value; \
        barrier(); \
        LANES_READ(LANES_LOOP, NAME##_shared, gl_LocalInvocationIndex - lane, LANES, 1u, COMBINE) \
        return result; \
    }
#endif
