// LANES_REDUCTION(NAME, TYPE, COMBINE) declares TYPE NAME(TYPE value, uint lane), as WORKGROUP_REDUCTION of reduce.glsl
// does, over LANES neighbours, a power of two up to 512, with few barriers: up to 32 lanes read what all have, and of
// more, 16 first put together what the others have. It is called once.
#define LANES_READ(NAME, FROM, COUNT, STEP, COMBINE) \
    result = NAME[FROM]; \
    for (uint k = 1u; k < (COUNT); ++k) result = COMBINE(result, NAME[(FROM) + k * (STEP)]);
#if LANES > 32
#define LANES_REDUCTION(NAME, TYPE, COMBINE) \
    shared TYPE NAME##_shared[WORKGROUP]; \
    shared TYPE NAME##_few[WORKGROUP * 16u / LANES]; \
    TYPE NAME(TYPE value, uint lane) { \
        uint id = gl_LocalInvocationIndex, few = id / LANES * 16u; \
        TYPE result; \
        NAME##_shared[id] = value; \
        barrier(); \
        if (lane < 16u) { \
            LANES_READ(NAME##_shared, id, LANES / 16u, 16u, COMBINE) \
            NAME##_few[few + lane] = result; \
        } \
        barrier(); \
        LANES_READ(NAME##_few, few, 16u, 1u, COMBINE) \
        return result; \
    }
#else
#define LANES_REDUCTION(NAME, TYPE, COMBINE) \
    shared TYPE NAME##_shared[WORKGROUP]; \
    TYPE NAME(TYPE value, uint lane) { \
        TYPE result; \
        NAME##_shared[gl_LocalInvocationIndex] = value; \
        barrier(); \
        LANES_READ(NAME##_shared, gl_LocalInvocationIndex - lane, LANES, 1u, COMBINE) \
        return result; \
    }
#endif
