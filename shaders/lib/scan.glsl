// Prefix combinations over the invocations of a workgroup, through shared memory.
//
// WORKGROUP_SCAN(NAME, TYPE, COMBINE) declares
//     TYPE NAME(TYPE value, TYPE neutral, uint lane, uint lanes, out TYPE total)
// It returns the combination, in order, of the values of the lanes before this one, among `lanes` adjacent invocations
// of the workgroup; total is the combination of all. A call contains barriers, so it must be in uniform control flow.
#define WORKGROUP_SCAN(NAME, TYPE, COMBINE) \
    shared TYPE NAME##_shared[WORKGROUP]; \
    TYPE NAME(TYPE value, TYPE neutral, uint lane, uint lanes, out TYPE total) { \
        uint id = gl_LocalInvocationIndex; \
        barrier(); \
        NAME##_shared[id] = value; \
        barrier(); \
        for (uint reach = 1u; reach < lanes; reach *= 2u) { \
            TYPE before = NAME##_shared[id - min(reach, lane)]; \
            barrier(); \
            if (lane >= reach) value = COMBINE(before, value); \
            NAME##_shared[id] = value; \
            barrier(); \
        } \
        total = NAME##_shared[id - lane + lanes - 1u]; \
        return lane == 0u ? neutral : NAME##_shared[id - 1u]; \
    }
