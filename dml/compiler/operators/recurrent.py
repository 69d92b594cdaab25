"""Recurrent networks: the input projection of all steps as one product, then the recurrence.

The recurrence is a loop over the steps in each workgroup where the state of a workgroup's sequences fits shared memory;
in one dispatch, or in several that hand the state on where the loop is long. Else a step takes a dispatch or two.
``plan`` chooses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dml.compiler.builder import ProgramBuilder
from dml.compiler.kernels.expression import Leaf, apply, emit
from dml.compiler.kernels.prelude import Bound, Constant, read, update, write
from dml.compiler.lowering import lowering
from dml.compiler.operators.activation.functions import activate
from dml.compiler.operators.gemm import matmul, transposed
from dml.compiler.operators.movement.views import drop
from dml.compiler.program import Operand
from dml.compiler.selection import max_steps
from dml.compiler.target import Target
from dml.descriptors.base import OperatorDesc
from dml.descriptors.recurrent import DML_GRU_OPERATOR_DESC, DML_LSTM_OPERATOR_DESC, DML_RNN_OPERATOR_DESC
from dml.enums import DML_RECURRENT_NETWORK_DIRECTION, DML_TENSOR_DATA_TYPE_FLOAT32

FLOAT32 = DML_TENSOR_DATA_TYPE_FLOAT32
_BACKWARD = DML_RECURRENT_NETWORK_DIRECTION.DML_RECURRENT_NETWORK_DIRECTION_BACKWARD


@dataclass(frozen=True)
class Cell:
    """What tells one kind of network from another.

    gates: how many products a unit has. added: of how many of them the recurrence's bias is added before the
    activation, so that it can join the input's. phases: dispatches per step, where products depend on products.
    keeps: whether a unit keeps a second value beside its state. functions: the names of its activations.
    """

    kernel: str
    gates: int
    added: int
    functions: tuple[str, ...]
    phases: int = 1
    keeps: bool = False


@dataclass(frozen=True)
class Plan:
    """How the recurrence is cut: see shaders/recurrent/recurrence.glsl. at_once: steps of time to a dispatch, an even
    number unless all of them."""

    stepwise: bool
    workgroup: int
    units: int
    tiles: int
    rows: int
    resident: bool
    at_once: int


#: A direction's weights up to this many bytes stay in a CPU core's own cache from step to step.
RESIDENT_BYTES = 1 << 20
#: Multiplications from which on fetching them there, and compiling a kernel with so much memory of its own, pays.
RESIDENT_WORK = 1 << 23


def plan(target: Target, cell: Cell, steps: int, batch: int, hidden: int, directions: int) -> Plan:
    """The cut for a device.

    A CPU's driver runs a workgroup on one core, invocations side by side in vectors. What costs there is fetching, so
    an invocation takes many units and rows, but two workgroups at least; and a workgroup as wide as a vector needs no
    waiting at barriers. Such an invocation can hold its weights in memory of its own, which is fetched fastest (not on
    SwiftShader, whose stacks are small; it has the narrower vectors).
    A GPU spreads a workgroup over its lanes: many invocations with few units and rows each. There a large state is
    worth a dispatch per step, which all its cores share.
    """
    k4 = -(-hidden // 4)
    fitting = target.shared_memory // (2 * 16 * k4)
    if target.is_cpu:
        stepwise = fitting < 1
        work = cell.gates * hidden * hidden * steps * batch
        fits = 4 * cell.gates * hidden * hidden <= RESIDENT_BYTES
        resident = not stepwise and target.subgroup_size >= 8 and fits and work >= RESIDENT_WORK
        rows = min(8, -(-batch * directions // 2), batch)
        workgroup = 8 if resident or cell.phases == 2 else min(64, -(-hidden // 8) * 8)
        units = min(2 if rows > 4 else max(1, 12 // cell.gates), -(-hidden // workgroup))
    else:
        stepwise = fitting < 1 or hidden > 512
        resident = False
        rows = min(4, batch)
        workgroup = min(128, target.max_workgroup_invocations, -(-hidden // 32) * 32)
        units = min(2, -(-hidden // workgroup))
    if not stepwise:
        rows = min(rows, fitting)
    cut = Plan(stepwise, workgroup, units, -(-hidden // (workgroup * units)), rows, resident, steps)
    around, each = rounds(cell, cut, hidden)
    if stepwise or around + steps * each <= max_steps(target):
        return cut
    at_once = (max_steps(target) - around) // each // 2 * 2
    return replace(cut, at_once=at_once) if at_once > 0 else replace(cut, stepwise=True, resident=False)


def rounds(cell: Cell, cut: Plan, hidden: int) -> tuple[int, int]:
    """Rounds of an invocation's loops in a dispatch: around its steps of time, and in each of them.

    llvmpipe counts one more for each loop that ends, and up to six for a step (measured): inner loops are short here.
    """
    k4 = -(-hidden // 4)
    tile = 2 + k4 + cut.units * (2 + cut.rows)
    if cut.stepwise:
        return 0, tile
    around = -(-4 * cut.rows * k4 // cut.workgroup) + 2 * cut.tiles * tile
    if cut.resident:
        around += cut.tiles * k4 * cell.gates * cut.units
    return around, 6 + cell.phases * (1 + cut.tiles * tile)


def project(builder: ProgramBuilder, cell: Cell, directions: int) -> Operand:
    """The input's part of every gate at every step: {direction, step, row, gate * unit}, FLOAT32, biases added."""
    x, w, bias = drop(builder["InputTensor"], 0), drop(builder["WeightTensor"], 0), builder.get("BiasTensor")
    steps, batch, size = x.sizes
    width = w.sizes[1]
    gates = builder.temporary(FLOAT32, (directions, steps, batch, width))
    addend = None
    if bias is not None:
        bias = drop(drop(bias, 0), 0)
        stage = builder.prepare(bias)
        addend = stage.temporary(FLOAT32, (directions, width))
        hidden = width // cell.gates
        stage.for_each("recurrent/bias.comp", addend, {"bias": bias}, constants={"ADDED": cell.added * hidden})
    if x.strides[0] == batch * x.strides[1] or steps == 1 or batch == 1:
        # Steps and rows follow each other evenly: one matrix.
        step = x.strides[0] if batch == 1 else x.strides[1]
        a = x.view((1, steps * batch, size), (0, step, x.strides[2]))
        result = gates.view((directions, steps * batch, width), (steps * batch * width, width, 1))
        b = transposed(w)
        c = addend and addend.view((directions, 1, width), (width, 0, 1))
    else:
        a = x.view((1, steps, batch, size), (0, *x.strides))
        result = gates
        b = transposed(w).view((directions, 1, size, width), (w.strides[0], 0, w.strides[2], w.strides[1]))
        c = addend and addend.view((directions, 1, 1, width), (width, 0, 0, 1))
    matmul(builder, a, b, c, result)
    return gates


def activation_code(cell: Cell, descs: Sequence[OperatorDesc], directions: int) -> tuple[str, dict[str, Constant]]:
    """GLSL functions ``float activation_<name>(uint direction, float x)`` and their constants."""
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


def recur(
    builder: ProgramBuilder,
    target: Target,
    cell: Cell,
    direction: DML_RECURRENT_NETWORK_DIRECTION,
    descs: Sequence[OperatorDesc],
    tensors: dict[str, Operand | None],
    constants: dict[str, Constant] | None = None,
    defines: dict[str, object] | None = None,
) -> None:
    """Lower a network of this cell. tensors: what the cell's own part of the kernel reads, by its name there."""
    weights = drop(builder["RecurrenceTensor"], 0)
    directions, _, hidden = weights.sizes
    _, steps, batch, _ = builder["InputTensor"].sizes
    gates = project(builder, cell, directions)
    cut = plan(target, cell, steps, batch, hidden, directions)
    k4 = -(-hidden // 4)
    stage = builder.prepare(weights)
    packed = stage.temporary(FLOAT32, (directions, cut.tiles, k4, cell.gates, cut.units, cut.workgroup, 4))
    stage.for_each("recurrent/pack.comp", packed, {"weights": weights}, constants={"HIDDEN": hidden})

    initial, lengths = builder.get("HiddenInitTensor"), builder.get("SequenceLengthsTensor")
    sequence, single = builder.get("OutputSequenceTensor"), builder.get("OutputSingleTensor")
    cell_initial, cell_single = builder.get("CellMemInitTensor"), builder.get("OutputCellSingleTensor")
    initial, cell_initial = (drop(o, 0) if o else None for o in (initial, cell_initial))
    single, cell_single = (drop(o, 0) if o else None for o in (single, cell_single))
    code, activation_constants = activation_code(cell, descs, directions)
    constants = {
        "HIDDEN": hidden,
        "STEPS": steps,
        "BATCH": batch,
        "DIRECTIONS": directions,
        "BACKWARD_DIRECTION": 1 if directions == 2 else 0 if direction == _BACKWARD else 2,
        **activation_constants,
        **(constants or {}),
    }
    defines = {
        "GATES": cell.gates,
        "PHASES": cell.phases,
        "KEEPS": int(cell.keeps),
        "UNITS": f"{cut.units}u",
        "ROWS": f"{cut.rows}u",
        "TILES": f"{cut.tiles}u",
        "K4": f"{k4}u",
        "RESIDENT": int(cut.resident),
        "STEPWISE": int(cut.stepwise),
        "PARTED": int(not cut.stepwise and cut.at_once < steps),
        **(defines or {}),
    }
    bound: dict[str, Bound] = {"gates": read(gates), "weights": read(packed, vector=True)}
    if lengths is not None:
        bound["lengths"] = read(lengths.view((batch,), (lengths.strides[3],)))
    bound.update({name: read(operand) for name, operand in tensors.items() if operand is not None})
    if sequence is not None:
        bound["sequence"] = write(sequence)
    groups = directions * -(-batch // cut.rows)
    each = 4 * cell.gates * cut.units * cut.rows
    around, per_step = rounds(cell, cut, hidden)
    # Names in the kernel: where the state and, in cells with memory, what units keep come from and go to.
    ends = {"initial": (initial, single)}
    if cell.keeps and cell.phases == 1:
        ends["cell_initial"] = (cell_initial, cell_single)
    names = {"initial": "single", "cell_initial": "cell_single"}
    if not cut.stepwise and cut.at_once == steps:
        bound.update({name: read(start) for name, (start, _) in ends.items() if start is not None})
        bound.update({names[name]: write(end) for name, (_, end) in ends.items() if end is not None})
        builder.dispatch(
            cell.kernel,
            bound,
            groups=groups,
            workgroup=cut.workgroup,
            constants=constants,
            defines=defines,
            code=code,
            steps=around + steps * per_step,
            each=each,
        )
        return

    def started(copies: int, width: int, start: Operand | None) -> Operand:
        """What the steps start from, {copy, direction, row, unit}, with zeros behind the units."""
        first = builder.temporary(FLOAT32, (copies, directions, batch, width))
        tensors = {} if start is None else {"initial": start}
        builder.for_each("recurrent/start.comp", first, tensors, constants={"HIDDEN": hidden})
        return first

    if not cut.stepwise:
        # In float32, as in shared memory: the results are those of one dispatch to the bit.
        passed = {name: drop(started(1, hidden, start), 0) for name, (start, _) in ends.items()}
        for first in range(0, steps, cut.at_once):
            then = {name: builder.temporary(FLOAT32, operand.sizes) for name, operand in passed.items()}
            builder.dispatch(
                cell.kernel,
                bound
                | {name: read(operand) for name, operand in passed.items()}
                | {names[name]: write(operand) for name, operand in then.items()},
                groups=groups,
                workgroup=cut.workgroup,
                constants=constants,
                defines=defines,
                push={"FIRST": first, "LAST": min(first + cut.at_once, steps)},
                code=code,
                steps=around + cut.at_once * per_step,
                each=each,
            )
            passed = then
        for name, (_, end) in ends.items():
            if end is not None:
                apply(builder, Leaf(0), end, [passed[name]])
        return

    state = started(2, 4 * k4, initial)
    bound["state"] = update(state, vector=True)
    kept = builder.temporary(FLOAT32, (1, directions, batch, hidden))
    if cell.keeps:
        kept = started(1, hidden, cell_initial)
        bound["kept"] = update(kept)
    for step in range(steps):
        for phase in range(cell.phases):
            builder.dispatch(
                cell.kernel,
                bound,
                groups=groups * cut.tiles,
                workgroup=cut.workgroup,
                constants=constants,
                defines={**defines, "PHASE": phase},
                push={"STEP": step},
                code=code,
                steps=per_step,
                each=each,
            )
    if single is not None:
        last = 0 if cell.phases == 2 else steps % 2
        end = state.view(single.sizes, state.strides[1:], last * state.strides[0])
        apply(builder, Leaf(0), single, [end])
    if cell_single is not None:
        apply(builder, Leaf(0), cell_single, [drop(kept, 0)])


GRU = Cell("recurrent/gru.comp", gates=3, added=2, functions=("f", "g"))


@lowering(DML_GRU_OPERATOR_DESC)
def gru(desc: DML_GRU_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Gates z, r, h. LinearBeforeReset leaves the recurrence's bias of h inside the product with r."""
    bias = builder.get("BiasTensor")
    if desc.LinearBeforeReset:
        cell, inside = GRU, drop(drop(bias, 0), 0) if bias else None
    else:
        cell, inside = replace(GRU, added=3, phases=2, keeps=True), None
    recur(
        builder,
        builder.target,
        cell,
        desc.Direction,
        desc.ActivationDescs,
        {"bias": inside},
        defines={"RESET_FIRST": int(not desc.LinearBeforeReset)},
    )


RNN = Cell("recurrent/rnn.comp", gates=1, added=1, functions=("f",))
LSTM = Cell("recurrent/lstm.comp", gates=4, added=4, functions=("f", "g", "h"), keeps=True)


@lowering(DML_RNN_OPERATOR_DESC)
def rnn(desc: DML_RNN_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    recur(builder, builder.target, RNN, desc.Direction, desc.ActivationDescs, {})


@lowering(DML_LSTM_OPERATOR_DESC)
def lstm(desc: DML_LSTM_OPERATOR_DESC, builder: ProgramBuilder) -> None:
    """Gates i, o, f, c.

    The reference lets the clip threshold bound the activations' inputs, in the words of ONNX. As ONNX Runtime reads
    them, those are the gates' sums, which f and g are given, and not the cell, which h is given.
    """
    peepholes = builder.get("PeepholeTensor")
    recur(
        builder,
        builder.target,
        LSTM,
        desc.Direction,
        desc.ActivationDescs,
        {"peepholes": drop(drop(peepholes, 0), 0) if peepholes else None},
        constants={"CLIP": float(desc.ClipThreshold)},
        defines={"CLIPS": int(desc.UseClipThreshold), "COUPLED": int(desc.CoupleInputForget)},
    )
