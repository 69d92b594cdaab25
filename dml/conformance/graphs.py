"""Graphs as cases of the suite: some kernels, and epilogues of kernels, are reachable only in graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from typing import Any, ClassVar

from dml.api.device import Device
from dml.api.operator import CompiledOperator
from dml.compiler.lowering import compile_operator
from dml.compiler.program import Program
from dml.compiler.target import DeviceClass, Target
from dml.errors import DMLError
from dml.graph.builder import Builder
from dml.graph.builder import Tensor as GraphTensor
from dml.planning.planner import Planner
from dml.tensors import DML_BUFFER_TENSOR_DESC
from dml.validator import validate

#: Adds a graph's operators: builder and inputs by name -> outputs by name.
Build = Callable[["Builder[Any]", Mapping[str, GraphTensor]], Mapping[str, GraphTensor]]


class SUITE_OPERATOR_TYPE(IntEnum):
    """The suite's graphs, numbered after all operators."""

    SUITE_OPERATOR_GRAPH_EPILOGUE = 1 << 32
    SUITE_OPERATOR_GRAPH_OPERATOR = (1 << 32) + 1
    SUITE_OPERATOR_GRAPH_PARTS = (1 << 32) + 2
    SUITE_OPERATOR_GRAPH_STORED_WEIGHTS = (1 << 32) + 3
    SUITE_OPERATOR_GRAPH_FUSED = (1 << 32) + 4


class GraphDesc:
    """A graph described like an operator, by named input and output tensors. The tensors are packed."""

    OPERATOR_TYPE: ClassVar[SUITE_OPERATOR_TYPE]
    #: Layouts change an operator's fields; a graph has none.
    fields_info: ClassVar[tuple[Any, ...]] = ()

    def __init__(
        self,
        inputs: Mapping[str, DML_BUFFER_TENSOR_DESC],
        outputs: Mapping[str, DML_BUFFER_TENSOR_DESC],
        build: Build,
        about: Any = None,
    ) -> None:
        self._inputs, self._outputs, self._build = dict(inputs), dict(outputs), build
        #: Additional data for the subject's reference.
        self.about = about

    def inputs(self) -> Iterator[tuple[str, DML_BUFFER_TENSOR_DESC]]:
        return iter(self._inputs.items())

    def outputs(self) -> Iterator[tuple[str, DML_BUFFER_TENSOR_DESC]]:
        return iter(self._outputs.items())

    def replace(self, **inputs: DML_BUFFER_TENSOR_DESC) -> GraphDesc:
        """Return the graph with these inputs described differently."""
        return type(self)({**self._inputs, **inputs}, self._outputs, self._build, self.about)

    def compiled(self, device: Any) -> Any:
        """Compile the graph on a Device, or for a Planner's target.

        Raises DMLError if it makes other outputs than described: the reference's arrays have the described sizes.
        """
        builder: Builder[Any] = Builder(device)
        given = {
            name: builder.input(name, desc.Sizes, desc.DataType, desc.Strides, owned_by_dml=desc.owned_by_dml)
            for name, desc in self._inputs.items()
        }
        results = self._build(builder, given)
        found = {name: (result.data_type, result.sizes) for name, result in results.items()}
        described = {name: (desc.DataType, desc.Sizes) for name, desc in self._outputs.items()}
        if found != described:
            name = self.OPERATOR_TYPE.name.removeprefix("SUITE_OPERATOR_")
            raise DMLError(f"{name}: its outputs must be as described, {described}, found {found}")
        return builder.compile(results)


def check(desc: Any) -> None:
    """Raise DMLError for an operator or a graph that is not valid."""
    if isinstance(desc, GraphDesc):
        desc.compiled(Planner(Target(DeviceClass.CPU)))
    else:
        validate(desc)


def program_of(desc: Any, target: Target) -> Program:
    """Compile an operator or a graph for a target."""
    if isinstance(desc, GraphDesc):
        program: Program = desc.compiled(Planner(target)).program
        return program
    return compile_operator(desc, target)


def compiled_on(device: Device, desc: Any) -> CompiledOperator:
    """Compile an operator or a graph on a device."""
    if isinstance(desc, GraphDesc):
        compiled: CompiledOperator = desc.compiled(device)
        return compiled
    return device.compile_operator(device.create_operator(desc))
