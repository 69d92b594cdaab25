// Compensated sums: they keep the rounding error of each addition.
struct CompensatedSum {
    float sum;
    float lost;
};

void add_term(inout CompensatedSum s, float term) {
    precise float next = s.sum + term;
    precise float back = next - s.sum;
    precise float rest = (s.sum - (next - back)) + (term - back);
    s.sum = next;
    s.lost += rest;
}

float total_of(CompensatedSum s) {
    // If a term was infinite, the compensation is NaN and is not added.
    return (floatBitsToUint(s.lost) & 0x7f800000u) == 0x7f800000u ? s.sum : s.sum + s.lost;
}
