// 64-bit integers as uvec2, low word first. Two's complement: addition, subtraction and the low product are the same
// for both signs.
uvec2 add64(uvec2 a, uvec2 b) {
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

uvec2 sub64(uvec2 a, uvec2 b) {
    uint borrow;
    uint low = usubBorrow(a.x, b.x, borrow);
    return uvec2(low, a.y - b.y - borrow);
}

bool less_u64(uvec2 a, uvec2 b) {
    return a.y != b.y ? a.y < b.y : a.x < b.x;
}

bool less_i64(uvec2 a, uvec2 b) {
    return a.y != b.y ? int(a.y) < int(b.y) : a.x < b.x;
}

uvec2 mul64(uvec2 a, uvec2 b) {
    uint high, low;
    umulExtended(a.x, b.x, high, low);
    return uvec2(low, high + a.x * b.y + a.y * b.x);
}
