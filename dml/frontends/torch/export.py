"""From torch.fx graphs to ONNX models, whole or in the parts that ONNX has words for."""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import onnx
import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, ExportGraphSignature, InputKind, OutputKind, OutputSpec
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.utils._pytree import tree_structure

from dml.frontends.torch.arguments import Dynamic
from dml.frontends.torch.fast_paths import FAST_PATHS
from dml.frontends.torch.not_numbers import NOT_NUMBERS, with_nan

#: The newest operator set that the exporter writes natively.
OPSET = 18


class NotTaken(Exception):
    """The graph cannot leave PyTorch; str() says why."""


@contextmanager
def _quiet() -> Iterator[None]:
    """The exporter tells its users about itself; ours asked for a backend."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def exported(module: fx.GraphModule, examples: Sequence[Any], dynamic: Sequence[Dynamic]) -> ExportedProgram:
    """The module in ATen's core operators. dynamic: for each example, the dimensions that are symbols; None for an int.

    Raises NotTaken where it cannot be, writes to what it made itself, or holds for one value of an int alone.
    """
    auto = torch.export.Dim.AUTO
    shapes = tuple(auto if axes is None else dict.fromkeys(axes, auto) or None for axes in dynamic)
    try:
        with _quiet():
            program = torch.export.export(module, tuple(examples), dynamic_shapes=shapes if any(shapes) else None)
            program = decomposed(program)
    except Exception as error:  # whatever it raises, the answer is the same: PyTorch runs the graph
        raise NotTaken(f"torch.export: {_first_line(error)}") from error
    signature = program.graph_signature
    if signature.buffers_to_mutate:
        raise NotTaken(f"it writes to {', '.join(sorted(map(str, signature.buffers_to_mutate.values())))}")
    given = [spec.arg for spec in signature.input_specs if spec.kind == InputKind.USER_INPUT]
    for axes, argument in zip(dynamic, given, strict=True):
        if axes is None and isinstance(argument, ConstantArgument):
            raise NotTaken(f"torch.export: it takes {argument.name} for the constant {argument.value}")
    return program


def to_onnx(program: ExportedProgram) -> onnx.ModelProto:
    """The program as an ONNX model, its inputs and outputs in order. Raises NotTaken where ONNX has no word for it."""
    try:
        with _quiet():
            made = torch.onnx.export(_returning(program), dynamo=True, opset_version=OPSET, verbose=False)
    except Exception as error:  # (its own errors, and those of its passes)
        raise NotTaken(f"torch.onnx: {_first_line(error)}") from error
    assert made is not None
    proto: onnx.ModelProto = made.model_proto
    return proto


def _returning(program: ExportedProgram) -> ExportedProgram:
    """The program with what it writes to its inputs among its outputs: the exporter leaves it out otherwise."""
    if not program.graph_signature.user_inputs_to_mutate:
        return program
    signature = program.graph_signature
    outputs = [OutputSpec(OutputKind.USER_OUTPUT, spec.arg, None) for spec in signature.output_specs]
    first, *others = program.module_call_graph
    spec = tree_structure(tuple(outputs))
    calls = [replace(first, signature=replace(first.signature, out_spec=spec)), *others]
    returning = copy.copy(program)  # (nothing public changes what a program returns)
    returning._graph_signature = ExportGraphSignature(list(signature.input_specs), outputs)
    returning._module_call_graph = calls
    return returning


def _first_line(error: BaseException) -> str:
    """What the error that began it says."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


class _Words:
    """Which nodes of a program in the exporter's own operators ONNX has words for."""

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: fx.Node) -> bool:
        if node.op != "call_function":
            return bool(node.op == "get_attr")
        return not isinstance(node.target, OpOverload) or bool(_registry().is_registered(node.target))


@cache
def _registry() -> Any:
    from torch.onnx._internal.exporter import _registration  # nothing public tells what can be exported

    with _quiet():
        return _registration.ONNXRegistry.from_torchlib()


def decomposed(program: ExportedProgram) -> ExportedProgram:
    """The program with what ONNX has no word for written in other operators, where PyTorch or we know how."""
    table = torch.export.default_decompositions()
    for operator in list(table):
        if _registry().is_registered(operator):
            decomposition = table.pop(operator)
            if not operator.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd):
                table[operator] = with_nan(decomposition)
    table.update(FAST_PATHS)
    table.update(NOT_NUMBERS)
    with _quiet():
        return program.run_decompositions(table)


def parts(program: ExportedProgram) -> tuple[fx.GraphModule, list[str], list[str]]:
    """The program as a module of parts: those that ONNX has words for are modules of their own.

    Returns it, the names of these modules, and the operators that stay with PyTorch. The module writes to none of its
    inputs: what the program writes to them is among its outputs.
    """
    module = _returning(program).module()
    assert isinstance(module, fx.GraphModule)
    # A part of one operator would cost more on the way to the device than it saves.
    partitioner = CapabilityBasedPartitioner(module, _Words(), allows_single_node_partition=False)
    fused = partitioner.partition_and_fuse()
    names = [str(node.target) for node in fused.graph.find_nodes(op="call_module")]
    left = sorted({str(node.target) for node in fused.graph.nodes if isinstance(node.target, OpOverload)})
    return fused, [name for name in names if name.startswith("fused_")], left
