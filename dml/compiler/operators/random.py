"""RANDOM_GENERATOR: Philox 4x32-10, one counter value per four output elements in row-major order."""

from __future__ import annotations

import math

from dml.compiler.builder import ProgramBuilder, merge
from dml.compiler.kernels.prelude import Bound, read, write
from dml.compiler.lowering import lowering
from dml.compiler.parts import in_places
from dml.descriptors.random import DML_RANDOM_GENERATOR_OPERATOR_DESC

KERNEL = "random/philox.comp"
#: Words that Philox 4x32 makes per counter value: a vector.
BLOCK = 4


@lowering(DML_RANDOM_GENERATOR_OPERATOR_DESC)
def random_generator(desc: DML_RANDOM_GENERATOR_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Generate the numbers. State element 0 is the counter's lowest word; elements 4 and 5 are the key. The next state
    adds the number of blocks to the counter."""
    state, next_state = builder["InputStateTensor"], builder.get("OutputStateTensor")
    (result,) = merge(builder["OutputTensor"])
    constants = {"BLOCKS": -(-result.count // BLOCK), "STATE_STRIDE": state.strides[-1]}
    outer = next((axis for axis, size in enumerate(result.sizes) if size > 1), 0)
    for (start,), (part,) in in_places([result], builder.target.max_region, (outer,)):
        first, skip = divmod(start * math.prod(result.sizes[outer + 1 :]), BLOCK)
        vectors = part.is_packed and not any(place % BLOCK for place in (skip, part.count, part.base))
        tensors: dict[str, Bound] = {"state": read(state), "result": write(part, vector=vectors)}
        own = {**constants, "FIRST": first, "SKIP": skip}
        if next_state is not None and start == 0:
            tensors["next"] = write(next_state)
            own["NEXT_STRIDE"] = next_state.strides[-1]
        builder.dispatch(
            KERNEL,
            tensors,
            space=part.sizes,
            count=-(-(part.count + skip) // BLOCK),
            constants=own,
            defines={"ADVANCE": int("next" in tensors), "VECTORS": int(vectors)},
        )
