"""The SPIR-V declares storage buffers that may overlap in memory."""

from __future__ import annotations

import numpy as np

import dml
from dml.compiler.lowering import compile_operator
from dml.compiler.target import Target
from dml.runtime.recording import spirv
from harness import tensor


def decorated(module: bytes, decoration: int) -> list[int]:
    """Return the results that carry a decoration without operands."""
    words = np.frombuffer(module, np.uint32)
    found, at = [], 5
    while at < len(words):
        if words[at] == 3 << 16 | 71 and words[at + 2] == decoration:
            found.append(int(words[at + 1]))
        at += int(words[at]) >> 16
    return found


def aliased(module: bytes) -> int:
    return len(decorated(module, 20))


def test_operators_that_may_work_in_place_say_so() -> None:
    x = tensor("FLOAT16", (1, 1, 3, 5))
    in_place = dml.DML_ELEMENT_WISE_ABS_OPERATOR_DESC(InputTensor=x, OutputTensor=x)
    apart = dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(InputTensor=x, OutputTensor=x)
    assert [aliased(module) for module in spirv(compile_operator(in_place, Target()).dispatches)] == [2]
    assert not any(aliased(module) for module in spirv(compile_operator(apart, Target()).dispatches))
