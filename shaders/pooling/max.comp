#version 450
// The maximum of the window, its index in the flattened input, or both: the first of equal elements, and the first NaN
// if there is one. A window that has only padding gives the type's lowest value and index -1.
#include "prelude.glsl"
#include "lib/int64.glsl"
#include "pooling/largest.glsl"
#include "pooling/window.glsl"

// The size of the whole source along an axis, and the place in it.
#ifdef IN_PARTS
#define SIZE(axis, dimension) WHOLE_##axis
#define AT(axis, dimension) (p[dimension] + BEFORE_##axis)
#else
#define SIZE(axis, dimension) source_SIZE_##dimension
#define AT(axis, dimension) p[dimension]
#endif

// The maximum so far and its index; -1 for none.
struct Found {
    source_VALUE best;
    uint index;
};

// Of equal elements, and of two NaNs, the lower index wins.
Found better(Found a, Found b) {
    if (a.index == 0xffffffffu || b.index == 0xffffffffu) return a.index == 0xffffffffu ? b : a;
    bool second = wins(b.best, a.best) || (b.index < a.index && !wins(a.best, b.best));
    return second ? b : a;
}
#if WIDE
WORKGROUP_REDUCTION(best_all, Found, better)
#endif

Found largest(uint c[RANK]) {
    uint p[RANK] = c;
    Found found = Found(LOWEST, 0xffffffffu);
    EACH_ELEMENT {
        source_VALUE v = source_load(source_at(p));
#if !(defined(indices_RANK) || INDICES_ALONE || WIDE)
        if (wins(v, found.best)) found.best = v;
#else
        if (found.index == 0xffffffffu || wins(v, found.best)) {
            uint plane = (p[0] + IMAGE) * CHANNELS + p[1] + CHANNEL;
            found = Found(v, ((plane * SIZE(0, 2) + AT(0, 2)) * SIZE(1, 3) + AT(1, 3)) * SIZE(2, 4) + AT(2, 4));
        }
#endif
    }
#if WIDE
    found = TOGETHER(best_all, found);
#endif
    return found;
}

#if INDICES_ALONE
uint value(uint c[RANK]) { return largest(c).index; }
#else
source_VALUE value(uint c[RANK]) {
    Found found = largest(c);
#if WIDE
    if (gl_LocalInvocationIndex != 0u) return found.best;
#endif
#if defined(indices_IS_UINT64)
    indices_store(indices_at(c), uvec2(found.index, found.index == 0xffffffffu ? found.index : 0u));
#elif defined(indices_IS_UINT)
    indices_store(indices_at(c), found.index);
#endif
    return found.best;
}
#endif

#include "pooling/store.glsl"
