"""Recurrences: how time steps are divided among dispatches, and rows and hidden units among invocations."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dml.compiler.selection import max_steps, reads_texels
from dml.compiler.selection.devices import filling, has_few_registers, keeps, profile
from dml.compiler.selection.thresholds import threshold
from dml.compiler.selection.tuned import at_least, tuned
from dml.compiler.target import Target

# --- CPU drivers ------------------------------------------------------------------------------------------------------

#: Maximum number of rows of a workgroup, and minimum number of workgroups, so that two cores have work.
_MOST_ROWS, _FEWEST_GROUPS = 8, 2
#: Maximum number of sequences for which every workgroup has ROWS_OF_FEW rows, so that one sequence uses the kernel of
#: several.
FEW_SEQUENCES: int = threshold("recurrent.FEW_SEQUENCES")
ROWS_OF_FEW: int = threshold("recurrent.ROWS_OF_FEW")
#: _VECTOR: invocations in one of llvmpipe's vectors; a workgroup no wider need not wait at barriers. _MOST_INVOCATIONS:
#: largest workgroup.
_VECTOR, _MOST_INVOCATIONS = 8, 64
#: Hidden units per invocation with more than four rows.
UNITS_OF_MANY_ROWS: int = threshold("recurrent.UNITS_OF_MANY_ROWS")
#: Hidden units times gates per invocation with at most four rows.
PRODUCTS_OF_FEW_ROWS: int = threshold("recurrent.PRODUCTS_OF_FEW_ROWS")
#: Maximum number of bytes of a direction's weights that invocations keep in private memory: a core's own cache holds
#: these from step to step.
RESIDENT_BYTES: int = threshold("recurrent.RESIDENT_BYTES")
#: Minimum number of multiplications for which it is worth loading weights into private memory, and compiling a kernel
#: with that much of it.
RESIDENT_WORK: int = threshold("recurrent.RESIDENT_WORK")
#: Whether the invocations of an llvmpipe vector each read a different part of the state and share it, if weights are
#: read as texels. Weights in private memory are slower there, and take far longer to compile.
SHARES_STATE: bool = threshold("recurrent.SHARES_STATE")

#: Minimum number of multiplications of a step, of more than _MOST_ROWS sequences, for which they are a matrix product,
#: with a tile of more rows than a recurrence's kernel has registers for.
MULTIPLIED_WORK: int = threshold("recurrent.MULTIPLIED_WORK")
#: Adjacent hidden units of an invocation that reads their products.
_UNITS_OF_PRODUCTS = 4

# --- GPUs -------------------------------------------------------------------------------------------------------------

#: Maximum number of rows per workgroup, and maximum number of units per invocation in a tile.
_MOST_ROWS_OF_GPUS, _MOST_UNITS_OF_GPUS = 4, 2
#: Workgroups are multiples of 32 invocations, a subgroup of many GPUs, and at most 128, which every device supports.
_SUBGROUP_OF_GPUS, _MOST_INVOCATIONS_OF_GPUS = 32, 128
#: Maximum number of hidden units for which a workgroup loops over the steps. With more, each step is a dispatch, which
#: all cores share.
LARGEST_STATE_OF_A_WORKGROUP: int = threshold("recurrent.LARGEST_STATE_OF_A_WORKGROUP")
#: Maximum number of hidden units for which `dml tune` tries a loop over the steps in each workgroup.
_MOST_STATE_OF_A_GPUS_WORKGROUP = 512
#: In a dispatch per step: units per workgroup, maximum rows per workgroup, maximum rows per invocation.
_UNITS_OF_SLICES, _ROWS_OF_SLICES, _ROWS_OF_A_SLICE = 4, 32, 4
#: Maximum number of slices of k, and maximum number of invocations of a workgroup with slices.
_MOST_SLICES, _MOST_INVOCATIONS_OF_SLICES = 32, 128
#: Maximum number of slices on devices with few registers: an invocation loads the sums of all slices of a unit at the
#: same time.
_MOST_SLICES_OF_FEW_REGISTERS = 8
#: Workgroups that fill a GPU.
ENOUGH_GROUPS: int = threshold("recurrent.ENOUGH_GROUPS")


@dataclass(frozen=True)
class RecurrenceSizes:
    """Sizes that determine how a recurrence is divided.

    gates: matrix products per unit and step. phases: parts of a step that depend on each other. hidden: units.
    """

    gates: int
    phases: int
    steps: int
    batch: int
    hidden: int
    directions: int

    @property
    def fours(self) -> int:
        """Groups of four units, each read as a vec4."""
        return -(-self.hidden // 4)


@dataclass(frozen=True)
class RecurrenceCut:
    """Division of a recurrence: see shaders/recurrent/recurrence.glsl.

    stepwise: one dispatch per phase of each step; else workgroups loop over steps. workgroup: number of invocations.
    units: hidden units per invocation in each of ``tiles`` tiles. rows: number of rows per workgroup. resident:
    invocations keep their weights in private memory. at_once: steps per dispatch: all of them, or an even number.

    shares: invocations of a subgroup (the whole workgroup) that share their reads of the state, or 0. slices: parts
    into which invocations split the sums along k, for ``units`` units and ``block`` rows each; 0 if each invocation
    computes whole sums. With slices, ``rows`` and ``units`` are per workgroup. multiplied: matrix products compute the
    sums of each step.
    """

    stepwise: bool
    workgroup: int
    units: int
    tiles: int
    rows: int
    resident: bool
    at_once: int
    slices: int = 0
    block: int = 0
    shares: int = 0
    multiplied: bool = False

    @property
    def units_of_invocation(self) -> int:
        """Number of units whose new values an invocation computes."""
        return max(1, self.units * self.rows // self.workgroup) if self.slices else self.units

    @property
    def rows_of_invocation(self) -> int:
        return 1 if self.slices else self.rows


def recurrence_cut(target: Target, sizes: RecurrenceSizes) -> RecurrenceCut:
    """Return the division of a recurrence on a device."""
    # Shared memory holds the state of a row twice, as vec4 of float32.
    fitting_rows = target.shared_memory // (2 * 16 * sizes.fours)
    cut = (_cut_of_cpus if profile(target).vector_groups else _cut_of_gpus)(target, sizes, fitting_rows)
    around, each = recurrence_rounds(sizes, cut)
    if cut.stepwise or around + sizes.steps * each <= max_steps(target):
        return cut
    at_once = (max_steps(target) - around) // each // 2 * 2
    return replace(cut, at_once=at_once) if at_once > 0 else replace(cut, stepwise=True, resident=False)


@dataclass(frozen=True)
class RecurrenceChoice:
    """The part of a RecurrenceCut that tuning may choose: sums in slices, or by matrix products, or else the rows per
    workgroup, the units per invocation, and whether weights are resident."""

    slices: bool = False
    rows: int = 0
    units: int = 0
    resident: bool = False
    multiplied: bool = False


def _work(sizes: RecurrenceSizes) -> str:
    """Return the tuning class of such networks, independent of the number of steps."""
    state = f"hidden {at_least(sizes.hidden)}, batch {at_least(sizes.batch)}"
    return f"{sizes.gates} gates in {sizes.phases} phases, {state}, {sizes.directions} directions"


def _cut_of_cpus(target: Target, sizes: RecurrenceSizes, fitting_rows: int) -> RecurrenceCut:
    """Return the division on CPU drivers, which run a workgroup on one core, its invocations in SIMD vectors.

    Loads dominate there, so an invocation takes many units and rows. If it reads weights as texels, the remaining loads
    are those of the state, which a vector of invocations shares. Else it can keep its weights in private memory, the
    fastest to load (not on SwiftShader, whose stacks are small; its vectors are narrower).
    """
    stepwise = fitting_rows < 1
    weights = sizes.gates * sizes.hidden * sizes.hidden
    shares = _VECTOR if _shares_state(target) else 0
    may_hold = (
        not stepwise
        and not shares
        and target.subgroup_size >= _VECTOR
        and 4 * weights <= RESIDENT_BYTES
        and weights * sizes.steps * sizes.batch >= RESIDENT_WORK
    )
    if sizes.batch <= FEW_SEQUENCES:
        rows = ROWS_OF_FEW
    else:
        rows = min(_MOST_ROWS, -(-sizes.batch * sizes.directions // _FEWEST_GROUPS), sizes.batch)

    def choice(rows: int, resident: bool) -> RecurrenceChoice:
        units = UNITS_OF_MANY_ROWS if rows > 4 else max(1, PRODUCTS_OF_FEW_ROWS // sizes.gates)
        return RecurrenceChoice(False, 1 << (rows - 1).bit_length(), units, resident)

    def others() -> list[RecurrenceChoice]:
        found = [choice(rows, held) for rows in (1, 2, 4, 8) for held in {False, may_hold}]
        return [*found, RecurrenceChoice(multiplied=True)] if may_multiply else found

    may_multiply = sizes.hidden % _UNITS_OF_PRODUCTS == 0 and sizes.batch > _MOST_ROWS
    is_multiplied = may_multiply and weights * sizes.batch >= MULTIPLIED_WORK
    rule = RecurrenceChoice(multiplied=True) if is_multiplied else choice(rows, may_hold)
    found = tuned(target, "recurrent", lambda: _work(sizes), rule, others)
    if found.multiplied:
        workgroup = min(_MOST_INVOCATIONS, -(-sizes.fours // _VECTOR) * _VECTOR)
        tiles = -(-sizes.fours // workgroup)
        return RecurrenceCut(True, workgroup, _UNITS_OF_PRODUCTS, tiles, 1, False, sizes.steps, multiplied=True)
    if shares or found.resident or sizes.phases == 2:
        workgroup = _VECTOR
    else:
        workgroup = min(_MOST_INVOCATIONS, -(-sizes.hidden // _VECTOR) * _VECTOR)
    cut = _cut(sizes, stepwise, workgroup, found.units, found.rows, fitting_rows, found.resident)
    return replace(cut, shares=shares)


def _shares_state(target: Target) -> bool:
    """Whether the invocations of a workgroup (one vector) each read a different part of the state and pass it to the
    others."""
    may_pass = "shuffle" in target.features.subgroup_operations and target.subgroup_size == _VECTOR
    return SHARES_STATE and may_pass and reads_texels(target)


def _cut_of_gpus(target: Target, sizes: RecurrenceSizes, fitting_rows: int) -> RecurrenceCut:
    """Return the division on GPUs: many invocations with few units and rows each. Without shared memory, each step is a
    dispatch, whose invocations read the state from a buffer."""
    in_slices = fitting_rows < 1 or sizes.hidden > LARGEST_STATE_OF_A_WORKGROUP

    def others() -> list[RecurrenceChoice]:
        found = [RecurrenceChoice(slices=True)]
        if fitting_rows >= 1 and sizes.hidden <= _MOST_STATE_OF_A_GPUS_WORKGROUP:
            rows = [rows for rows in (1, 2, 4) if rows <= _MOST_ROWS_OF_GPUS and rows < 2 * sizes.batch]
            found += [RecurrenceChoice(False, each, units) for each in rows for units in (1, 2)]
        return found

    # Rows share a workgroup only if there are many.
    rows = _MOST_ROWS_OF_GPUS
    while rows > 1 and sizes.directions * -(-sizes.batch // rows) < filling(target, ENOUGH_GROUPS):
        rows //= 2
    wide = -(-sizes.hidden // _SUBGROUP_OF_GPUS) * _SUBGROUP_OF_GPUS
    workgroup = min(_MOST_INVOCATIONS_OF_GPUS, target.max_workgroup_invocations, wide)
    if not profile(target).shares_memory:
        return _cut(sizes, True, workgroup, 1, rows, fitting_rows, resident=False)
    rule = RecurrenceChoice(slices=True) if in_slices else RecurrenceChoice(False, rows, _MOST_UNITS_OF_GPUS)
    found = tuned(target, "recurrent", lambda: _work(sizes), rule, others)
    if found.slices:
        return _cut_in_slices(target, sizes)
    return _cut(sizes, False, workgroup, found.units, found.rows, fitting_rows, resident=False)


def _cut_in_slices(target: Target, sizes: RecurrenceSizes) -> RecurrenceCut:
    """Return a division with one dispatch per step. To fill a GPU, each workgroup takes a small part of the state, and
    many invocations share its sums along k."""
    units = min(_UNITS_OF_SLICES, sizes.hidden)
    while units > 1 and not keeps(target, sizes.gates * units * min(_ROWS_OF_A_SLICE, sizes.batch)):
        units //= 2
    tiles = -(-sizes.hidden // units)
    rows = min(_ROWS_OF_SLICES, 1 << (sizes.batch - 1).bit_length())
    enough = filling(target, ENOUGH_GROUPS)
    while rows > _ROWS_OF_A_SLICE and sizes.directions * tiles * -(-sizes.batch // rows) < enough:
        rows //= 2
    block = min(rows, _ROWS_OF_A_SLICE)
    blocks = rows // block
    most = min(_MOST_INVOCATIONS_OF_SLICES, target.max_workgroup_invocations)
    slices = _MOST_SLICES_OF_FEW_REGISTERS if has_few_registers(target) else _MOST_SLICES
    while slices > 4 and (
        slices * blocks > most
        or slices > sizes.fours
        or 4 * slices * (sizes.gates * units * rows + blocks) > target.shared_memory
    ):
        slices //= 2
    return RecurrenceCut(True, slices * blocks, units, tiles, rows, False, sizes.steps, slices, block)


def _cut(
    sizes: RecurrenceSizes,
    stepwise: bool,
    workgroup: int,
    most_units: int,
    most_rows: int,
    fitting_rows: int,
    resident: bool,
) -> RecurrenceCut:
    """Return a division without slices: at most as many units as there are, and as many rows as fit."""
    # A power of two: other batch sizes leave rows of the last workgroup empty instead of needing another kernel.
    most_rows = 1 << (most_rows - 1).bit_length()
    units = min(most_units, -(-sizes.hidden // workgroup))
    tiles = -(-sizes.hidden // (workgroup * units))
    rows = most_rows if stepwise else min(most_rows, fitting_rows)
    return RecurrenceCut(stepwise, workgroup, units, tiles, rows, resident, sizes.steps)


def recurrence_rounds(sizes: RecurrenceSizes, cut: RecurrenceCut) -> tuple[int, int]:
    """Return an invocation's loop iterations in a dispatch: those outside the time steps, and those of each step.

    llvmpipe counts one more for each loop that ends, and up to six per step (measured): inner loops are short here.
    """
    if cut.slices:
        return 0, 2 + -(-sizes.fours // cut.slices) + cut.slices + 2 * cut.units_of_invocation
    tile = 2 + cut.units * (2 + cut.rows)
    if cut.multiplied:
        return 0, tile
    tile += sizes.fours
    if cut.shares:
        tile += 2 * -(-sizes.fours // cut.shares)
    if cut.stepwise:
        return 0, tile
    around = -(-4 * cut.rows * sizes.fours // cut.workgroup) + 2 * cut.tiles * tile
    if cut.resident:
        around += cut.tiles * sizes.fours * sizes.gates * cut.units
    return around, 6 + sizes.phases * (1 + cut.tiles * tile)
