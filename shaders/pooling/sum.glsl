// A compensated sum over a box: add(term) in EACH_ELEMENT, then total(), the same in every invocation that shares the box.
float sum_ = 0.0;
float lost_ = 0.0;

void add(float term) {
    precise float next = sum_ + term;
    precise float back = next - sum_;
    precise float rest = (sum_ - (next - back)) + (term - back);
    sum_ = next;
    lost_ += rest;
}

#if WIDE
WORKGROUP_REDUCTION(sum_all, float, REDUCE_ADD)
#endif

float total() {
    // Beside infinities the compensation is NaN, and not needed.
    float found = (floatBitsToUint(lost_) & 0x7f800000u) == 0x7f800000u ? sum_ : sum_ + lost_;
#if WIDE
    found = TOGETHER(sum_all, found);
#endif
    return found;
}
