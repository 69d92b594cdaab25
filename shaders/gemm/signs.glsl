// XOR with SIGNS converts signed numbers of BITS (4 or 8) bits to unsigned ones, larger by OFFSET. IS_SIGNED: the
// numbers are INT4 or INT8; else OFFSET is 0.
const uint SIGNS = BITS == 4u ? 0x88888888u : 0x80808080u;
const float OFFSET = IS_SIGNED == 1 ? float(1u << (BITS - 1u)) : 0.0;

// The first number, scale and zero point of the batch element's matrix.
uint numbers_first, scales_first, zeros_first;

void begin_stored(uint at[RANK]) {
    numbers_first = b_batch(at);
    scales_first = scales_batch(at);
#if HAS_ZEROS
    zeros_first = zeros_batch(at);
#endif
}
