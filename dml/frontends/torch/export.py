"""Export of torch.fx graphs to ONNX models, whole or in parts that ONNX can express."""

from __future__ import annotations

import copy
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from itertools import product
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
from dml.frontends.torch.fast_paths import fast_paths
from dml.frontends.torch.not_numbers import NOT_NUMBERS, with_nan
from dml.frontends.torch.ordered import ORDERED

#: Operator sets that the exporter writes natively, tried in turn. 23 has Attention: in PyTorch from 2.9 on, in onnx
#: from 1.18 on.
_OPSETS = (23, 18) if torch.__version__ >= (2, 9) and onnx.defs.onnx_opset_version() >= 23 else (18,)


class NotTaken(Exception):
    """The graph cannot leave PyTorch; str() gives the reason."""


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the exporter's messages, which are meant for its direct users."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Replace a private name of PyTorch; do nothing in a version that lacks it."""
    own = owner.__dict__.get(name)
    if own is None:
        yield
        return
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, own)


@contextmanager
def _listed_once() -> Iterator[None]:
    """Make PyTorch list its composite operators only once. Otherwise it lists them twice for each namespace of
    operators, which is slow."""
    from torch._export import utils

    getattr(utils, "_materialize_cpp_cia_ops", lambda: None)()
    with _replaced(utils, "_materialize_cpp_cia_ops", lambda: None):
        yield


def exported(module: fx.GraphModule, examples: Sequence[Any], dynamic: Sequence[Dynamic]) -> ExportedProgram:
    """Export the module to ATen's core operators.

    dynamic: the symbolic dimensions of each example; None for an int. Raises NotTaken if the export fails, if the
    program writes to its own buffers, or if it is valid only for a single value of an int.
    """
    auto = torch.export.Dim.AUTO
    shapes = tuple(auto if axes is None else dict.fromkeys(axes, auto) or None for axes in dynamic)
    depth = torch._C._functorch.get_dynamic_layer_stack_depth()
    try:
        with _quiet(), _listed_once():
            program = torch.export.export(module, tuple(examples), dynamic_shapes=shapes if any(shapes) else None)
            _refuse_lost_effects(program)
            program = decomposed(program)
    except NotTaken:
        raise
    except Exception as error:  # any failure leads to the same fallback: PyTorch runs the graph
        # leave the vmap or grad in which the export failed, or later code would run inside it
        torch._C._functorch.pop_dynamic_layer_stack_and_undo_to_depth(depth)
        raise NotTaken(f"torch.export: {_first_line(error)}") from error
    signature = program.graph_signature
    if signature.buffers_to_mutate:
        raise NotTaken(f"it writes to {', '.join(sorted(map(str, signature.buffers_to_mutate.values())))}")
    given = [spec.arg for spec in signature.input_specs if spec.kind == InputKind.USER_INPUT]
    for axes, argument in zip(dynamic, given, strict=True):
        if axes is None and isinstance(argument, ConstantArgument):
            raise NotTaken(f"torch.export: it takes {argument.name} for the constant {argument.value}")
    return program


def _refuse_lost_effects(program: ExportedProgram) -> None:
    """Raise NotTaken for operations that the exporter drops without an error: InstanceNorm's writes of running
    statistics, and attention's dropout."""
    for node in program.graph.nodes:
        if node.target is torch.ops.aten.instance_norm.default and node.args[3] is not None and node.args[5]:
            raise NotTaken("InstanceNorm in training mode updates its running statistics")
        is_attention = node.target is torch.ops.aten.scaled_dot_product_attention.default
        if is_attention and node.kwargs.get("dropout_p", node.args[4] if len(node.args) > 4 else 0.0) != 0.0:
            raise NotTaken("scaled_dot_product_attention has a dropout")


def to_onnx(program: ExportedProgram) -> onnx.ModelProto:
    """Convert the program to an ONNX model with the same order of inputs and outputs. Raises NotTaken if ONNX cannot
    express it."""
    whole, reason = _returning(program), Exception()
    # Some versions' optimizer fails at splits by symbolic sizes.
    for opset, optimize in product(_OPSETS, (True, False)):
        if not optimize and isinstance(reason, torch.onnx.OnnxExporterError):
            continue  # refused before its optimizer ran
        try:
            with _quiet(), _prepared_once(opset):
                result = torch.onnx.export(whole, dynamo=True, opset_version=opset, verbose=False, optimize=optimize)
        except Exception as error:  # any error of the exporter or its passes
            reason = error
            continue
        assert result is not None
        return result.model_proto
    raise NotTaken(f"torch.onnx: {_first_line(reason)}") from reason


def results(signature: ExportGraphSignature) -> list[OutputSpec]:
    """Return the outputs that have values. Tokens, which come first, only order operators that check errors."""
    return [spec for spec in signature.output_specs if spec.kind != OutputKind.TOKEN]


def _returning(program: ExportedProgram) -> ExportedProgram:
    """Return the program with its writes to inputs as additional outputs, because the exporter drops them."""
    if not program.graph_signature.user_inputs_to_mutate:
        return program
    signature = program.graph_signature
    returned = [OutputSpec(OutputKind.USER_OUTPUT, spec.arg, None) for spec in results(signature)]
    outputs = [spec for spec in signature.output_specs if spec.kind == OutputKind.TOKEN] + returned
    first, *others = program.module_call_graph
    spec = tree_structure(tuple(returned))
    calls = [replace(first, signature=replace(first.signature, out_spec=spec)), *others]
    returning = copy.copy(program)  # a copy, since no public function changes a program's outputs
    returning._graph_signature = ExportGraphSignature(list(signature.input_specs), outputs)
    returning._module_call_graph = calls
    return returning


def _first_line(error: BaseException) -> str:
    """Return the first line of the original error's message."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"


#: Operators without a result, by which programs check sizes that depend on data.
_CHECKS = {
    torch.ops.aten._assert_scalar.default,
    torch.ops.aten._assert_async.msg,
    torch.ops.aten._assert_tensor_metadata.default,
    torch.ops.aten.sym_constrain_range.default,
    torch.ops.aten.sym_constrain_range_for_size.default,
}


#: Tagged as random for its dropout, which _refuse_lost_effects excludes.
_ATTENTION = {torch.ops.aten.scaled_dot_product_attention.default}


class _ExpressibleNodes:
    """Tells which nodes of an exported program ONNX can express. Nodes that draw random numbers are left out, since
    ONNX's operators would draw other numbers."""

    def is_node_supported(self, submodules: Mapping[str, torch.nn.Module], node: fx.Node) -> bool:
        if node.op != "call_function":
            return bool(node.op == "get_attr")
        if not isinstance(node.target, OpOverload):
            return True
        is_random = torch.Tag.nondeterministic_seeded in node.target.tags and node.target not in _ATTENTION
        return not is_random and bool(_registry().is_registered(node.target))


@cache
def _registry(opset: int = _OPSETS[0]) -> Any:
    # no public function lists the operators that can be exported
    from torch.onnx._internal.exporter import _registration

    newer = {} if opset == 18 else {"opset_version": opset}  # PyTorch before 2.9 has only 18, and no such argument
    with _quiet():
        return _registration.ONNXRegistry.from_torchlib(**newer)


@contextmanager
def _prepared_once(opset: int) -> Iterator[None]:
    """Give the exporter the registry of earlier exports, and programs that have nothing to decompose as they are.

    It would make a registry for each export and trace each program again, which takes most of the time.
    """
    from torch.onnx._internal.exporter import _fx_passes, _registration

    kept = _registry(opset)
    decompose: Any = getattr(_fx_passes, "decompose_with_registry", None)

    def decompose_rest(program: ExportedProgram, registry: Any) -> Any:
        if not _is_decomposed(program, opset):
            return decompose(program, registry)
        unchanged = copy.copy(program)  # the exporter changes its graph
        unchanged._graph_module = copy.deepcopy(program.graph_module)
        for node, copied in zip(program.graph.nodes, unchanged.graph.nodes, strict=True):
            copied.name = node.name  # copying renames nodes whose names are Python built-ins, such as "input"
        return unchanged

    registry = staticmethod(lambda *_, **__: kept)
    with (
        _replaced(_registration.ONNXRegistry, "from_torchlib", registry),
        _replaced(_fx_passes, "decompose_with_registry", decompose_rest),
    ):
        yield


@cache
def _exporters_table(opset: int) -> frozenset[Any] | None:
    """Return PyTorch's operators that the exporter decomposes; None if this version of PyTorch has no such table."""
    try:
        from torch.onnx._internal.exporter import _decomp

        registered = set(_decomp.get_onnx_implemented_overloads(_registry(opset)))
        return frozenset(_decomp.create_onnx_friendly_decomposition_table(registered))
    except (ImportError, AttributeError, TypeError):
        return None


def _is_decomposed(program: ExportedProgram, opset: int) -> bool:
    table = _exporters_table(opset)
    if table is None:
        return False
    targets = (
        node.target
        for module in program.graph_module.modules()
        if isinstance(module, fx.GraphModule)
        for node in module.graph.nodes
        if isinstance(node.target, OpOverload)
    )
    return all(target.namespace == "aten" and target not in table for target in targets)


def decomposed(program: ExportedProgram) -> ExportedProgram:
    """Decompose operators that ONNX lacks, where PyTorch or fast_paths() has a decomposition."""
    table = torch.export.default_decompositions()
    for operator in list(table):
        if _registry().is_registered(operator):
            decomposition = table.pop(operator)
            if not operator.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd):
                table[operator] = with_nan(decomposition)
    table.update(fast_paths())
    table.update(ORDERED)
    table.update(NOT_NUMBERS)
    with _quiet():
        return program.run_decompositions(table)


def parts(program: ExportedProgram) -> tuple[fx.GraphModule, list[str], list[str]]:
    """Split the program into a module of parts; each part that ONNX can express is a submodule.

    Returns it, the names of these modules, and the operators that stay with PyTorch. The module writes to none of its
    inputs: the values that the program writes to them are among its outputs.
    """
    module = _returning(program).module()
    assert isinstance(module, fx.GraphModule)
    for node in reversed(module.graph.nodes):
        if node.target in _CHECKS:  # the exporter leaves these out, too
            module.graph.erase_node(node)
    module.graph.eliminate_dead_code()
    # For one operator, transfers to the device would cost more than they save.
    partitioner = CapabilityBasedPartitioner(module, _ExpressibleNodes(), allows_single_node_partition=False)
    fused = partitioner.partition_and_fuse()
    names = [str(node.target) for node in fused.graph.find_nodes(op="call_module")]
    left = sorted({str(node.target) for node in fused.graph.nodes if isinstance(node.target, OpOverload)})
    return fused, [name for name in names if name.startswith("fused_")], left
