// A workgroup's queries, and where a row's sums are stored. A row is a query of one of the EACH query heads that share
// a key and value head; there are ROWS, QUERIES per head. With several PARTS, a workgroup takes a part of the keys and
// stores the row's largest score, the sum of its weights, and the weighted sum of values, for "attention/merge.comp".

uint batch, key_head, part;

uint query_head(uint row) { return divided(row, QUERIES_DIVISOR); }

uint query_from(uint row) {
    uint head = query_head(row);
    return q_at(uint[5](batch, key_head, head, row - head * QUERIES, 0u));
}

uint mask_from(uint row) {
    uint head = query_head(row);
    return mask_row(batch, key_head * EACH + head, row - head * QUERIES);
}

#ifdef relative_RANK
uint relative_from(uint row) {
    uint head = query_head(row);
    return relative_at(uint[4](batch, key_head * EACH + head, row - head * QUERIES, 0u));
}
#endif

// The score of a row and a key, scaled, biased and masked, for the softmax.
float scored(float product, uint relative_row, uint mask_row, uint key) {
    float score = product * SCALE;
#ifdef relative_RANK
    if (key < KEYS) score += relative_load(relative_row + key * relative_STRIDE_3);
#endif
    return masked(score, mask_row, key);
}

// The number to subtract from scores before their exponential: `most`, or 0 if all scores are -infinity.
float shift_of(float most) { return floatBitsToUint(most) == 0xff800000u ? 0.0 : most; }

#if IN_PARTS
uint part_index(uint row) { return ((batch * KEY_HEADS + key_head) * ROWS + row) * PARTS + part; }

void store_statistics(uint row, float most, float weight) {
    statistics_store(2u * part_index(row), most);
    statistics_store(2u * part_index(row) + 1u, weight);
}

// Stores four adjacent columns of a row's weighted sum of values.
void store_sums(uint row, uint column, vec4 v, float most, float weight) {
    uint to = part_index(row) * VALUE_SIZE + column;
    [[unroll]] for (uint k = 0u; k < 4u; ++k) if (column + k < VALUE_SIZE) sums_store(to + k, v[k]);
}
#else
void store_sums(uint row, uint column, vec4 v, float most, float weight) {
    if (column >= VALUE_SIZE) return;
    // If a score is NaN or +infinity, so is `most`, the largest score, and every result of the row is NaN.
    v *= is_nan(most) || is_inf(most) && most > 0.0 ? NOT_A_NUMBER : reciprocal(weight);
    uint head = query_head(row);
    uint to = y_at(uint[5](batch, key_head, head, row - head * QUERIES, 0u)) + column * y_STRIDE_4;
#if STORES == 4
    y_vector_store(to / 4u, floatBitsToUint(v));
#elif STORES == 2
    y_word_store(to / 2u, y_encode_at(to, v.x) | y_encode_at(to + 1u, v.y) << 16u);
    if (column + 2u < VALUE_SIZE) y_word_store(to / 2u + 1u, y_encode_at(to + 2u, v.z) | y_encode_at(to + 3u, v.w) << 16u);
#else
    [[unroll]] for (uint k = 0u; k < 4u; ++k) if (column + k < VALUE_SIZE) y_store(to + k * y_STRIDE_4, v[k]);
#endif
}
#endif
