"""The workloads to compile: sample descriptors, the benchmark's cases and variants for GPUs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import dml
from dml.capability import LATEST
from dml.compiler.lowering import compile_operator
from dml.compiler.program import Program
from dml.compiler.target import Target
from dml.conformance.case import Case
from dml.conformance.graphs import program_of
from dml.conformance.suite import Suite
from dml.enums import DML_QUANTIZATION_TYPE_SCALE_ZERO_POINT as SCALE_ZERO_POINT
from dml.graph import operations as op
from dml.graph.builder import Builder, Tensor
from dml.graph.compile import compile_graph
from dml.graph.model import Graph

_ROOT = Path(__file__).resolve().parents[2]
# The tests and the benchmark, which hold the samples and the cases, are not packages.
sys.path += [str(_ROOT / "tests"), str(_ROOT / "tools" / "benchmarks")]

from cases import CASES  # noqa: E402
from cases import Case as Benchmark  # noqa: E402

from sample_descriptors import NAMES, sample  # noqa: E402
from tools.gpu_compilation.variants import is_valid, multiplying_halves, variants  # noqa: E402

#: Cases of the suite that took the most registers: attention of few rows with a mask and a position bias; kernels with
#: the most sizes and strides.
_SUITE_CASES = (
    "MULTIHEAD_ATTENTION1:sizes=2x5x7x3x8x4,heads=3.1,mask=BOOLEAN,relative=yes,lengths=yes,layout=permuted",
    "BATCH_NORMALIZATION_TRAINING_GRAD:type=FLOAT16,sizes=1x2x2x1x2x2x3,layout=mixed",
    "ELEMENT_WISE_QUANTIZED_LINEAR_ADD:type=INT8,sizes=2x1x2x1x2x1x3x2,b=INT8,to=INT8,layout=permuted,values=edges",
)


@dataclass(frozen=True)
class Workload:
    """An operator or a graph. lower: returns its program for a target."""

    name: str
    lower: Callable[[Target], Program]


@cache
def workloads() -> tuple[Workload, ...]:
    """Return all workloads, in a fixed order, with unique names."""
    operators = [Workload(name, partial(compile_operator, desc)) for name, desc in _descriptors()]
    operators += [Workload(f"{name} in halves", partial(_in_halves, desc)) for name, desc in multiplying_halves()]
    graphs = [Workload(f"benchmark {name}", partial(_graph, name)) for name in CASES]
    return (*operators, *graphs, *_stored_weights(), *_stacks(), *map(_suite_workload, _SUITE_CASES))


@cache
def conformance_cases() -> tuple[Workload, ...]:
    """Return the cases of the default ``dml conformance``: every operator, data type and layout."""
    return tuple(map(_suite_workload, Suite().cases()))


def _stored_weights() -> Iterator[Workload]:
    """Yield products of few and of many rows with weights of 4 and 8 bits, as language models have them."""
    choices = {
        "type": ("FLOAT32", "FLOAT16"),
        "numbers": ("UINT4", "INT4"),
        "sizes": ("64x256",),
        "rows": ("1", "2"),
        "block": ("32", "16"),
        "zero_points": ("no", "yes"),
    }
    for values in product(*choices.values()):
        chosen = ",".join(f"{name}={value}" for name, value in zip(choices, values, strict=True))
        yield _suite_workload(f"GRAPH_STORED_WEIGHTS:{chosen}")
    others = (("UINT4", "600x1024", 33), ("UINT4", "4096x2048", 256), ("UINT8", "64x256", 1), ("UINT8", "64x256", 2))
    for kind, (numbers, sizes, rows) in product(("FLOAT32", "FLOAT16"), others):
        chosen = f"type={kind},numbers={numbers},sizes={sizes},rows={rows},block=32,zero_points=yes"
        yield _suite_workload(f"GRAPH_STORED_WEIGHTS:{chosen}")


def _stacks() -> Iterator[Workload]:
    """Yield products in which indices choose the matrices from a stack, as in a mixture of experts."""
    for kind, bits, rows in product(("FLOAT32", "FLOAT16"), (None, 4, 8), (1, 2, 33)):
        name = f"matrices of a stack: type={kind},bits={bits or 'as type'},rows={rows}"
        yield Workload(name, partial(_stack, kind, bits, rows))


def _stack(kind: str, bits: int | None, rows: int, target: Target) -> Program:
    matrices, picked, n, k, block = 4, 2, 64, 256, 32
    graph = Builder(_Compiler(target))
    a = graph.input("a", (picked, rows, k), kind)
    indices = graph.input("indices", (picked,), "UINT32")

    def chosen(data_type: str, columns: int) -> Tensor:
        """Gather matrices from a stack of zeros; 4-bit numbers are gathered as bytes."""
        width = columns // 2 if data_type == "UINT4" else columns
        stored = "UINT8" if data_type == "UINT4" else data_type
        stack = graph.constant(np.zeros((matrices, n, width)), stored)
        return op.gather(stack, indices, 0).view((picked, n, columns), data_type=data_type)

    if bits is None:
        weights = chosen(kind, k)
    else:
        scales, zeros = chosen(kind, k // block), chosen(f"UINT{bits}", k // block)
        weights = op.dequantize(chosen(f"UINT{bits}", k), [scales, zeros], SCALE_ZERO_POINT)
    program: Program = graph.compile({"y": op.gemm(a, weights, transpose_b=True)})
    return program


def _suite_workload(text: str) -> Workload:
    """Return the workload of a conformance case. text: the case's id."""
    case = Case.parse(text)
    return Workload(case.id, partial(_conformance_case, case))


def _conformance_case(case: Case, target: Target) -> Program:
    return program_of(case.desc, target)


def _descriptors() -> Iterator[tuple[str, dml.OperatorDesc]]:
    for name in NAMES:
        yield name, sample(name)
        yield f"{name} padded", sample(name, "padded")
        for kind in ("FLOAT16", "INT64", "INT8"):
            other = sample(name, "packed", kind)
            if is_valid(other):
                yield f"{name} {kind}", other
    yield from variants()


@dataclass(frozen=True)
class _Described:
    """The part of an operator object that a graph reads."""

    desc: dml.OperatorDesc


class _Compiler:
    """A stand-in for the builder's device that compiles for a target and runs nothing."""

    feature_level = LATEST

    def __init__(self, target: Target) -> None:
        self._target = target

    def create_operator(self, desc: dml.OperatorDesc) -> _Described:
        dml.validate(desc)
        return _Described(desc)

    def _compile_graph(self, graph: Graph, *_: Any, optimize: bool = True, **__: Any) -> Program:
        return compile_graph(graph, self._target, optimize=optimize)


def _in_halves(desc: dml.OperatorDesc, target: Target) -> Program:
    """Compile with half precision arithmetic allowed."""
    return compile_operator(desc, target.under(dml.DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION))


@cache
def _case(name: str) -> Benchmark:
    return CASES[name]()


def _graph(name: str, target: Target) -> Program:
    case = _case(name)
    graph = Builder(_Compiler(target))
    tensors = {name: graph.input(name, a.shape, dml.data_type_of(a.dtype)) for name, a in case.inputs.items()}
    program: Program = graph.compile(case.ours(graph, tensors))
    return program
