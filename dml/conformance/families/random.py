"""RANDOM_GENERATOR: all bits of the sequence, and the state that continues it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dml.conformance.limits import Expected
from dml.conformance.parameters import Choice, enumerators, flags, tensor
from dml.conformance.pointwise import ALL_RANKS
from dml.conformance.references import philox
from dml.conformance.subject import Inputs, subject
from dml.conformance.values import Values
from dml.descriptors import DML_RANDOM_GENERATOR_OPERATOR_DESC
from dml.enums import DML_RANDOM_GENERATOR_TYPE


def _describe(choice: Choice) -> dict[str, Any]:
    state = tensor(choice.type, (*(1,) * (len(choice.sizes) - 1), 6))
    return {
        "InputStateTensor": state,
        "OutputStateTensor": state if choice.next_state else None,
        "Type": choice.generator,
    }


def _inputs(desc: Any, values: Values) -> Inputs:
    """Return any state; for edge values, a counter that is about to carry into several of its words."""
    words = values.rng.integers(0, 1 << 32, 6, np.uint64)
    if values.edges:
        words[: values.rng.integers(1, 5)] = philox.MASK
    return {"InputStateTensor": words.astype(np.uint32).reshape(desc.InputStateTensor.Sizes)}


def _reference(desc: Any, given: Inputs) -> dict[str, Expected]:
    state = given["InputStateTensor"].ravel().tolist()
    sizes = desc.OutputTensor.Sizes
    found = {"OutputTensor": Expected(philox.stream(state, math.prod(sizes)).reshape(sizes))}
    if desc.OutputStateTensor is not None:
        found["OutputStateTensor"] = Expected(
            philox.after(state, math.prod(sizes)).reshape(desc.OutputStateTensor.Sizes)
        )
    return found


subject(
    DML_RANDOM_GENERATOR_OPERATOR_DESC,
    parameters={"sizes": ALL_RANKS, "next_state": flags(), "generator": enumerators(DML_RANDOM_GENERATOR_TYPE)},
    describe=_describe,
    reference=_reference,
    inputs=_inputs,
)
