// Reductions over the invocations of a workgroup: a tree through shared memory.
//
// WORKGROUP_REDUCTION(NAME, TYPE, COMBINE) declares
//     TYPE NAME(TYPE value, uint lane, uint lanes)
// where COMBINE(a, b) is an associative function or macro over TYPE (a structure will do). Every `lanes` neighbours of
// the workgroup (a divisor of WORKGROUP) reduce their values by themselves; `lane` is the invocation's place among them
// and all of them get the result. A call is a barrier: it stands in uniform control flow. Values are not combined in the
// order of the lanes, so COMBINE must be commutative as well.
#define WORKGROUP_REDUCTION(NAME, TYPE, COMBINE) \
    shared TYPE NAME##_shared[WORKGROUP]; \
    TYPE NAME(TYPE value, uint lane, uint lanes) { \
        uint id = gl_LocalInvocationIndex; \
        barrier(); \
        NAME##_shared[id] = value; \
        barrier(); \
        for (uint left = lanes; left > 1u;) { \
            uint step = (left + 1u) / 2u; \
            if (lane + step < left) NAME##_shared[id] = COMBINE(NAME##_shared[id], NAME##_shared[id + step]); \
            left = step; \
            barrier(); \
        } \
        return NAME##_shared[id - lane]; \
    }

// LANES_REDUCTION(NAME, TYPE, COMBINE) declares TYPE NAME(TYPE value, uint lane), the same over LANES neighbours, a power
// of two up to 512, with few barriers: up to 32 lanes read what all have, and of more, 16 first put together what the
// others have. It is called once.
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

// GLSL leaves min and max of NaN open and lets compilers drop isnan(): these look at the bits, and NaN wins.
bool reduce_is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
float reduce_max(float a, float b) { return a > b || reduce_is_nan(a) ? a : b; }
float reduce_min(float a, float b) { return a < b || reduce_is_nan(a) ? a : b; }
#define REDUCE_ADD(a, b) ((a) + (b))
