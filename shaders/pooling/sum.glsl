// A compensated sum over a box: add(term) in EACH_ELEMENT, then total(), for all invocations that share the box.
#include "lib/compensated.glsl"
#include "lib/math.glsl"

CompensatedSum sum_ = CompensatedSum(0.0, 0.0);
void add(float term) { add_term(sum_, term); }

#if WIDE
WORKGROUP_REDUCTION(sum_all, float, REDUCE_ADD)
#endif

float total() {
    float found = total_of(sum_);
#if WIDE
    found = TOGETHER(sum_all, found);
#endif
    return found;
}

// Divides a sum by a number of elements. Exact quotients stay exact, which the built-in division does not guarantee.
float mean(float sum, uint count) {
    return abs(sum) < INFINITY ? quotient(sum, float(count)) : sum;
}
