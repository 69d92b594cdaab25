"""The recurrence of a network: steps that each need the states of the previous step.

If shared memory holds the state of a workgroup's sequences, each workgroup loops over the steps, in one dispatch or,
for long loops, in several that pass the state on. Otherwise a step takes one or two dispatches. ``selection.recurrent``
chooses. Where the input's contributions at all steps are larger than a binding, spans of steps run one after the other;
where a direction's weights are, each step is composed of products.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dml.compiler.apply import apply
from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.expression import emit
from dml.compiler.kernels.prelude import Bound, read, update, write
from dml.compiler.lowering import lower
from dml.compiler.operators.activation.functions import activate
from dml.compiler.operators.gemm.layout import in_rows, transposed, vector_direction
from dml.compiler.operators.gemm.matmul import matmul
from dml.compiler.operators.movement.views import drop, part
from dml.compiler.operators.recurrent.cells import Cell
from dml.compiler.operators.recurrent.projection import joined_bias, project
from dml.compiler.operators.recurrent.reducing import has_reducing_activation, recur_by_parts
from dml.compiler.parts import cut as cut_extents
from dml.compiler.parts import words
from dml.compiler.program import Dispatch, Operand
from dml.compiler.scalar import Constant, Leaf, node
from dml.compiler.selection.recurrent import RecurrenceCut, RecurrenceSizes, recurrence_cut, recurrence_rounds
from dml.descriptors.base import OperatorDesc
from dml.descriptors.recurrent import DML_GRU_OPERATOR_DESC, DML_LSTM_OPERATOR_DESC, DML_RNN_OPERATOR_DESC
from dml.enums import DML_RECURRENT_NETWORK_DIRECTION, DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_DATA_TYPE_UINT32
from dml.tensors import packed_strides

RecurrentDesc = DML_GRU_OPERATOR_DESC | DML_LSTM_OPERATOR_DESC | DML_RNN_OPERATOR_DESC
_FORWARD = DML_RECURRENT_NETWORK_DIRECTION.DML_RECURRENT_NETWORK_DIRECTION_FORWARD
_BACKWARD = DML_RECURRENT_NETWORK_DIRECTION.DML_RECURRENT_NETWORK_DIRECTION_BACKWARD
#: Tensors with a part for each direction, and the dimension of these.
_BY_DIRECTION = {
    "WeightTensor": 1,
    "RecurrenceTensor": 1,
    "BiasTensor": 2,
    "HiddenInitTensor": 1,
    "CellMemInitTensor": 1,
    "PeepholeTensor": 2,
    "OutputSequenceTensor": 1,
    "OutputSingleTensor": 1,
    "OutputCellSingleTensor": 1,
}
#: Tensors with a part for each sequence, and the dimension of these.
_BY_SEQUENCE = {
    "InputTensor": 2,
    "HiddenInitTensor": 2,
    "CellMemInitTensor": 2,
    "SequenceLengthsTensor": 3,
    "OutputSequenceTensor": 2,
    "OutputSingleTensor": 2,
    "OutputCellSingleTensor": 2,
}


@dataclass(frozen=True)
class CarriedState:
    """A state passed from step to step, {direction, row, unit}: its start (zeros by default) and its final value.

    start_name, end_name: their names in the kernel.
    """

    start_name: str
    end_name: str
    start: Operand | None
    end: Operand | None


@dataclass(frozen=True)
class Recurrence:
    """A recurrence ready for dispatch. bound: the tensors of all its dispatches, by their names in the kernel."""

    builder: ProgramBuilder
    cell: Cell
    sizes: RecurrenceSizes
    cut: RecurrenceCut
    bound: Mapping[str, Bound]
    constants: Mapping[str, Constant]
    defines: Mapping[str, object]
    code: str
    hidden_state: CarriedState
    cell_memory: CarriedState

    @property
    def carried(self) -> list[CarriedState]:
        """The states that loops over steps carry. Values that a cell passes between phases stay within a step."""
        return [self.hidden_state, self.cell_memory] if self.has_memory else [self.hidden_state]

    @property
    def has_memory(self) -> bool:
        return self.cell.keeps and self.cell.phases == 1

    def dispatch(
        self,
        more: Mapping[str, Bound],
        *,
        steps: int,
        tiles: int = 1,
        defines: Mapping[str, object] | None = None,
        push: Mapping[str, int] | None = None,
    ) -> None:
        """Add a dispatch of the cell's kernel. tiles: workgroups that share a direction's rows."""
        self.builder.dispatch(
            self.cell.kernel,
            {**self.bound, **more},
            groups=self.sizes.directions * -(-self.sizes.batch // self.cut.rows) * tiles,
            workgroup=self.cut.workgroup,
            constants=self.constants,
            defines={**self.defines, **(defines or {})},
            push=push,
            code=self.code,
            steps=steps,
            each=4 * self.cell.gates * self.cut.units * (self.cut.block or self.cut.rows),
        )

    def started(self, copies: int, width: int, state: CarriedState) -> Operand:
        """Return the initial state, {copy, direction, row, unit}, zero-padded along units."""
        sizes = (copies, self.sizes.directions, self.sizes.batch, width)
        first = self.builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, sizes)
        tensors = {} if state.start is None else {"initial": state.start}
        constants: dict[str, Constant] = {"HIDDEN": self.sizes.hidden}
        self.builder.for_each("recurrent/start.comp", first, tensors, constants=constants)
        return first


def recur(
    builder: ProgramBuilder,
    cell: Cell,
    desc: RecurrentDesc,
    *,
    tensors: Mapping[str, Operand | None] | None = None,
    constants: Mapping[str, Constant] | None = None,
    defines: Mapping[str, object] | None = None,
) -> None:
    """Lower a network of this cell. tensors: the tensors that only this cell's part of the kernel reads, by name."""
    if has_reducing_activation(desc):
        recur_by_parts(builder, cell, desc)
        return
    weights = drop(builder["RecurrenceTensor"], 0)
    directions, _, hidden = weights.sizes
    _, steps, batch, _ = builder["InputTensor"].sizes
    span = _steps_at_once(builder, cell)
    if directions > 1 and (span is None or span < steps or 4 * weights.count > builder.target.max_region):
        _direction_by_direction(builder, cell, desc)
        return
    if span is None:
        _batch_by_batch(builder, desc, batch)
        return
    sizes = RecurrenceSizes(cell.gates, cell.phases, span, batch, hidden, directions)
    cut = recurrence_cut(builder.target, sizes)
    bound: dict[str, Bound] = {}
    if not cut.multiplied:
        packed = _packed_sizes(sizes, cut)
        if 4 * math.prod(packed) > builder.target.max_region:
            recur_by_parts(builder, cell, desc)
            return
        bound["weights"] = read(_packed(builder, weights, packed), vector=True)
    bound.update({name: read(operand) for name, operand in (tensors or {}).items() if operand is not None})
    code, activation_constants = _activation_code(cell, desc.ActivationDescs, directions)
    recurrence = Recurrence(
        builder,
        cell,
        sizes,
        cut,
        bound,
        {**_constants(sizes, desc.Direction), **activation_constants, **(constants or {})},
        {**_defines(builder, cell, sizes, cut), **(defines or {})},
        code,
        _carried(builder, "initial", "HiddenInitTensor", "single", "OutputSingleTensor"),
        _carried(builder, "cell_initial", "CellMemInitTensor", "cell_single", "OutputCellSingleTensor"),
    )
    _in_spans(recurrence, steps, is_backward=desc.Direction == _BACKWARD)


def _steps_at_once(builder: ProgramBuilder, cell: Cell) -> int | None:
    """Return the number of steps whose input contributions and outputs each fit a binding; None if it is zero."""
    _, steps, batch, _ = builder["InputTensor"].sizes
    directions, width = builder["RecurrenceTensor"].sizes[1:3]
    sizes = (steps, directions, batch, width)
    sequence = builder.get("OutputSequenceTensor")
    operands = [words(sizes, packed_strides(sizes)), *([] if sequence is None else [sequence])]
    extents = cut_extents(operands, builder.target.max_region, (0,))
    if extents is None and batch > 1 and (directions > 1 or cut_extents(operands, builder.target.max_region, (0, 2))):
        return None
    return extents[0] if extents else steps


def _batch_by_batch(builder: ProgramBuilder, desc: RecurrentDesc, batch: int) -> None:
    """Lower one half of the sequences after the other, since a single step of all is larger than a binding."""
    half = -(-batch // 2)
    for first, count in ((0, half), (half, batch - half)):
        operands = dict(builder.operands)
        for name, axis in _BY_SEQUENCE.items():
            operand = builder.get(name)
            operands[name] = operand and part(operand, axis, first, count)
        lower(desc, builder.scope(operands))


def _direction_by_direction(builder: ProgramBuilder, cell: Cell, desc: RecurrentDesc) -> None:
    """Lower the directions one after the other, since together they are larger than a binding."""
    count = len(cell.functions)
    for number, direction in enumerate((_FORWARD, _BACKWARD)):
        functions = desc.ActivationDescs[number * count : (number + 1) * count]
        operands = {name: builder.get(name) for name in ("InputTensor", "SequenceLengthsTensor")}
        for name, axis in _BY_DIRECTION.items():
            operand = builder.get(name)
            operands[name] = operand and part(operand, axis, number, 1)
        own = replace(desc, ActivationDescCount=count, ActivationDescs=functions, Direction=direction)
        lower(own, builder.scope(operands))


def _in_spans(recurrence: Recurrence, steps: int, *, is_backward: bool) -> None:
    """Run the steps in spans of ``recurrence.sizes.steps``, each with the states that the previous one ended with."""
    builder, sizes = recurrence.builder, recurrence.sizes
    addend = joined_bias(builder, recurrence.cell)
    lengths, sequence = builder.get("SequenceLengthsTensor"), builder.get("OutputSequenceTensor")
    if lengths is not None:
        lengths = lengths.view((sizes.batch,), (lengths.strides[3],))
    hidden, memory = recurrence.hidden_state, recurrence.cell_memory
    starts = list(range(0, steps, sizes.steps))
    for first in reversed(starts) if is_backward else starts:
        count = min(sizes.steps, steps - first)
        is_last = first == (starts[0] if is_backward else starts[-1])
        span = replace(
            recurrence,
            sizes=replace(sizes, steps=count),
            constants={**recurrence.constants, "STEPS": count},
            hidden_state=hidden if is_last else _ending(builder, hidden, sizes),
            cell_memory=memory if is_last or not recurrence.has_memory else _ending(builder, memory, sizes),
        )
        in_fours = recurrence.cut.multiplied
        gates = project(builder, part(builder["InputTensor"], 1, first, count), addend, many_rows=in_fours)
        bound = {"gates": read(gates, vector=in_fours)}
        bound.update(recurrence.bound)
        if lengths is not None:
            bound["lengths"] = read(lengths if first == 0 else _beyond(builder, lengths, first))
        if sequence is not None:
            bound["sequence"] = write(part(sequence, 0, first, count), vector=bool(recurrence.defines["SEQUENCE_WIDE"]))
        _run(replace(span, bound=bound))
        hidden, memory = replace(hidden, start=span.hidden_state.end), replace(memory, start=span.cell_memory.end)


def _ending(builder: ProgramBuilder, state: CarriedState, sizes: RecurrenceSizes) -> CarriedState:
    """Return the state with a temporary to which its final value is written."""
    shape = (sizes.directions, sizes.batch, sizes.hidden)
    return replace(state, end=builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, shape))


def _beyond(builder: ProgramBuilder, lengths: Operand, first: int) -> Operand:
    """Return the number of each sequence's steps from step ``first`` on."""
    rest = builder.temporary(DML_TENSOR_DATA_TYPE_UINT32, lengths.sizes)
    apply(builder, node("max($x0, $First) - $First", Leaf(0), glsl="uint", First=first), rest, [lengths])
    return rest


def _run(recurrence: Recurrence) -> None:
    if recurrence.cut.stepwise:
        _step_by_step(recurrence)
    elif recurrence.cut.at_once < recurrence.sizes.steps:
        _several_dispatches(recurrence)
    else:
        _one_dispatch(recurrence)


def _packed_sizes(sizes: RecurrenceSizes, cut: RecurrenceCut) -> tuple[int, ...]:
    """Return the sizes of the recurrence's weights as the kernel reads them."""
    width = 1 if cut.slices else cut.workgroup
    return sizes.directions, cut.tiles, sizes.fours, sizes.gates, cut.units, width, 4


def _packed(builder: ProgramBuilder, weights: Operand, sizes: tuple[int, ...]) -> Operand:
    """Return the recurrence's weights in these sizes (see ``_packed_sizes``); prepared once if static."""
    stage = builder.prepare(weights)
    packed = stage.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, sizes)
    constants: dict[str, Constant] = {"HIDDEN": weights.sizes[-1]}
    stage.for_each("recurrent/pack.comp", packed, {"weights": weights}, constants=constants)
    return packed


def _carried(builder: ProgramBuilder, start_name: str, start: str, end_name: str, end: str) -> CarriedState:
    given, wanted = builder.get(start), builder.get(end)
    return CarriedState(start_name, end_name, given and drop(given, 0), wanted and drop(wanted, 0))


def _constants(sizes: RecurrenceSizes, direction: DML_RECURRENT_NETWORK_DIRECTION) -> dict[str, Constant]:
    return {
        "HIDDEN": sizes.hidden,
        "STEPS": sizes.steps,
        "BATCH": sizes.batch,
        "DIRECTIONS": sizes.directions,
        # Index of the backward direction: 1 if there are two directions, 0 if it is the only one, else an index that no
        # direction has.
        "BACKWARD_DIRECTION": 1 if sizes.directions == 2 else 0 if direction == _BACKWARD else 2,
    }


def _defines(builder: ProgramBuilder, cell: Cell, sizes: RecurrenceSizes, cut: RecurrenceCut) -> dict[str, object]:
    sequence = builder.get("OutputSequenceTensor")
    wide = (
        cut.multiplied
        and sequence is not None
        and sequence.data_type == DML_TENSOR_DATA_TYPE_FLOAT32
        and vector_direction(sequence, store=True) == "row"
    )
    return {
        "SEQUENCE_WIDE": int(wide),
        "GATES": cell.gates,
        "PHASES": cell.phases,
        "KEEPS": int(cell.keeps),
        "UNITS": f"{cut.units_of_invocation}u",
        "ROWS": f"{cut.rows_of_invocation}u",
        "ONE_CELL": int(cut.units_of_invocation * cut.rows_of_invocation == 1),
        "SLICED": int(cut.slices > 0),
        "SLICES": f"{cut.slices}u",
        "AHEAD": int(cut.slices > 0 and cut.units_of_invocation == 1),
        "GROUP_UNITS": f"{cut.units}u",
        "GROUP_ROWS": f"{cut.rows}u",
        "BLOCK_ROWS": f"{cut.block}u",
        "TILES": f"{cut.tiles}u",
        "K4": f"{sizes.fours}u",
        "RESIDENT": int(cut.resident),
        "SHARES_STATE": cut.shares,
        "STEPWISE": int(cut.stepwise),
        "MULTIPLIED": int(cut.multiplied),
        "PARTED": 0,
    }


def _activation_code(cell: Cell, descs: Sequence[OperatorDesc], directions: int) -> tuple[str, dict[str, Constant]]:
    """Return GLSL functions ``float activation_<name>(uint direction, float x)`` and their constants."""
    code: list[str] = []
    constants: dict[str, Constant] = {}
    for index, name in enumerate(cell.functions):
        calls = []
        for direction in range(directions):
            desc = descs[direction * len(cell.functions) + index]
            emitted = emit(activate(desc), ["float"], f"activation_{name}_{direction}", result="float")
            code.append(emitted.code)
            constants.update(emitted.constants)
            calls.append(f"return activation_{name}_{direction}(x);")
        choice = calls[0] if directions == 1 else f"if (direction == 0u) {calls[0]} {calls[1]}"
        code.append(f"float activation_{name}(uint direction, float x) {{ {choice} }}")
    return "\n".join(code), constants


def _one_dispatch(recurrence: Recurrence) -> None:
    """Run all steps, from the initial states to the last ones."""
    around, each = recurrence_rounds(recurrence.sizes, recurrence.cut)
    states = recurrence.carried
    recurrence.dispatch(
        {state.start_name: read(state.start) for state in states if state.start is not None}
        | {state.end_name: write(state.end) for state in states if state.end is not None},
        steps=around + recurrence.sizes.steps * each,
    )


def _several_dispatches(recurrence: Recurrence) -> None:
    """Run some steps in each dispatch. States pass in float32, as in shared memory, so results equal those of one
    dispatch bit for bit."""
    builder, sizes, at_once = recurrence.builder, recurrence.sizes, recurrence.cut.at_once
    around, each = recurrence_rounds(sizes, recurrence.cut)
    states = recurrence.carried
    passed = [drop(recurrence.started(1, sizes.hidden, state), 0) for state in states]
    for first in range(0, sizes.steps, at_once):
        then = [builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, operand.sizes) for operand in passed]
        recurrence.dispatch(
            {state.start_name: read(operand) for state, operand in zip(states, passed, strict=True)}
            | {state.end_name: write(operand) for state, operand in zip(states, then, strict=True)},
            defines={"PARTED": 1},
            push={"FIRST": first, "LAST": min(first + at_once, sizes.steps)},
            steps=around + at_once * each,
        )
        passed = then
    for state, operand in zip(states, passed, strict=True):
        if state.end is not None:
            apply(builder, Leaf(0), state.end, [operand])


def _step_by_step(recurrence: Recurrence) -> None:
    """Add a dispatch for each phase of each step. The state is double-buffered: one copy is read as the other is
    written."""
    builder, cell, sizes, cut = recurrence.builder, recurrence.cell, recurrence.sizes, recurrence.cut
    _, each = recurrence_rounds(sizes, cut)
    state = recurrence.started(2, 4 * sizes.fours, recurrence.hidden_state)
    kept = recurrence.started(1, sizes.hidden, recurrence.cell_memory) if cell.keeps else None
    states = {"state": update(state, vector=True)}
    if kept is not None:
        states["kept"] = update(kept, vector=cut.multiplied)
    if cut.multiplied:
        weights = in_rows(builder, transposed(drop(builder["RecurrenceTensor"], 0)))
        shape = (sizes.directions, sizes.batch, weights.sizes[-1])
        products = builder.temporary(DML_TENSOR_DATA_TYPE_FLOAT32, shape)
        states["products"] = read(products, vector=True)
    multiplied: dict[int, list[Dispatch]] = {}  # the products' dispatches, by the copy of the state that they read
    for step in range(sizes.steps):
        for phase in range(cell.phases):
            if cut.multiplied:
                which = phase if cell.phases == 2 else step % 2
                if which in multiplied:
                    builder.dispatches.extend(multiplied[which])
                else:
                    before = len(builder.dispatches)
                    first, count = cell.products[phase]
                    b, result = (part(x, 2, first * sizes.hidden, count * sizes.hidden) for x in (weights, products))
                    matmul(builder, drop(part(state, 0, which, 1), 0), b, None, result, runs=sizes.steps)
                    multiplied[which] = builder.dispatches[before:]
            recurrence.dispatch(states, tiles=cut.tiles, defines={"PHASE": phase}, push={"STEP": step}, steps=each)
    hidden_end, memory_end = recurrence.hidden_state.end, recurrence.cell_memory.end
    if hidden_end is not None:
        # With two phases the state ends in its first copy; otherwise the copies alternate from step to step.
        last = 0 if cell.phases == 2 else sizes.steps % 2
        end = state.view(hidden_end.sizes, state.strides[1:], last * state.strides[0])
        apply(recurrence.builder, Leaf(0), hidden_end, [end])
    if memory_end is not None and kept is not None:
        apply(recurrence.builder, Leaf(0), memory_end, [drop(kept, 0)])
