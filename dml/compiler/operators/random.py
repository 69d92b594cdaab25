"""RANDOM_GENERATOR: Philox 4x32-10, one counter value per four output elements in row-major order."""

from __future__ import annotations

from dml.compiler.builder import ProgramBuilder, merge
from dml.compiler.kernels.prelude import Bound, read, write
from dml.compiler.lowering import lowering
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
    blocks = -(-result.count // BLOCK)
    vectors = result.is_packed and result.count % BLOCK == 0 and result.base % BLOCK == 0
    tensors: dict[str, Bound] = {"state": read(state), "result": write(result, vector=vectors)}
    constants = {"BLOCKS": blocks, "STATE_STRIDE": state.strides[-1]}
    if next_state is not None:
        tensors["next"] = write(next_state)
        constants["NEXT_STRIDE"] = next_state.strides[-1]
    builder.dispatch(
        KERNEL,
        tensors,
        space=result.sizes,
        count=blocks,
        constants=constants,
        defines={"ADVANCE": int(next_state is not None), "VECTORS": int(vectors)},
    )
