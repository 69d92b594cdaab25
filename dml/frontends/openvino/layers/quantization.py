"""FakeQuantize: numbers rounded to levels."""

from __future__ import annotations

import dml.graph.operations as op
from dml.frontends.openvino.convert import IrContext, IrValue, layer


@layer("FakeQuantize")
def fake_quantize(c: IrContext) -> IrValue:
    """Round to the nearest level between the input's limits; return that level between the output's limits."""
    x, low, high, first, last = c.tensors(5)
    steps = c.layer.integer("levels") - 1
    c.check(steps >= 1, f"levels must be at least 2, found {steps + 1}")
    # The limits may be in either order; the first one is the position of the first level
    inside = op.minimum(op.maximum(x, op.minimum(low, high)), op.maximum(low, high))
    level = op.round_((inside - low) / (high - low) * float(steps))
    return (level / float(steps) * (last - first) + first).reshape(*c.sizes)
