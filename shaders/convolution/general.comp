#version 450
// Any convolution, one element of result to an invocation. All tensors are {batch, channel, depth, height, width};
// filter is {output channel, input channel / groups, window}, BACKWARD {input channel, output channel / groups, window}.
// For axis d of the three: TAPS_d elements of the window, MOVE_d positions between outputs, DILATION_d between taps,
// PADDING_d before the input. Results at LIMIT_d and beyond are output padding: no window reaches them. The sum is that
// of taps FROM_d up to TO_d, over input channels FROM_3 up to TO_3 of the group.
#include "prelude.glsl"

// Where tap k of the window that makes element o lies along an axis of `size` elements; false where outside.
bool locate(uint o, uint k, uint move, uint dilation, uint padding, uint size, out uint at) {
#if BACKWARD
    uint t = o + padding - k * dilation;
    at = t / move;
    return o + padding >= k * dilation && t % move == 0u && at < size;
#else
    at = o * move + k * dilation - padding;  // below zero: above every size
    return at < size;
#endif
}

#if FLIPPED
#define TAP(k, d) (TAPS_##d - 1u - (k))
#else
#define TAP(k, d) (k)
#endif

result_VALUE value(uint c[RANK]) {
    SUM sum = SUM(0);
    uint group = c[1] / GROUP_OUTPUTS;
    if (c[2] < LIMIT_0 && c[3] < LIMIT_1 && c[4] < LIMIT_2) {
        uint z, y, x;
        for (uint kz = FROM_0; kz < TO_0; ++kz) {
            if (!locate(c[2], kz, MOVE_0, DILATION_0, PADDING_0, x_SIZE_2, z)) continue;
            for (uint ky = FROM_1; ky < TO_1; ++ky) {
                if (!locate(c[3], ky, MOVE_1, DILATION_1, PADDING_1, x_SIZE_3, y)) continue;
                for (uint kx = FROM_2; kx < TO_2; ++kx) {
                    if (!locate(c[4], kx, MOVE_2, DILATION_2, PADDING_2, x_SIZE_4, x)) continue;
                    for (uint i = FROM_3; i < TO_3; ++i) {
                        uint channel = group * GROUP_INPUTS + i;
                        uint at[5] = uint[5](c[0], channel, z, y, x);
#if BACKWARD
                        uint tap[5] = uint[5](channel, c[1] % GROUP_OUTPUTS, TAP(kz, 0), TAP(ky, 1), TAP(kx, 2));
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
