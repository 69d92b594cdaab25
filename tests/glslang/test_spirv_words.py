"""Storage buffers that may show the same memory say so in the SPIR-V."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dml
from dml.compiler.lowering import compile_operator
from dml.compiler.target import Target
from dml.glslang import Source, compile
from dml.runtime.recording import spirv
from harness import tensor

TWO_BUFFERS = """#version 450
layout(set = 0, binding = 0) buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
void main() { b[0] = a[0] + 1u; }
"""


def decorated(module: bytes, decoration: int) -> list[int]:
    """The results that carry a decoration without operands."""
    words = np.frombuffer(module, np.uint32)
    found, at = [], 5
    while at < len(words):
        if words[at] == 3 << 16 | 71 and words[at + 2] == decoration:
            found.append(int(words[at + 1]))
        at += int(words[at]) >> 16
    return found


def aliased(module: bytes) -> int:
    return len(decorated(module, 20))


def test_every_storage_buffer_is_decorated(tmp_path: Path) -> None:
    source = Source("two buffers", TWO_BUFFERS)
    plain, made = compile(source), compile(replace(source, aliased=True))
    assert aliased(plain) == 0
    assert aliased(made) == 2
    assert len(made) == len(plain) + 2 * 12
    validator = shutil.which("spirv-val")
    if validator is None:
        pytest.skip("spirv-val is not here")
    (tmp_path / "made.spv").write_bytes(made)
    found = subprocess.run([validator, str(tmp_path / "made.spv")], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_operators_that_may_work_in_place_say_so() -> None:
    x = tensor("FLOAT16", (1, 1, 3, 5))
    in_place = dml.DML_ELEMENT_WISE_ABS_OPERATOR_DESC(InputTensor=x, OutputTensor=x)
    apart = dml.DML_ACTIVATION_SOFTMAX_OPERATOR_DESC(InputTensor=x, OutputTensor=x)
    assert [aliased(module) for module in spirv(compile_operator(in_place, Target()).dispatches)] == [2]
    assert not any(aliased(module) for module in spirv(compile_operator(apart, Target()).dispatches))
