// Reductions over the invocations of a workgroup: a tree through shared memory.
//
// WORKGROUP_REDUCTION(NAME, TYPE, COMBINE) declares
//     TYPE NAME(TYPE value, uint lane, uint lanes)
// where COMBINE(a, b) is an associative and commutative function or macro over TYPE (which may be a structure). Every
// `lanes` adjacent invocations of the workgroup (a divisor of WORKGROUP) reduce their values; `lane` is the
// invocation's index among them, and all of them get the result. A call contains barriers, so it must be in uniform
// control flow; another barrier is needed before NAME is called again.
#define WORKGROUP_REDUCTION(NAME, TYPE, COMBINE) \
    shared TYPE NAME##_shared[WORKGROUP]; \
    TYPE NAME(TYPE value, uint lane, uint lanes) { \
        uint id = gl_LocalInvocationIndex; \
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

// GLSL leaves min and max of NaN undefined and compilers may drop isnan(): these test the bits, and NaN wins.
bool reduce_is_nan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
float reduce_max(float a, float b) { return a > b || reduce_is_nan(a) ? a : b; }
float reduce_min(float a, float b) { return a < b || reduce_is_nan(a) ? a : b; }
#define REDUCE_ADD(a, b) ((a) + (b))
