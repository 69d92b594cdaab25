#version 450
// Any convolution, one element of the result per invocation. Tensors are {batch, channel, depth, height, width}; filter
// is {output channel, input channel of a group, window} or, BACKWARD, {input channel, output channel of a group,
// window}. Along axis d of depth, height, width, a window has TAPS_d elements, DILATION_d apart, windows are MOVE_d
// apart, and PADDING_d elements precede x. Results starting at LIMIT_d are output padding, without a window. The loops
// run from FROM_d up to, but not including, TO_d, over taps along the three axes and (d = 3) input channels of the
// group.
#include "prelude.glsl"

// Finds the element `at`, along an axis of x with `size` elements, that tap k reads for element o of the result.
// Returns false if there is none.
bool locate(uint o, uint k, uint move, uint dilation, uint padding, uint size, out uint at) {
#if BACKWARD
    uint t = o + padding - k * dilation;
    at = t / move;
    return o + padding >= k * dilation && t % move == 0u && at < size;
#else
    at = o * move + k * dilation - padding;  // below zero it wraps around to more than any size
    return at < size;
#endif
}

// The first tap of element o of the result, at or after `from`.
#if BACKWARD
#define FIRST(o, d) first_tap((o) + PADDING_##d, FROM_##d, COMMON_##d, EACH_##d, INVERSE_##d)
uint first_tap(uint position, uint from, uint divisor, uint each, uint inverse) {
    uint tap = position / divisor % each * inverse % each;
    return tap < from ? tap + (from - tap + each - 1u) / each * each : tap;
}
#else
#define FIRST(o, d) FROM_##d
#endif

#if FLIPPED
#define TAP(k, d) (TAPS_##d - 1u - (k))
#else
#define TAP(k, d) (k)
#endif

result_VALUE value(uint c[RANK]) {
    SUM sum = SUM(0);
    uint group = divided(c[1], GROUP_OUTPUTS_DIVISOR);
    if (c[2] < LIMIT_0 && c[3] < LIMIT_1 && c[4] < LIMIT_2) {
        uint z, y, x;
        for (uint kz = FIRST(c[2], 0); kz < TO_0; kz += EACH_0) {
            if (!locate(c[2], kz, MOVE_0, DILATION_0, PADDING_0, x_SIZE_2, z)) continue;
            for (uint ky = FIRST(c[3], 1); ky < TO_1; ky += EACH_1) {
                if (!locate(c[3], ky, MOVE_1, DILATION_1, PADDING_1, x_SIZE_3, y)) continue;
                for (uint kx = FIRST(c[4], 2); kx < TO_2; kx += EACH_2) {
                    if (!locate(c[4], kx, MOVE_2, DILATION_2, PADDING_2, x_SIZE_4, x)) continue;
                    for (uint i = FROM_3; i < TO_3; ++i) {
                        uint channel = group * GROUP_INPUTS + i;
                        uint at[5] = uint[5](c[0], channel, z, y, x);
#if BACKWARD
                        uint tap[5] = uint[5](channel, c[1] - group * GROUP_OUTPUTS, TAP(kz, 0), TAP(ky, 1), TAP(kx, 2));
#else
                        uint tap[5] = uint[5](c[1], i, TAP(kz, 0), TAP(ky, 1), TAP(kx, 2));
#endif
                        sum += x_load(x_at(at)) * filter_load(filter_at(tap));
                    }
                }
            }
        }
    }
#if HAS_BIAS
    sum += bias_load(bias_at(c));
#endif
    return finish(sum);
}

#include "lib/for_each.glsl"
