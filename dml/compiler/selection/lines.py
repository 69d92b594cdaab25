"""How lines of elements are shared: reductions, scans, softmax, normalizations, top k.

Kernels along lines (rows, reduced dimensions, scans) share a line among `lanes` neighbouring invocations, and cut it
into `chunks` where lines are too few to keep the device busy. On CPU drivers an invocation has its lines to itself
where that keeps the cores busy: the invocations of a vector run in step anyway, and a barrier makes the driver save and
load all that the invocations hold, unless the workgroup is a single vector.
"""

from __future__ import annotations

from dataclasses import dataclass

from dml.compiler.selection import fast_halves, max_steps, shuffled
from dml.compiler.selection.devices import filling, has_few_registers, registers
from dml.compiler.selection.thresholds import threshold
from dml.compiler.selection.tuned import at_least, tuned
from dml.compiler.target import Target

#: Invocations in one vector of llvmpipe (with AVX2). A workgroup of this size has no costly barrier.
CPU_VECTOR = 8
#: Invocations of a workgroup whose kernel has no barrier, on CPU drivers.
CPU_WORKGROUP: int = threshold("lines.CPU_WORKGROUP")
#: Invocations among which few long lines are split: enough for the cores of a CPU, or to fill a GPU.
CPU_PARALLEL: int = threshold("lines.CPU_PARALLEL")
GPU_PARALLEL: int = threshold("lines.GPU_PARALLEL")
#: Steps of a reduction that a GPU's invocation takes at once: with as many invocations as an H100 runs, 64 bytes of
#: each on their way.
GPU_TOGETHER: int = threshold("lines.GPU_TOGETHER")
#: Elements that those steps compute with at most where an invocation has few registers: each is code of its own, and
#: exponentials of 32 FLOAT16 elements were ten times as much of it as their sum (tools/gpu_compile on Adreno 6xx).
COMPUTED_TOGETHER = 16
#: Invocations of a workgroup that share a result whose neighbours lie beside it: the 8 others that are left of 128 read
#: 128 bytes side by side. And the steps with which each is worth twice as many of them as fill a GPU.
APART = 16
APART_STEPS: int = threshold("lines.APART_STEPS")
#: Steps that kernels add up before they add that to the sum of such sums (BLOCK in "reduction/reduce.comp"). Fewer are
#: not worth a chunk of their own.
SUM_BLOCK = 32


@dataclass(frozen=True)
class LineSharing:
    """How the invocations of a dispatch share lines of elements.

    lanes: neighbours in a workgroup, a power of two, that share a chunk. chunks: parts of each line that work by
    themselves, and whose results another dispatch combines. items: neighbouring elements that a lane takes at a time.
    together: steps of a reduction whose loads are on their way at once. apart: the lanes of a chunk are no neighbours:
    those have lines that lie side by side. subgroup: invocations that combine what they have without shared memory, or
    0. vectors: the items are whole vectors of 16 bytes. turned: elements by which neighbours with a line each begin
    further along it, and go around, where the order is open.
    """

    lanes: int
    workgroup: int
    chunks: int = 1
    items: int = 1
    together: int = 1
    apart: bool = False
    subgroup: int = 0
    vectors: bool = False
    turned: int = 0

    def cut(self, steps: int) -> tuple[int, int]:
        """For lines of so many steps: the steps of a chunk, and the chunks that there are of that length."""
        chunk = -(-steps // self.chunks)
        return chunk, -(-steps // chunk)


def _lanes(target: Target, steps: int, each: int, most: int | None = None) -> int:
    """Return how many invocations share a line: at most a workgroup or ``most``, each with at least ``each`` steps."""
    lanes = 1
    while lanes < (most or target.workgroup) and steps >= 2 * each * lanes:
        lanes *= 2
    return lanes


#: Steps of a reduction that an invocation makes at most, so that float sums of sums stay exact to a few ulp.
MOST_SUMMED = 2048
#: Bytes that stay in a core's cache until all invocations of a workgroup have read their part of them, and bytes for
#: which that is of no concern.
CACHED: int = threshold("lines.CACHED")
CACHED_ANYWAY: int = threshold("lines.CACHED_ANYWAY")


def reduction_sharing(target: Target, results: int, steps: int, row: int, computed: int = 0) -> LineSharing:
    """For reductions of ``steps`` steps to each of ``results``.

    row: the bytes of neighbouring results' elements where those are adjacent in memory, else 0. An invocation then has
    a result of its own, and neighbours read side by side. computed: elements of a step, where they are not combined as
    they are.
    """
    longest = min(MOST_SUMMED, max_steps(target))
    if target.is_cpu:
        if row * steps > CACHED_ANYWAY:
            # A vector of the memory that one invocation reads holds elements of its neighbours, who come to it later.
            longest = min(longest, max(SUM_BLOCK, CACHED // row))
        parallel = min(CPU_PARALLEL // max(1, results), steps // SUM_BLOCK)
        workgroup = min(CPU_WORKGROUP, target.max_workgroup_invocations)
        return LineSharing(1, workgroup, chunks=max(1, parallel, -(-steps // longest)))
    together = GPU_TOGETHER
    if computed and has_few_registers(target):
        together = max(1, min(together, COMPUTED_TOGETHER // computed))
    # A subgroup needs no barrier, if that leaves enough of them.
    near = shuffled(target)
    most = APART if row else near if near and results * near >= filling(target, GPU_PARALLEL) else None
    lanes = _lanes(target, steps, each=GPU_TOGETHER, most=most)
    parallel = min(filling(target, GPU_PARALLEL) // max(1, results * lanes), steps // (SUM_BLOCK * lanes))
    chunks = max(1, parallel, -(-steps // (longest * lanes)))
    workgroup = min(HOLDERS, target.max_workgroup_invocations)
    if row:
        more = min(2 * filling(target, GPU_PARALLEL) // max(1, results * lanes), steps // (APART_STEPS * lanes))
        return LineSharing(lanes, workgroup, max(chunks, more), together=together, apart=lanes > 1)
    subgroup = near if lanes > 1 and workgroup % max(1, near) == 0 else 0
    return LineSharing(lanes, workgroup, chunks, together=together, subgroup=subgroup)


#: Elements up to which a CPU driver's reductions take those of a row one by one: vectors gain little there, and one
#: kernel is enough for images of every size.
CPU_FEW_REDUCED: int = threshold("lines.CPU_FEW_REDUCED")


def reduction_takes_vectors(target: Target, elements: int) -> bool:
    """Whether a step of a reduction takes 16 bytes of a row where rows begin at multiples of them."""
    return not target.is_cpu or elements > CPU_FEW_REDUCED


#: Elements of a line of a scan that are worth a chunk of their own on a CPU.
CPU_SCANNED: int = threshold("lines.CPU_SCANNED")
#: Neighbouring elements that a lane of a scan combines by itself, between the steps that wait for the other lanes; and
#: how many times it does that at least in a chunk.
SCAN_ITEMS = 4
SCAN_ROUNDS: int = threshold("lines.SCAN_ROUNDS")
#: Lines of a scan that fill a GPU well enough with one invocation each, where these read side by side.
MANY_LINES: int = threshold("lines.MANY_LINES")


def scan_sharing(target: Target, lines: int, length: int, *, beside: bool, unit: int = 1) -> LineSharing:
    """For running sums along ``lines`` of ``length``.

    beside: neighbouring lines lie side by side in memory. unit: elements that lie together in vectors, else 1.
    """
    most = max_steps(target)
    if target.is_cpu:
        chunks = max(1, min(CPU_PARALLEL // lines, length // CPU_SCANNED), -(-length // most))
        return LineSharing(1, min(CPU_WORKGROUP, target.max_workgroup_invocations), chunks)
    lanes, items, near = 1, 1, shuffled(target)
    vectors = 1 < unit <= 2 * SCAN_ITEMS
    if not beside or lines < MANY_LINES:
        items = unit if vectors else SCAN_ITEMS
        # Subgroups wait for nobody, if there are enough of them.
        fills = near and lines * near >= filling(target, GPU_PARALLEL)
        lanes = _lanes(target, length, each=items, most=near if fills else None)
    chunks = min(filling(target, GPU_PARALLEL) // max(1, lines * lanes), length // (SCAN_ROUNDS * lanes * items))
    longest = most // items * items * lanes
    subgroup = near if lanes > 1 and target.workgroup % max(1, near) == 0 else 0
    return LineSharing(
        lanes,
        target.workgroup,
        max(1, chunks, -(-length // longest)),
        items,
        subgroup=subgroup,
        vectors=vectors and items == unit,
    )


#: Elements of NONZERO_COORDINATES that an invocation goes through at most, since it writes their coordinates one after
#: the other; and the invocations that there are to be before one takes several elements.
NONZERO_CHUNK: int = threshold("lines.NONZERO_CHUNK")
NONZERO_CHUNKS = 64


def nonzero_chunk(count: int) -> int:
    """Elements whose coordinates one invocation writes."""
    return max(1, min(NONZERO_CHUNK, count // NONZERO_CHUNKS))


#: Times that softmax (maximum, sum, result) and normalizations (mean, variance, result) walk along a row.
WALKS = 3
#: Softmax of rows that are longer than the first and fewer than the second takes several dispatches: reductions split
#: rows and so keep more invocations busy, at the price of reading them once more.
CPU_LONG_ROWS: tuple[int, int] = threshold("lines.CPU_LONG_ROWS")
GPU_LONG_ROWS: tuple[int, int] = threshold("lines.GPU_LONG_ROWS")


#: Elements up to which a CPU driver's softmax moves them one by one: that is slower, but one kernel for rows of any
#: length, and a decoder's grow with every token.
CPU_FEW_ELEMENTS: int = threshold("lines.CPU_FEW_ELEMENTS")
#: Elements from which it takes two vectors of float32 at a time, which take longer to compile.
CPU_MANY_ELEMENTS: int = threshold("lines.CPU_MANY_ELEMENTS")
#: Whether it takes whole vectors where rows of FLOAT32 begin and end within them.
CPU_TAKES_RAGGED: bool = threshold("lines.CPU_TAKES_RAGGED")


def softmax_vectors(target: Target, elements: int) -> int:
    """Return the 16-byte vectors in a step of softmax, at most two, if rows are multiples of them; 0 for single
    elements."""
    if not target.is_cpu:
        return 1
    return 2 if elements >= CPU_MANY_ELEMENTS else int(elements > CPU_FEW_ELEMENTS)


def softmax_takes_ragged(target: Target) -> bool:
    """Whether softmax takes whole vectors where rows of FLOAT32 begin and end within them. GPUs hold such rows."""
    return target.is_cpu and CPU_TAKES_RAGGED


#: Elements of whole steps in lines of a cache. Rows that lie a power of two apart compete for the same few places of
#: a cache, what is written with what is read: each neighbour is at a line of its own.
CPU_TURNED: int = threshold("lines.CPU_TURNED")


def softmax_sharing(target: Target, steps: int) -> LineSharing:
    """For rows of so many steps, each of which goes through one dispatch."""
    if target.is_cpu:
        return LineSharing(1, min(CPU_VECTOR, target.max_workgroup_invocations), turned=CPU_TURNED)
    return LineSharing(_lanes(target, steps, each=1), target.workgroup)


def softmax_fits_one_dispatch(target: Target, rows: int, length: int, steps: int) -> bool:
    """Whether rows of ``length`` elements in ``steps`` steps need no reductions that split them."""
    long, few = CPU_LONG_ROWS if target.is_cpu else GPU_LONG_ROWS
    if length > long and rows < few:
        return False
    return WALKS * -(-steps // softmax_sharing(target, steps).lanes) <= max_steps(target)


#: Vectors, or single elements, of a row that an invocation of a GPU holds, while as few neighbours as the second number
#: share the row; and where more could. Four loads of 16 bytes of each on their way are what an H100's memory asks for.
HELD_STEPS: int = threshold("lines.HELD_STEPS")
FEW_HOLDERS, MOST_HELD_STEPS = 128, 8
#: The steps that a measurement may find better; 0 is not to hold rows.
HELD_MANNERS = (2, 4, 8, 0)
#: How many steps a kernel holds: one of these; and elements, of which 80 fit the 128 registers that 512 invocations of
#: a multiprocessor have. (Group norm of 10 x 64 x 64 is 40,960 elements to a row.)
HELD_COUNTS, MOST_HELD, HELD_OF_REGISTERS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20), 80, 5 / 8
#: Neighbours that share a held row at most, and invocations of a workgroup at least.
MOST_HOLDERS, HOLDERS = 512, 128


@dataclass(frozen=True)
class HeldRows:
    """Rows that invocations hold: ``lanes`` neighbours share one, each with up to ``steps`` steps of it.

    subgroup: as of a LineSharing.
    """

    lanes: int
    steps: int
    workgroup: int
    subgroup: int = 0


@dataclass(frozen=True)
class HeldManner:
    """The tuned choice for held rows: an invocation's steps while few share a row; 0 if rows are not held."""

    steps: int


def held_rows(target: Target, length: int, unit: int) -> HeldRows | None:
    """For rows of ``length`` elements in steps of ``unit``; None where a row is too long to hold, and on CPU drivers,
    where what a workgroup holds goes through memory at every barrier."""
    if target.is_cpu:
        return None
    if _held(target, length, unit, HELD_STEPS) is None:
        return None

    def manners() -> list[HeldManner]:
        return [HeldManner(each) for each in HELD_MANNERS if not each or _held(target, length, unit, each)]

    found = tuned(target, "rows", lambda: f"{at_least(length)} elements by {unit}", HeldManner(HELD_STEPS), manners)
    return _held(target, length, unit, found.steps) if found.steps else None


def _held(target: Target, length: int, unit: int, few: int) -> HeldRows | None:
    """few: steps of an invocation while few share a row."""
    steps, lanes = -(-length // unit), 1
    most = min(MOST_HOLDERS, target.max_workgroup_invocations)
    while lanes < most and steps > lanes * (few if lanes < FEW_HOLDERS else MOST_HELD_STEPS):
        lanes *= 2
    each = next((each for each in HELD_COUNTS if each * lanes >= steps), 0)
    if not each or each * unit > min(MOST_HELD, HELD_OF_REGISTERS * registers(target, lanes)):
        return None
    workgroup = max(lanes, min(HOLDERS, target.max_workgroup_invocations))
    near = shuffled(target)
    return HeldRows(lanes, each, workgroup, near if lanes > 1 and workgroup % max(1, near) == 0 else 0)


def holds_vectors(target: Target, bits: int) -> bool:
    """Whether a normalization holds what it read as it is, and converts it in each of its rounds. bits: of an element.

    Eighty elements as float32 leave an H100's multiprocessor one workgroup of 512, half of what its memory asks for.
    Where conversions take an instruction each.
    """
    return bits == 16 and bool(fast_halves(target))


@dataclass(frozen=True)
class Rows:
    """Rows to normalize: each is ``segments`` stretches of ``steps`` steps. beside: they lie side by side in memory."""

    rows: int
    segments: int
    steps: int
    beside: bool

    def iterations(self, lanes: int) -> int:
        """Return an invocation's loop iterations for one pass over its share of a row, including those over blocks
        of 32."""
        return self.segments * (-(-self.steps // lanes) + -(-self.steps // (lanes * SUM_BLOCK)) + 1)


#: Rows that fill a vector of a CPU with an invocation each.
CPU_MANY_ROWS: int = threshold("lines.CPU_MANY_ROWS")
#: Steps of a row that are worth the barriers of a vector of invocations: shorter rows are as well off with one.
CPU_SHARED_STEPS: int = threshold("lines.CPU_SHARED_STEPS")
#: Iterations for one walk along a row that are few enough for an invocation, however few rows there are: on a CPU, and
#: on a GPU, where reductions that split rows keep more of it busy.
SHORT_WALK: int = threshold("lines.SHORT_WALK")
GPU_SHORT_WALK: int = threshold("lines.GPU_SHORT_WALK")
#: The same on CPU drivers where rows lie side by side: every walk brings the memory of all neighbours into the cache.
CPU_WALK_BESIDE: int = threshold("lines.CPU_WALK_BESIDE")
#: Busy invocations that make up for longer walks: on a CPU, and on a GPU, where a walk is then this long at most.
CPU_BUSY, GPU_WALK = 16, 4096
GPU_BUSY: int = threshold("lines.GPU_BUSY")


def normalization_sharing(target: Target, rows: Rows) -> LineSharing:
    """For rows that each go through one dispatch. Where they lie side by side, each has one invocation."""
    if target.is_cpu:
        # A row to an invocation where that fills a vector and the loops hold it, else a vector to a row.
        few = rows.rows < CPU_MANY_ROWS or WALKS * rows.iterations(1) >= max_steps(target)
        shared = few and rows.steps >= CPU_SHARED_STEPS and not rows.beside
        turned = 0 if shared or rows.beside else CPU_TURNED
        return LineSharing(CPU_VECTOR if shared else 1, CPU_VECTOR, turned=turned)
    if rows.beside:
        return LineSharing(1, target.workgroup)
    # What a row too long to hold is read again from is a cache, as long as few rows are under way.
    wide = _lanes(target, rows.steps, each=4, most=min(MOST_HOLDERS, target.max_workgroup_invocations))
    lanes = max(wide, _lanes(target, rows.steps, each=1))
    return LineSharing(lanes, max(lanes, target.workgroup), together=GPU_TOGETHER)


def normalization_fits_one_dispatch(target: Target, rows: Rows) -> bool:
    """Whether an invocation's share of a row is small enough, and enough invocations are busy; else rows are split."""
    lanes = normalization_sharing(target, rows).lanes
    share = rows.iterations(lanes)
    if WALKS * share >= max_steps(target):
        return False
    if target.is_cpu and rows.beside and share > CPU_WALK_BESIDE:
        return False
    if share < (SHORT_WALK if target.is_cpu else GPU_SHORT_WALK):
        return True
    busy = rows.rows * lanes
    if target.is_cpu:
        return rows.rows >= CPU_MANY_ROWS or busy >= CPU_BUSY
    return share < GPU_WALK and busy >= GPU_BUSY


#: The largest K for which an invocation of a CPU driver selects the first elements one after the other.
MOST_SELECTED: int = threshold("lines.MOST_SELECTED")
#: A vector of invocations that holds the first of each group takes llvmpipe as long for a line, and for each element
#: that it picks, as selecting takes for so many elements. Sorting is faster where more than one in so many is picked.
CPU_LINE_GROUPED: int = threshold("lines.CPU_LINE_GROUPED")
CPU_PICKED_GROUPED: int = threshold("lines.CPU_PICKED_GROUPED")
CPU_SORTED_PER_PICKED: int = threshold("lines.CPU_SORTED_PER_PICKED")
#: Groups of a block, at most: what 6 KiB of shared memory hold. And rounds of the loops that a pick has besides its
#: groups and a group: two reductions.
MOST_GROUPS, GROUPED_ROUNDS = 512, 12
#: Lines are split where they are few, into blocks of at least so many times K elements: most of a block stays behind.
SELECTED_FROM = 8
#: Elements of a block that a workgroup sorts, at most. Every exchange ends in a barrier, which is dear on CPU drivers.
#: Others are bounded by shared memory: 12 bytes for an element of 64 bits and its place, of Vulkan's 16 KiB.
CPU_SORTED: int = threshold("lines.CPU_SORTED")
GPU_SORTED = 1024
#: Elements that a workgroup sorts at least, in several blocks where lines are short.
SORTED_AT_ONCE = 256
#: Invocations that sort together on a GPU: what every device has.
GPU_SORTERS = 128


@dataclass(frozen=True)
class BlockSharing:
    """How the first K elements of each line are found: in blocks of ``block`` elements, whose results are merged.

    selects: one invocation picks the first of a block one after the other; else a workgroup sorts a block. per_group:
    the blocks of a workgroup. steps: of an invocation. group: a workgroup picks them, and knows the first of each
    ``group`` elements; or 0.
    """

    block: int
    selects: bool
    per_group: int
    workgroup: int
    steps: int
    group: int = 0


def top_k_sharing(target: Target, lines: int, length: int, k: int) -> BlockSharing:
    """For the first ``k`` of each of ``lines`` of ``length`` elements."""
    if target.is_cpu:
        grouped = _grouped(target, length, k) if _grouping_pays(lines, length, k) else None
        if grouped or k <= MOST_SELECTED:
            return grouped or _selected(target, lines, length, k)
    block = min(CPU_SORTED if target.is_cpu else GPU_SORTED, 1 << max(1, (length - 1).bit_length()))
    while block > 2 and _sorted(target, block).steps > max_steps(target):
        block //= 2
    return _sorted(target, block)


def _grouping_pays(lines: int, length: int, k: int) -> bool:
    if k > MOST_SELECTED:
        return length >= CPU_SORTED_PER_PICKED * k
    # What invocations without a line leave undone.
    idle = max(1, CPU_VECTOR // lines)
    return idle * k * length >= CPU_LINE_GROUPED + length + CPU_PICKED_GROUPED * k


def _grouped(target: Target, length: int, k: int) -> BlockSharing | None:
    """A workgroup scans its block once, then for each selected element its groups and one group; None if the loops
    would be too long."""
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
    """An invocation scans its block once for each element that it selects."""
    most = max_steps(target)
    blocks = max(1, min(CPU_PARALLEL // lines, length // (SELECTED_FROM * k)), -(-length * k // most))
    block = max(1, min(-(-length // blocks), most // k))
    return BlockSharing(block, True, target.workgroup, target.workgroup, min(k, block) * block)


def _sorted(target: Target, block: int) -> BlockSharing:
    """A bitonic sort of a power of two elements. Steps: reads, exchanges, writes."""
    per_group = max(1, SORTED_AT_ONCE // block)
    sorters = CPU_VECTOR if target.is_cpu else GPU_SORTERS
    workgroup = min(sorters, block * per_group // 2, target.max_workgroup_invocations)
    shares = -(-block * per_group // workgroup)
    exchanges = (block.bit_length() - 1) * block.bit_length() // 2
    return BlockSharing(block, False, per_group, workgroup, 2 * shares + exchanges * (1 + shares // 2))
