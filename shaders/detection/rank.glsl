// The order in which boxes are selected.
#include "lib/order.glsl"

// Returns the rank of a score: the highest is selected first; 0 if the score is not above the threshold.
uint rank_of(float score, uint least) {
    uint rank = order_float(score);
#if HAS_LEAST
    return rank == 0xffffffffu || rank <= least ? 0u : rank;
#else
    return rank == 0xffffffffu ? 1u : rank;
#endif
}

// Reduces pairs of rank and index: the highest rank, of equal ranks the first index.
uvec2 earlier(uvec2 a, uvec2 b) { return a.x > b.x || (a.x == b.x && a.y < b.y) ? a : b; }

uint least_rank() {
#if HAS_LEAST
    return order_float(least_load(least_BASE));
#else
    return 0u;
#endif
}

// Returns the start of a line's scores.
uint scores_start(uint line, uint image) {
    return scores_BASE + image * scores_STRIDE_0 + (line - image * CLASSES) * scores_STRIDE_1;
}
