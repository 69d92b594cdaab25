"""How invocations share lines of elements: reductions, scans, softmax, normalizations, top k.

A line (a row, the reduced dimensions, a scan) is shared by `lanes` adjacent invocations, and cut into `chunks` if lines
are too few to keep the device busy. On CPU drivers an invocation takes whole lines if that keeps the cores busy: a
vector's invocations run in step anyway, and at a barrier the driver saves and reloads all that the invocations hold,
except when the workgroup is a single vector.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dml.compiler.selection import fast_halves, max_steps, shuffled
from dml.compiler.selection.devices import filling, has_few_registers, has_fewest_registers, profile, registers
from dml.compiler.selection.thresholds import threshold
from dml.compiler.selection.tuned import at_least, tuned
from dml.compiler.target import Target

#: Invocations in one vector of llvmpipe (with AVX2). Barriers are cheap in a workgroup of this size.
CPU_VECTOR = 8
#: Workgroup size of kernels without a barrier, on CPU drivers.
CPU_WORKGROUP: int = threshold("lines.CPU_WORKGROUP")
#: Invocations that occupy a CPU's cores. With fewer, long lines are split.
CPU_PARALLEL: int = threshold("lines.CPU_PARALLEL")
#: Invocations that fill an H100. With fewer, lines are split.
GPU_PARALLEL: int = threshold("lines.GPU_PARALLEL")
#: Steps of a reduction that a GPU's invocation loads at once: 64 bytes in flight per invocation, with as many
#: invocations as an H100 runs.
GPU_TOGETHER: int = threshold("lines.GPU_TOGETHER")
#: Maximum number of elements that a reduction's invocation with few registers computes at once. Each element adds code:
#: the exponentials of 32 FLOAT16 elements took ten times as much code as their sum (tools/gpu_compile on Adreno 6xx).
COMPUTED_TOGETHER = 16
#: Invocations that share a result where the elements of adjacent results are contiguous. A workgroup of 128 then has 8
#: adjacent results, and reads 128 contiguous bytes.
STRIDED_LANES = 16
#: Minimum number of steps per invocation where a reduction starts twice as many invocations as fill a GPU.
STRIDED_STEPS: int = threshold("lines.STRIDED_STEPS")
#: Steps that kernels sum into a block before they add the block to the total (BLOCK in "reduction/reduce.comp"). Chunks
#: have at least one block.
SUM_BLOCK = 32


@dataclass(frozen=True)
class LineSharing:
    """Division of lines of elements among a dispatch's invocations.

    lanes: adjacent invocations, a power of two, that share a chunk. chunks: independent parts of each line, whose
    results another dispatch combines. items: adjacent elements that a lane takes at a time. together: steps of a
    reduction whose loads are in flight at once. strided_lanes: a chunk's lanes are not adjacent; adjacent invocations
    have adjacent lines. subgroup: invocations that combine results without shared memory, or 0. vectors: the items are
    whole 16-byte vectors. stagger: elements by which each invocation starts further along its line than the previous
    one, wrapping around, where the order is free.
    """

    lanes: int
    workgroup: int
    chunks: int = 1
    items: int = 1
    together: int = 1
    strided_lanes: bool = False
    subgroup: int = 0
    vectors: bool = False
    stagger: int = 0

    def cut(self, steps: int) -> tuple[int, int]:
        """Return the steps of a chunk and the number of such chunks, for lines of ``steps`` steps."""
        chunk = -(-steps // self.chunks)
        return chunk, -(-steps // chunk)


def _lanes(target: Target, steps: int, each: int, most: int | None = None) -> int:
    """Return the number of invocations that share a line: at most a workgroup or ``most``, each with at least ``each``
    steps."""
    lanes = 1
    while lanes < (most or target.workgroup) and steps >= 2 * each * lanes:
        lanes *= 2
    return lanes


#: Maximum number of steps that an invocation sums, so that float sums of sums stay exact to a few ulp.
MOST_SUMMED = 2048
#: Maximum number of bytes of a chunk on CPU drivers: a core's cache keeps them until adjacent invocations have read
#: their part.
CACHED: int = threshold("lines.CACHED")
#: Maximum number of bytes of the reduced rows for which a core's cache holds all of them, so that chunks need not be
#: limited to CACHED bytes.
CACHED_ANYWAY: int = threshold("lines.CACHED_ANYWAY")


def reduction_sharing(target: Target, results: int, steps: int, row: int, computed: int = 0) -> LineSharing:
    """Return the division of ``results`` reductions of ``steps`` steps each.

    row: bytes of the elements that adjacent results read in a step, where those are contiguous, else 0. Adjacent
    invocations then take adjacent results. computed: elements of a step that are transformed before they are combined,
    or 0.
    """
    longest = min(MOST_SUMMED, max_steps(target))
    if not profile(target).shares_memory:
        if row * steps > CACHED_ANYWAY:
            # Each cache line that an invocation reads also holds elements of its neighbours, which read them later.
            longest = min(longest, max(SUM_BLOCK, CACHED // row))
        parallel = min(CPU_PARALLEL // max(1, results), steps // SUM_BLOCK)
        workgroup = min(CPU_WORKGROUP, target.max_workgroup_invocations)
        return LineSharing(1, workgroup, chunks=max(1, parallel, -(-steps // longest)))
    together = GPU_TOGETHER
    if computed and has_few_registers(target):
        together = max(1, min(together, COMPUTED_TOGETHER // computed))
    most = STRIDED_LANES if row else _most_lanes(target, results)
    lanes = _lanes(target, steps, each=GPU_TOGETHER, most=most)
    parallel = min(filling(target, GPU_PARALLEL) // max(1, results * lanes), steps // (SUM_BLOCK * lanes))
    chunks = max(1, parallel, -(-steps // (longest * lanes)))
    workgroup = min(HOLDERS, target.max_workgroup_invocations)
    if row:
        more = min(2 * filling(target, GPU_PARALLEL) // max(1, results * lanes), steps // (STRIDED_STEPS * lanes))
        return LineSharing(lanes, workgroup, max(chunks, more), together=together, strided_lanes=lanes > 1)
    return LineSharing(lanes, workgroup, chunks, together=together, subgroup=_subgroup(target, lanes, workgroup))


def _most_lanes(target: Target, lines: int) -> int | None:
    """Return the maximum number of lanes that share a line: a subgroup's, which need no barrier, if there are enough
    lines to fill the GPU with subgroups, else None (a workgroup's)."""
    size = shuffled(target)
    return size if size and lines * size >= filling(target, GPU_PARALLEL) else None


def _subgroup(target: Target, lanes: int, workgroup: int) -> int:
    """Return the number of invocations that combine the lanes' results without shared memory, or 0."""
    size = shuffled(target)
    return size if lanes > 1 and workgroup % max(1, size) == 0 else 0


#: Maximum number of elements for which a CPU driver's reductions read a row one element at a time: vectors gain little
#: there, and one kernel serves images of every size.
CPU_FEW_REDUCED: int = threshold("lines.CPU_FEW_REDUCED")


def reduction_takes_vectors(target: Target, elements: int) -> bool:
    """Whether a step of a reduction reads 16 bytes of a row, where rows are aligned to 16 bytes."""
    return not profile(target).slow_compiler or elements > CPU_FEW_REDUCED


#: Minimum number of elements of a scan's chunk on CPU drivers.
CPU_SCANNED: int = threshold("lines.CPU_SCANNED")
#: Adjacent elements that a lane of a scan combines by itself, between the steps that wait for other lanes.
SCAN_ITEMS = 4
#: Minimum number of groups of SCAN_ITEMS elements per lane in a scan's chunk.
SCAN_ROUNDS: int = threshold("lines.SCAN_ROUNDS")
#: Scan lines that fill a GPU with one invocation each, where the elements of adjacent lines are contiguous.
MANY_LINES: int = threshold("lines.MANY_LINES")


def scan_sharing(target: Target, lines: int, length: int, *, interleaved: bool, unit: int = 1) -> LineSharing:
    """Return the division of running sums along ``lines`` lines of ``length`` elements.

    interleaved: the elements of adjacent lines are contiguous. unit: elements per vector along a line, else 1.
    """
    most = max_steps(target)
    if not profile(target).shares_memory:
        chunks = max(1, min(CPU_PARALLEL // lines, length // CPU_SCANNED), -(-length // most))
        return LineSharing(1, min(CPU_WORKGROUP, target.max_workgroup_invocations), chunks)
    lanes = items = 1
    vectors = 1 < unit <= 2 * SCAN_ITEMS
    if not interleaved or lines < MANY_LINES:
        items = unit if vectors else SCAN_ITEMS
        lanes = _lanes(target, length, each=items, most=_most_lanes(target, lines))
    chunks = min(filling(target, GPU_PARALLEL) // max(1, lines * lanes), length // (SCAN_ROUNDS * lanes * items))
    longest = most // items * items * lanes
    return LineSharing(
        lanes,
        target.workgroup,
        max(1, chunks, -(-length // longest)),
        items,
        subgroup=_subgroup(target, lanes, target.workgroup),
        vectors=vectors and items == unit,
    )


#: Maximum number of elements of NONZERO_COORDINATES per invocation, which writes their coordinates one after the other.
NONZERO_CHUNK: int = threshold("lines.NONZERO_CHUNK")
#: Minimum number of invocations before one takes several elements.
NONZERO_CHUNKS = 64


def nonzero_chunk(count: int) -> int:
    """Return the number of elements whose coordinates an invocation writes."""
    return max(1, min(NONZERO_CHUNK, count // NONZERO_CHUNKS))


#: Passes over a row: softmax computes maximum, sum and result; normalizations mean, variance and result.
WALKS = 3
#: (length, rows): on CPU drivers, softmax takes several dispatches if rows have more than ``length`` elements and there
#: are fewer than ``rows``. Reductions split the rows, which keeps more invocations busy but reads the rows once more.
CPU_LONG_ROWS: tuple[int, int] = threshold("lines.CPU_LONG_ROWS")
#: CPU_LONG_ROWS for GPUs.
GPU_LONG_ROWS: tuple[int, int] = threshold("lines.GPU_LONG_ROWS")


#: Maximum number of elements for which a CPU driver's softmax reads one element at a time: that is slower, but one
#: kernel serves rows of every length, and a decoder's rows grow with every token.
CPU_FEW_ELEMENTS: int = threshold("lines.CPU_FEW_ELEMENTS")
#: Minimum number of elements for which a CPU driver's softmax reads two float32 vectors at a time; such kernels take
#: longer to compile.
CPU_MANY_ELEMENTS: int = threshold("lines.CPU_MANY_ELEMENTS")
#: Whether a CPU driver's softmax reads whole vectors even if FLOAT32 rows start and end inside vectors.
CPU_TAKES_RAGGED: bool = threshold("lines.CPU_TAKES_RAGGED")


def softmax_vectors(target: Target, elements: int) -> int:
    """Return the 16-byte vectors in a step of softmax, at most two, if rows are multiples of them; 0 for single
    elements."""
    if not profile(target).slow_compiler:
        return 1
    return 2 if elements >= CPU_MANY_ELEMENTS else int(elements > CPU_FEW_ELEMENTS)


def softmax_takes_ragged(target: Target) -> bool:
    """Whether softmax reads whole vectors even if FLOAT32 rows start and end inside vectors. GPUs hold such rows in
    registers."""
    return CPU_TAKES_RAGGED and not profile(target).shares_memory


#: Elements by which each invocation starts further along its row than the previous one: whole steps and whole cache
#: lines. Rows a power of two apart map to the same cache sets, for reads and writes; so each invocation starts in
#: its own cache line.
CPU_STAGGER: int = threshold("lines.CPU_STAGGER")


def softmax_sharing(target: Target, steps: int) -> LineSharing:
    """Return the division of rows of ``steps`` steps that each take one dispatch."""
    if not profile(target).shares_memory:
        return LineSharing(1, min(CPU_VECTOR, target.max_workgroup_invocations), stagger=CPU_STAGGER)
    return LineSharing(_lanes(target, steps, each=1), target.workgroup)


def softmax_fits_one_dispatch(target: Target, rows: int, length: int, steps: int) -> bool:
    """Whether rows of ``length`` elements in ``steps`` steps take one dispatch, without reductions that split them."""
    long, few = GPU_LONG_ROWS if profile(target).shares_memory else CPU_LONG_ROWS
    if length > long and rows < few:
        return False
    return WALKS * -(-steps // softmax_sharing(target, steps).lanes) <= max_steps(target)


#: Steps (vectors or single elements) of a row that a GPU's invocation holds in registers, while fewer than FEW_HOLDERS
#: invocations share the row. An H100's memory needs four loads of 16 bytes in flight per invocation.
HELD_STEPS: int = threshold("lines.HELD_STEPS")
#: Once FEW_HOLDERS invocations share a row, each may hold up to MOST_HELD_STEPS steps.
FEW_HOLDERS, MOST_HELD_STEPS = 128, 8
#: Candidate steps for `dml tune`; 0: rows are not held.
HELD_STEPS_CANDIDATES = (2, 4, 8, 0)
#: HELD_COUNTS: step counts that kernels are built for. MOST_HELD: maximum elements per invocation; 80 fit the 128
#: registers that each of 512 invocations of a multiprocessor has. HELD_OF_REGISTERS: share of the registers for held
#: elements. (Group norm of 10 x 64 x 64 has rows of 40,960 elements.)
HELD_COUNTS, MOST_HELD, HELD_OF_REGISTERS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20), 80, 5 / 8
#: Registers that the position of a step in its segment takes on Adreno, whose compiler finds the positions of all steps
#: first: with 64 registers, 10 steps of one element fit, and 12 spilled.
POSITION = 5
#: Where registers are fewest, more invocations share a row before one holds more elements: of 64 registers, Mesa's
#: compiler for Mali needs 60 for 20 elements, and spills for 24; for 12 if they are in several segments. FEWEST_STEPS:
#: maximum number of steps, each of which has an address.
FEWEST_HELD, FEWEST_HELD_OF_SEGMENTS, FEWEST_STEPS = 20, 10, 12
#: MOST_HOLDERS: maximum number of invocations that share a row held in registers. HOLDERS: smallest workgroup.
MOST_HOLDERS, HOLDERS = 512, 128


@dataclass(frozen=True)
class HeldRows:
    """Rows held in registers: ``lanes`` adjacent invocations share a row, each with up to ``steps`` steps of it.

    subgroup: as in LineSharing.
    """

    lanes: int
    steps: int
    workgroup: int
    subgroup: int = 0


@dataclass(frozen=True)
class HeldRowsChoice:
    """Tunable choice for rows held in registers. steps: maximum steps per invocation while few invocations share a row;
    0 if rows are not held."""

    steps: int


def held_rows(target: Target, length: int, unit: int, *, segmented: bool = False) -> HeldRows | None:
    """Return how rows of ``length`` elements, in steps of ``unit``, are held in registers; None if a row is too long,
    and on CPU drivers, where held values go through memory at every barrier. segmented: a row is several segments, and
    each step has its own start."""
    if not profile(target).shares_memory:
        return None
    if _held(target, length, unit, HELD_STEPS, segmented) is None:
        return None

    def candidates() -> list[HeldRowsChoice]:
        return [
            HeldRowsChoice(each)
            for each in HELD_STEPS_CANDIDATES
            if not each or _held(target, length, unit, each, segmented)
        ]

    found = tuned(
        target, "rows", lambda: f"{at_least(length)} elements by {unit}", HeldRowsChoice(HELD_STEPS), candidates
    )
    return _held(target, length, unit, found.steps, segmented) if found.steps else None


def _held(target: Target, length: int, unit: int, few: int, segmented: bool) -> HeldRows | None:
    """Return how rows are held in registers; None if they are too long. few: maximum steps per invocation while few
    invocations share a row."""
    steps, lanes = -(-length // unit), 1
    most = min(MOST_HOLDERS, target.max_workgroup_invocations)
    spread = MOST_HELD
    if has_fewest_registers(target):
        spread = FEWEST_HELD_OF_SEGMENTS if segmented else FEWEST_HELD
    few, many = (min(limit, spread // unit) for limit in (few, MOST_HELD_STEPS))
    while lanes < most and steps > lanes * (few if lanes < FEW_HOLDERS else many):
        lanes *= 2
    counts = (each for each in HELD_COUNTS if each <= FEWEST_STEPS or not has_fewest_registers(target))
    each = next((each for each in counts if each * lanes >= steps), 0)
    if not each or each * unit > min(spread, HELD_OF_REGISTERS * registers(target, lanes)):
        return None
    keeps_positions = segmented and profile(target).loads_early and has_few_registers(target)
    if keeps_positions and each * (unit + POSITION) > registers(target, lanes):
        return None
    workgroup = max(lanes, min(HOLDERS, target.max_workgroup_invocations))
    return HeldRows(lanes, each, workgroup, _subgroup(target, lanes, workgroup))


def holds_vectors(target: Target, bits: int) -> bool:
    """Whether a normalization holds elements as stored and converts them in each pass. bits: width of an element.

    Eighty elements as float32 leave room for one workgroup of 512 on an H100's multiprocessor, half of what its memory
    needs. This applies if a conversion takes one instruction.
    """
    return bits == 16 and bool(fast_halves(target))


@dataclass(frozen=True)
class Rows:
    """Rows to normalize: each has ``segments`` segments of ``steps`` steps. interleaved: elements of adjacent rows are
    contiguous."""

    rows: int
    segments: int
    steps: int
    interleaved: bool

    def iterations(self, lanes: int) -> int:
        """Return an invocation's loop iterations for one pass over its share of a row, including those over blocks
        of 32."""
        return self.segments * (-(-self.steps // lanes) + -(-self.steps // (lanes * SUM_BLOCK)) + 1)


#: Rows that fill a CPU's vector with one invocation each.
CPU_MANY_ROWS: int = threshold("lines.CPU_MANY_ROWS")
#: Minimum number of steps for which sharing a row among the invocations of a vector is faster, despite the barriers.
CPU_SHARED_STEPS: int = threshold("lines.CPU_SHARED_STEPS")
#: On CPU drivers, rows with fewer iterations per pass take one dispatch, however few rows there are.
SHORT_WALK: int = threshold("lines.SHORT_WALK")
#: On GPUs, rows with fewer iterations per pass take one dispatch; longer rows are split, which keeps more invocations
#: busy.
GPU_SHORT_WALK: int = threshold("lines.GPU_SHORT_WALK")
#: Maximum number of iterations per pass on CPU drivers where elements of adjacent rows are contiguous: each pass brings
#: the neighbours' memory into the cache.
CPU_WALK_INTERLEAVED: int = threshold("lines.CPU_WALK_INTERLEAVED")
#: CPU_BUSY: number of invocations that keep a CPU busy; from there on, longer passes are acceptable. GPU_WALK:
#: iterations that a GPU's pass must stay below.
CPU_BUSY, GPU_WALK = 16, 4096
#: Number of invocations that keep a GPU busy; from there on, longer passes are acceptable.
GPU_BUSY: int = threshold("lines.GPU_BUSY")


def normalization_sharing(target: Target, rows: Rows) -> LineSharing:
    """Return the division of rows that each take one dispatch. Rows have one invocation each if elements of adjacent
    rows are contiguous."""
    if not profile(target).shares_memory:
        # One invocation per row if that fills a vector and fits the loop limit, else one vector per row.
        few = rows.rows < CPU_MANY_ROWS or WALKS * rows.iterations(1) >= max_steps(target)
        shared = few and rows.steps >= CPU_SHARED_STEPS and not rows.interleaved
        stagger = 0 if shared or rows.interleaved else CPU_STAGGER
        return LineSharing(CPU_VECTOR if shared else 1, CPU_VECTOR, stagger=stagger)
    if rows.interleaved:
        return LineSharing(1, target.workgroup)
    # A row too long to hold is read again from a cache, as long as few rows are in flight.
    wide = _lanes(target, rows.steps, each=4, most=min(MOST_HOLDERS, target.max_workgroup_invocations))
    lanes = max(wide, _lanes(target, rows.steps, each=1))
    return LineSharing(lanes, max(lanes, target.workgroup), together=GPU_TOGETHER)


def normalization_fits_one_dispatch(target: Target, rows: Rows) -> bool:
    """Whether an invocation's share of a row is small enough, and enough invocations are busy; else rows are split."""
    lanes = normalization_sharing(target, rows).lanes
    share = rows.iterations(lanes)
    if WALKS * share >= max_steps(target):
        return False
    busy = rows.rows * lanes
    if profile(target).shares_memory:
        return share < GPU_SHORT_WALK or (share < GPU_WALK and busy >= GPU_BUSY)
    if rows.interleaved and share > CPU_WALK_INTERLEAVED:
        return False
    return share < SHORT_WALK or rows.rows >= CPU_MANY_ROWS or busy >= CPU_BUSY


#: Largest K for which a CPU driver's invocation selects elements one at a time.
MOST_SELECTED: int = threshold("lines.MOST_SELECTED")
#: Cost per line of selection by groups (a workgroup of one vector keeps the first element of each group) on llvmpipe.
#: Unit: elements visited by selection without groups.
CPU_LINE_GROUPED: int = threshold("lines.CPU_LINE_GROUPED")
#: Cost per selected element of selection by groups, in the unit of CPU_LINE_GROUPED.
CPU_PICKED_GROUPED: int = threshold("lines.CPU_PICKED_GROUPED")
#: MOST_GROUPS: maximum number of groups in a block, which fill 6 KiB of shared memory. GROUPED_ROUNDS: loop iterations
#: per pick for two reductions, besides those over the groups and over one group.
MOST_GROUPS, GROUPED_ROUNDS = 512, 12
#: Where lines are few, they are split into blocks of at least this many times K elements, so that most of a block is
#: discarded.
SELECTED_FROM = 8
#: Number of elements, a power of two, that an invocation of a CPU driver sorts. With twice as many, a sort is up to a
#: fifth faster, and its kernel takes 0.2 s longer to compile.
CPU_SORTED: int = threshold("lines.CPU_SORTED")
#: Maximum number of elements of a block that a GPU's workgroup sorts in shared memory: 12 bytes for a 64-bit element
#: and its index, of Vulkan's 16 KiB.
GPU_SORTED = 1024
#: Minimum number of elements that a workgroup sorts, in several blocks where lines are short.
SORTED_AT_ONCE = 256
#: Invocations that sort together on a GPU; every device supports this workgroup size.
GPU_SORTERS = 128


@dataclass(frozen=True)
class BlockSharing:
    """How the first K elements of each line are found: in blocks of ``block`` elements, whose results are merged.

    selects: one invocation picks the first elements of a block one after the other; else a workgroup sorts a block or,
    ``alone``, an invocation. per_group: blocks per workgroup. steps: per invocation. group: if not 0, a workgroup picks
    the elements and keeps the first of each ``group`` elements.
    """

    block: int
    selects: bool
    per_group: int
    workgroup: int
    steps: int
    group: int = 0
    alone: bool = False


def top_k_sharing(target: Target, lines: int, length: int, k: int) -> BlockSharing:
    """Return the blocks for the first ``k`` of each of ``lines`` lines of ``length`` elements."""
    block = 1 << max(1, (length - 1).bit_length())
    if not profile(target).shares_memory:
        if k <= MOST_SELECTED:
            grouped = _grouped(target, length, k) if _grouping_pays(lines, length, k) else None
            return grouped or _selected(target, lines, length, k)
        return BlockSharing(min(CPU_SORTED, block), False, target.workgroup, target.workgroup, 1, alone=True)
    block = min(GPU_SORTED, block)
    while block > 2 and _sorted(target, block).steps > max_steps(target):
        block //= 2
    return _sorted(target, block)


#: Minimum number of elements of a line per selected element for which CPU drivers first select groups, by the first
#: element of each, if more than MOST_SELECTED elements are selected.
CPU_GROUPED_LENGTH: int = threshold("lines.CPU_GROUPED_LENGTH")


def top_k_group(target: Target, length: int, k: int) -> int:
    """Return the size of a group of adjacent elements if the first ``k`` elements of a line are selected from the k
    groups whose best elements come first; 1 if they are selected from the whole line.

    The root of length / k makes the number of groups equal to the number of elements in k groups.
    """
    if profile(target).shares_memory or k <= MOST_SELECTED or length < CPU_GROUPED_LENGTH * k:
        return 1
    return math.isqrt(length // k)


def _grouping_pays(lines: int, length: int, k: int) -> bool:
    # Without groups each invocation takes a line, so if lines are fewer than the invocations of a vector, the others
    # are idle.
    idle = max(1, CPU_VECTOR // lines)
    return idle * k * length >= CPU_LINE_GROUPED + length + CPU_PICKED_GROUPED * k


def _grouped(target: Target, length: int, k: int) -> BlockSharing | None:
    """Return blocks that a workgroup scans once; then, for each selected element, it scans the groups' first elements
    and one group. None if the loops would be too long."""
    workgroup = min(CPU_VECTOR, target.max_workgroup_invocations)
    most, block = max_steps(target), length
    while block >= k:
        group = workgroup
        while group * group < 2 * block:
            group *= 2
        groups = -(-block // group)
        rounds = -(-groups // workgroup)
        steps = rounds * group + k * (rounds + group // workgroup + GROUPED_ROUNDS)
        if groups <= MOST_GROUPS and steps <= most:
            return BlockSharing(block, True, 1, workgroup, steps, group)
        block = -(-block // 2)
    return None


def _selected(target: Target, lines: int, length: int, k: int) -> BlockSharing:
    """Return blocks that an invocation scans once for each element that it selects."""
    most = max_steps(target)
    blocks = max(1, min(CPU_PARALLEL // lines, length // (SELECTED_FROM * k)), -(-length * k // most))
    block = max(1, min(-(-length // blocks), most // k))
    return BlockSharing(block, True, target.workgroup, target.workgroup, min(k, block) * block)


def _sorted(target: Target, block: int) -> BlockSharing:
    """Return blocks for a GPU's bitonic sort; their number of elements is a power of two.

    Steps: reads, exchanges, writes.
    """
    per_group = max(1, SORTED_AT_ONCE // block)
    workgroup = min(GPU_SORTERS, block * per_group // 2, target.max_workgroup_invocations)
    shares = -(-block * per_group // workgroup)
    exchanges = (block.bit_length() - 1) * block.bit_length() // 2
    return BlockSharing(block, False, per_group, workgroup, 2 * shares + exchanges * (1 + shares // 2))
