"""The registry of lowerings: descriptor class -> function that compiles it."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeVar

from dml.capability import supports_in_place
from dml.compiler.apply import apply, copy
from dml.compiler.builder import OperandOrArray, ProgramBuilder, TooLargeError
from dml.compiler.kernels import sources
from dml.compiler.memory import place_temporaries
from dml.compiler.program import Dispatch, Operand, Program, Region, Space, fast_replace
from dml.compiler.scalar import Expression, Leaf
from dml.compiler.target import Target
from dml.descriptors.base import OperatorDesc, operators
from dml.enums import DML_TENSOR_DATA_TYPE_UINT32
from dml.errors import HRESULT, DMLError
from dml.tensors import DML_BUFFER_TENSOR_DESC, packed_strides

Lowering = Callable[[Any, ProgramBuilder], None]


class Epilogues(Enum):
    """Whether an operator's kernels can apply an expression to its results.

    ANY: they write each result once, in its final form (through t_store or t_encode_at, 32 bits also as words), and
    never read it back. SAME_STRIDES: likewise, where the final result has the operator's own strides.
    """

    NONE = auto()
    ANY = auto()
    SAME_STRIDES = auto()


_LOWERINGS: dict[type[OperatorDesc], Lowering] = {}
_EPILOGUES: dict[type[OperatorDesc], Epilogues] = {}


def lowering(*classes: type[OperatorDesc], epilogue: Epilogues = Epilogues.NONE) -> Callable[[Lowering], Lowering]:
    """Register a function ``(desc, builder)`` as the lowering of these descriptors.

    epilogue: whether a graph may fuse an expression after them, which the output's Operand then has.
    """

    def register(function: Lowering) -> Lowering:
        for cls in classes:
            _LOWERINGS[cls] = function
            _EPILOGUES[cls] = epilogue
        return function

    return register


@dataclass(frozen=True)
class Elementwise:
    """An operator whose output elements are an expression of its inputs' elements at the same position.

    fits: whether the expression's values are always within the range of the output's data type.
    """

    inputs: tuple[str, ...]
    expression: Callable[[Any], Expression]
    fits: bool = False


_ELEMENTWISE: dict[type[OperatorDesc], Elementwise] = {}
_Function = TypeVar("_Function", bound=Callable[[Any], Expression])


def elementwise(cls: type[OperatorDesc], *inputs: str, fits: bool = False) -> Callable[[_Function], _Function]:
    """Register ``desc -> Expression`` for a descriptor with these inputs and one output.

    The leaves 0, 1, ... are the inputs that are present. The registration provides the lowering, and graphs can fuse
    the operator. fits: see Elementwise.
    """

    def register(function: _Function) -> _Function:
        entry = Elementwise(inputs, function, fits)
        _ELEMENTWISE[cls] = entry

        def lower_elementwise(desc: OperatorDesc, builder: ProgramBuilder) -> None:
            ((output, _),) = desc.outputs()
            # a fused activation's description has no tensors, but its lowering has operands
            given = [builder[name] for name in inputs if builder.get(name) is not None]
            apply(builder, function(desc), builder[output], given)

        _LOWERINGS[cls] = lower_elementwise
        return function

    return register


def elementwise_of(desc: OperatorDesc) -> Elementwise | None:
    """Return a descriptor as an expression; None if it is not element-wise."""
    _load_family_of(type(desc))
    return _ELEMENTWISE.get(type(desc))


def epilogues_of(cls: type[OperatorDesc]) -> Epilogues:
    """Return whether a descriptor's lowering takes an epilogue."""
    _load_family_of(cls)
    return _EPILOGUES.get(cls, Epilogues.NONE)


def lowering_of(cls: type[OperatorDesc]) -> Callable[..., object] | None:
    """Return the function registered for a descriptor: its expression if it has one, else its lowering."""
    _load_family_of(cls)
    entry = _ELEMENTWISE.get(cls)
    return _LOWERINGS.get(cls) if entry is None else entry.expression


def implemented() -> frozenset[type[OperatorDesc]]:
    """Return the descriptors with a lowering."""
    for cls in operators().values():
        _load_family_of(cls)
    return frozenset(_LOWERINGS)


def lower(desc: OperatorDesc, builder: ProgramBuilder) -> None:
    """Add the dispatches of a validated descriptor, whose tensors the builder holds.

    Raises DMLError (E_NOTIMPL) if the operator has no lowering.
    """
    _load_family_of(type(desc))
    function = _LOWERINGS.get(type(desc))
    if function is None:
        raise DMLError(f"{type(desc).__name__}: this operator is not implemented", HRESULT.E_NOTIMPL)
    builder.operator = type(desc).__name__
    try:
        with builder.attempt():
            function(desc, builder)
    except TooLargeError as error:
        try:
            with builder.attempt():
                _lower_packed(function, desc, builder)
        except TooLargeError:
            raise error from None


def _lower_packed(function: Lowering, desc: OperatorDesc, builder: ProgramBuilder) -> None:
    """Lower an operator whose tensors exceed a binding: copy these tensors to row-major order, with the operator's axes
    innermost, and lower it on the copies. (With CrossChannel, the channels are an axis.)

    A part of a channels-last image, or of lines along a first axis, spans nearly as many bytes as the whole tensor; a
    part of its copy does not.
    """
    axes = {getattr(desc, "Axis", None), *(getattr(desc, "Axes", None) or ())}
    if getattr(desc, "CrossChannel", False):
        axes.add(1)
    results: list[tuple[Operand, Operand]] = []

    def packed(given: Operand | None, *, is_result: bool) -> Operand | None:
        if given is None or given.region.size <= builder.target.max_region:
            return given
        order = sorted(range(given.rank), key=lambda axis: (axis in axes, axis))
        once = given.distinct
        strides = [0] * given.rank
        for axis, stride in zip(order, packed_strides([once.sizes[axis] for axis in order]), strict=True):
            strides[axis] = stride
        if all(own == new or size == 1 for own, new, size in zip(given.strides, strides, once.sizes, strict=True)):
            return given
        own = builder if is_result else builder.prepare(given)
        row_major = own.temporary(given.computed_type, once.sizes).view(once.sizes, tuple(strides))
        if is_result:
            results.append((given, row_major))
        else:
            copy(own, row_major, once)
        return row_major.broadcast(given.sizes)

    operands = dict(builder.operands)
    for fields, is_result in ((desc.inputs(), False), (desc.outputs(), True)):
        for name, _ in fields:
            given = operands.get(name)
            if isinstance(given, tuple):
                operands[name] = tuple(o for each in given if (o := packed(each, is_result=is_result)) is not None)
            else:
                operands[name] = packed(given, is_result=is_result)
    function(desc, builder.scope(operands))
    for result, row_major in results:
        if result.epilogue is None:
            copy(builder, result, row_major)
        else:
            apply(builder, Leaf(0), result, [row_major])


def compile_operator(desc: OperatorDesc, target: Target) -> Program:
    """Compile one operator. Inputs flagged DML_TENSOR_FLAG_OWNED_BY_DML move to the persistent resource."""
    program = Program()
    operands: dict[str, OperandOrArray] = {}

    def slot(tensor: DML_BUFFER_TENSOR_DESC | None, space: Space, slots: list[int | None]) -> Operand | None:
        index = len(slots)
        if tensor is None:
            slots.append(None)
            return None
        size = tensor.TotalTensorSizeInBytes or 0
        slots.append(size)
        if space is Space.INPUT and tensor.owned_by_dml:
            region = program.reserve_owned(index, size)
        else:
            region = Region(space, index, 0, size)
        return Operand.of(tensor, region)

    for names, space, slots in (
        (desc.inputs(), Space.INPUT, program.inputs),
        (desc.outputs(), Space.OUTPUT, program.outputs),
    ):
        for name, tensor in names:
            if isinstance(tensor, tuple):
                operands[name] = tuple(o for t in tensor if (o := slot(t, space, slots)) is not None)
            else:
                operands[name] = slot(tensor, space, slots)
    copy_owned(program, target)
    lower(desc, ProgramBuilder(program, target, operands))
    program.dispatches, program.temporary_size = place_temporaries(program.dispatches)
    if supports_in_place(desc.OPERATOR_TYPE):
        program.dispatches = [_in_place(dispatch) for dispatch in program.dispatches]
    return program


def _in_place(dispatch: Dispatch) -> Dispatch:
    """Return the dispatch, with Aliased buffers if an output may be bound over an input."""
    spaces = {binding.region.space for binding in dispatch.bindings}
    if not {Space.INPUT, Space.OUTPUT} <= spaces:
        return dispatch
    bindings = tuple(binding._replace(texel=0) for binding in dispatch.bindings)
    return fast_replace(dispatch, source=sources.aliased(dispatch.source), bindings=bindings)


def copy_owned(program: Program, target: Target) -> None:
    """Add dispatches that copy each owned input, word by word, into the persistent resource at initialization."""
    builder = ProgramBuilder(program, target)
    builder.dispatches = program.adopt
    for slot, place in program.owned.items():
        words = (place.size // 4,)
        source, result = (
            Operand(region, DML_TENSOR_DATA_TYPE_UINT32, words, (1,))
            for region in (Region(Space.INPUT, slot, 0, place.size), place)
        )
        apply(builder, Leaf(0), result, [source])


def _load_family_of(cls: type[OperatorDesc]) -> None:
    """Import the modules of a descriptor's family, which register themselves (late, because they import this module).

    The family has the same name here as in ``descriptors``.
    """
    if cls not in _LOWERINGS:
        _load(cls.__module__.removeprefix("dml.descriptors.").partition(".")[0])


@functools.cache
def _load(family: str) -> None:
    name = f"dml.compiler.operators.{family}"
    found = importlib.import_module(name)
    for module in pkgutil.walk_packages(getattr(found, "__path__", ()), f"{name}."):
        importlib.import_module(module.name)
