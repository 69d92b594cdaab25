"""Attention: whether scores go to memory, and how queries and keys are shared among workgroups."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dml.compiler.selection import max_steps, shuffled
from dml.compiler.selection.devices import half_matrices, has_fewest_registers, has_room_for_matrices, keeps, profile
from dml.compiler.selection.thresholds import threshold
from dml.compiler.selection.tuned import at_least, half_work, tuned
from dml.compiler.target import Target


@dataclass(frozen=True)
class AttentionSoftmax:
    """Parameters of attention/softmax.comp. workgroup: invocations. steps: per invocation.

    masks_alone: it only masks the scores, into a second tensor; the softmax operator's kernels do the rest. Else it
    takes a row per workgroup, in place.
    """

    workgroup: int
    steps: int
    masks_alone: bool


def attention_softmax(target: Target, keys: int) -> AttentionSoftmax:
    """Return the parameters for rows of ``keys`` scores.

    A row per workgroup takes three passes, four scores at a time, and a tree of partial sums. CPU drivers only mask,
    since llvmpipe reads what a kernel writes one invocation at a time; so does a device on which a row takes an
    invocation too many steps.
    """
    workgroup = target.workgroup
    steps = 3 * -(-keys // (4 * workgroup)) + workgroup.bit_length()
    masks_alone = profile(target).lane_by_lane or steps > max_steps(target)
    return AttentionSoftmax(workgroup, 1 if masks_alone else steps, masks_alone)


#: Bytes of scores above which CPU drivers compute a few heads at a time; that is as fast if a part has enough work.
_SCORES_ON_CPUS = 8 << 20


def scores_together(target: Target, most: int) -> int:
    """Return how many bytes of scores, of several heads, may be in memory at once. most: the limit for devices other
    than CPUs."""
    return min(most, _SCORES_ON_CPUS) if profile(target).lane_by_lane else most


#: Workgroup size of the kernels that keep scores in the workgroup; every device supports it.
WORKGROUP = 128
#: Workgroups that keep a large GPU busy: about eight per multiprocessor of an H100.
BUSY_GROUPS: int = threshold("attention.BUSY_GROUPS")
#: Minimum number of keys of a part, where keys are split among workgroups.
PART_KEYS: int = threshold("attention.PART_KEYS")
#: Rows that attention/few.comp takes together.
ROWS_TOGETHER: int = threshold("attention.ROWS_TOGETHER")
#: Maximum number of rows for attention/few.comp; with more, tiles read keys less often.
FEW_ROWS: int = threshold("attention.FEW_ROWS")


#: Tiles, best first: rows, keys, depth, adjacent invocations that share rows, workgroup, maximum columns.
_TILES = (
    (64, 64, 32, 8, 128, 96),
    (64, 64, 32, 16, 256, 256),
    (64, 64, 16, 8, 128, 96),
    (64, 64, 16, 16, 256, 256),
    (32, 32, 16, 8, 128, 256),
    (32, 32, 16, 16, 256, 256),
    (16, 32, 16, 8, 128, 512),
    (16, 32, 16, 16, 256, 512),
)
#: Smallest depth of a tile. Deeper tiles of heads up to this size would multiply zeros.
_LEAST_DEPTH = min(depth for _, _, depth, *_ in _TILES)


#: For attention/few.comp: maximum number of keys that an invocation loads at once, and registers reserved for scores
#: and addresses (with 24, Mesa's compiler for Intel still spilled).
_KEYS_AT_ONCE, _FEW_REGISTERS = 4, 40
#: Additional registers that attention/few_lanes.comp needs on devices with the fewest registers: without them, Mesa's
#: compiler for Mali spilled ten.
_OF_LANES = 8
#: Registers of attention/tiles.comp for queries, keys, loads in flight and addresses: for FLOAT32; for FLOAT16, or
#: where registers shrink as the subgroup widens (Intel). Additional registers: to convert FLOAT16 without device
#: instructions (Adreno 6xx); for both a mask and a position bias, which Mesa's compiler for Apple loads for all scores
#: at once.
_FLOAT_REGISTERS, _OTHER_REGISTERS, _CONVERTING, _MASKED_AND_BIASED = 104, 105, 12, 12


@dataclass(frozen=True)
class AttentionShape:
    """Sizes of an attention. heads: number of key and value heads, over all batches. rows: number of queries that share
    a key head, over its query heads.

    unit: elements of keys and values per 16-byte vector, 1 if they are not read in vectors. halves: queries, keys and
    values are FLOAT16 and read in vectors. masked: there is a mask. biased: there is a position bias.
    """

    heads: int
    rows: int
    keys: int
    size: int
    value_size: int
    unit: int
    halves: bool = False
    masked: bool = True
    biased: bool = False

    @property
    def plain(self) -> bool:
        """Whether scores are neither masked nor biased."""
        return not (self.masked or self.biased)


@dataclass(frozen=True)
class AttentionTiles:
    """Parameters of attention/tiles.comp. parts: workgroups that share the keys of a row.

    rows, keys: size of a tile. depth: elements of queries and keys in shared memory at once. values: keys whose values
    are in shared memory at once. columns: columns of the result, rounded up to whole vectors of the ``across`` adjacent
    invocations that share rows.
    """

    rows: int
    keys: int
    depth: int
    values: int
    columns: int
    parts: int = 1
    steps: int = 1
    across: int = 8
    workgroup: int = WORKGROUP

    @property
    def kept(self) -> int:
        """Number of scores and sums that an invocation keeps in registers."""
        return self.rows * (self.keys + self.columns) // self.workgroup

    @property
    def staged(self) -> int:
        """Vectors of shared memory for queries and keys, later reused for values."""
        return max((self.rows + self.keys) * (self.depth // 4 + 1), self.values * self.columns // 4)

    @property
    def shared(self) -> int:
        """Bytes of shared memory."""
        return 16 * (self.staged + self.rows * (self.keys // 4 + 1) + self.rows * self.across // 4) + 4 * self.rows


@dataclass(frozen=True)
class AttentionMatrices:
    """Parameters of attention/matrices.comp and attention/in_registers.comp. rows: rows of a workgroup's tile.
    subgroup_rows: rows per subgroup. shape: (m, n, k) of the matrix instruction.

    depth, columns: key and value sizes rounded up to whole matrices. in_registers: scores do not go to shared memory.
    half_weights: weights are rounded to FLOAT16 once instead of being kept as two FLOAT16 parts.
    """

    rows: int
    keys: int
    subgroup_rows: int
    shape: tuple[int, int, int]
    depth: int
    columns: int
    subgroup: int
    parts: int = 1
    steps: int = 1
    in_registers: bool = False
    half_weights: bool = False

    @property
    def workgroup(self) -> int:
        return self.rows // self.subgroup_rows * self.subgroup

    @property
    def tiles(self) -> int:
        """Vectors of shared memory for queries, reused for keys and values, and with ``in_registers`` for a matrix of
        sums per subgroup."""
        key, value = self.depth // 8 | 1, self.columns // 8 | 1
        sums = self.rows // self.subgroup_rows * self.shape[0] * self.shape[1] // 4
        return max(self.keys * (key + value), self.rows * key, sums if self.in_registers else 0)

    @property
    def scores(self) -> int:
        """Vectors of shared memory for the scores of a subgroup, later reused for its weights."""
        halves = 1 if self.half_weights else 2
        return self.subgroup_rows * max(self.keys // 4 | 1, halves * (self.keys // 8 | 1))

    @property
    def shared(self) -> int:
        """Bytes of shared memory."""
        subgroups = self.rows // self.subgroup_rows
        if self.in_registers:
            return 16 * self.tiles + 8 * self.rows + 4 * self.shape[0] * self.shape[1]
        vectors = self.tiles + subgroups * (self.scores + self.subgroup_rows * self.shape[1] // 4)
        return 16 * vectors + 4 * self.workgroup + 8 * self.rows


@dataclass(frozen=True)
class AttentionFew:
    """Parameters of attention/few.comp. rows: per invocation. lanes: invocations that share a key. round: keys each
    lane group loads at once."""

    rows: int
    lanes: int
    round: int
    parts: int
    steps: int
    subgroup: int = 0


AttentionWay = AttentionTiles | AttentionMatrices | AttentionFew


def attention_sharing(target: Target, attention: AttentionShape) -> AttentionWay | None:
    """Return the kernel's parameters; None if scores go to memory, between two products.

    That is the case on CPU drivers, whose products use other tiles and whose caches hold the scores of a head, and if a
    row's sums do not fit the registers.
    """
    if not profile(target).shares_memory:
        return None
    if (
        attention.rows <= FEW_ROWS
        and attention.unit > 1
        and max(attention.size, attention.value_size) <= 64 * attention.unit
    ):
        return _few(target, attention)
    fitting: list[AttentionTiles | AttentionMatrices] = [*_on_matrices(target, attention), *_tiles(target, attention)]
    if not fitting:
        return None
    # Parts and steps follow from exact sizes, so they are not tuned. (A head's columns are part of the kernel.)
    shapes = [replace(way, parts=1, steps=1) for way in fitting]

    def work() -> str:
        size = f"{attention.size} and {attention.value_size} columns"
        kind = half_work(target) if attention.halves else "32 bits"
        return f"{kind}, {at_least(attention.rows)} rows by {at_least(attention.keys)} keys, {size}"

    return fitting[shapes.index(tuned(target, "attention", work, shapes[0], lambda: shapes))]


def _parts(target: Target, attention: AttentionShape, groups: int, steps: int, tile: int) -> int:
    """Return the number of parts of the keys, so that the workgroups keep a GPU busy and none takes too many steps.

    groups: number of workgroups if keys are not split. steps: steps of one of them. tile: keys that a workgroup takes
    at once.
    """
    wanted = max(1, min(BUSY_GROUPS // groups, attention.keys // PART_KEYS))
    return min(-(-attention.keys // tile), max(wanted, -(-steps // max_steps(target))))


def _keeps_few(target: Target, rows: int, round_: int, unit: int, others: int) -> bool:
    """Whether an invocation of attention/few.comp can hold vectors of ``unit`` elements as float32: the query and the
    sums of each row, the keys and values of a round."""
    return keeps(target, 2 * unit * (rows + round_), workgroup=WORKGROUP, others=others)


def _few(target: Target, attention: AttentionShape) -> AttentionFew:
    lanes = 8
    while lanes * attention.unit < max(attention.size, attention.value_size):
        lanes *= 2
    rows = 1
    while rows < min(attention.rows, ROWS_TOGETHER):
        rows *= 2
    round_ = _KEYS_AT_ONCE
    subgroup_size = shuffled(target) if lanes <= shuffled(target) else 0
    others = _FEW_REGISTERS + (_OF_LANES if subgroup_size and has_fewest_registers(target) else 0)
    # Mesa's compilers for Apple and Intel load the mask and the position bias of all scores of a round at once.
    each = 0 if attention.plain else 2
    while round_ > 1 and not _keeps_few(target, rows, round_, attention.unit, others + each * rows * round_):
        round_ //= 2
    while rows > 1 and not _keeps_few(target, rows, round_, attention.unit, others + each * rows * round_):
        rows //= 2
    tile = round_ * WORKGROUP // lanes
    groups = attention.heads * -(-attention.rows // rows)
    steps = -(-attention.keys // tile) * (lanes + tile)
    parts = _parts(target, attention, groups, steps, tile)
    return AttentionFew(rows, lanes, round_, parts, -(-steps // parts), subgroup_size)


#: Tiles for matrix units, best first: rows, keys, matrices per subgroup along the rows.
MATRIX_TILES: tuple[tuple[int, int, int], ...] = threshold("attention.MATRIX_TILES")
#: Tiles for scores held in registers, by the largest head size they serve; rows and keys are numbers of matrices. At
#: 128 columns 32 or more keys spill; fewer keys are unmeasured candidates for `dml tune`.
REGISTER_TILES: dict[int, tuple[tuple[int, int, int], ...]] = threshold(
    "attention.REGISTER_TILES", lambda tiles: {int(columns): tuple(map(tuple, ways)) for columns, ways in tiles.items()}
)
#: Largest head size for which tiles in registers are preferred to those in shared memory.
FIRST_IN_REGISTERS: int = threshold("attention.FIRST_IN_REGISTERS")
#: REGISTER_TILES and FIRST_IN_REGISTERS where weights are rounded once, which needs fewer registers. Not measured on a
#: GPU.
_HALF_REGISTER_TILES = {64: REGISTER_TILES[64], 128: ((8, 4, 1), (8, 2, 1), (4, 2, 1))}
_FIRST_IN_REGISTERS_BY_HALVES = 128
#: Largest head size whose matrices fit an invocation's registers.
_MOST_ON_MATRICES = 128


def _on_matrices(target: Target, attention: AttentionShape) -> Iterator[AttentionMatrices]:
    """Yield the tiles for FLOAT16 on matrix units with float32 sums; none if the device has no such units, or rows do
    not fit."""
    shapes, widest = half_matrices(target), max(attention.size, attention.value_size)
    if not (attention.halves and shapes and widest <= _MOST_ON_MATRICES and has_room_for_matrices(target)):
        return
    m, n, k = shapes[0]
    through_memory = [(*tile, False) for tile in MATRIX_TILES]
    in_registers: list[tuple[int, int, int, bool]] = []
    every, first = REGISTER_TILES, FIRST_IN_REGISTERS
    if target.allows_half:
        every, first = _HALF_REGISTER_TILES, _FIRST_IN_REGISTERS_BY_HALVES
    if target.features.matrix_reductions and n == k and attention.plain:
        tiles = next((tiles for columns, tiles in every.items() if widest <= columns), ())
        in_registers = [(rows * m, keys * n, down, True) for rows, keys, down in tiles]
    for way in (*in_registers, *through_memory) if widest <= first else (*through_memory, *in_registers):
        found = _matrices(target, attention, *way)
        if found is not None:
            yield found


def _matrices(
    target: Target, attention: AttentionShape, rows: int, keys: int, down: int, in_registers: bool
) -> AttentionMatrices | None:
    """Return a tile of ``rows`` rows and ``keys`` keys, with ``down`` matrices per subgroup; None if it does not divide
    or fit."""
    shape = m, n, k = half_matrices(target)[0]
    subgroup_rows, depth, columns = m * down, -(-attention.size // k) * k, -(-attention.value_size // n) * n
    found = AttentionMatrices(
        rows, keys, subgroup_rows, shape, depth, columns, target.subgroup_size,
        in_registers=in_registers, half_weights=target.allows_half,
    )  # fmt: skip
    if rows % subgroup_rows or keys % max(n, k):
        return None
    lanes = target.subgroup_size // subgroup_rows
    # With scores in shared memory, the scores of a row are divided among lanes.
    if not in_registers and (not lanes or keys // lanes % 8 or target.subgroup_size % subgroup_rows):
        return None
    if found.shared > target.shared_memory or found.workgroup > target.max_workgroup_invocations:
        return None
    groups = attention.heads * -(-attention.rows // rows)
    steps = -(-attention.keys // keys) * (keys // n * (depth // k) + keys // k * (columns // n))
    parts = _parts(target, attention, groups, steps, keys)
    return replace(found, parts=parts, steps=-(-steps // parts))


def _tiles(target: Target, attention: AttentionShape) -> Iterator[AttentionTiles]:
    """Yield the tiles that fit: 64 x 64 where shared memory holds it, else 32 x 32, which fits the 16 KiB of every
    device.

    Rows of many columns are shared by sixteen invocations, since the sums would not fit the registers of eight.
    """
    others = _OTHER_REGISTERS if attention.halves or profile(target).by_thread else _FLOAT_REGISTERS
    others += _CONVERTING if attention.halves and not target.features.float16_exact else 0
    others += _MASKED_AND_BIASED if attention.masked and attention.biased else 0
    for rows, keys, depth, across, workgroup, most in _TILES:
        if depth > _LEAST_DEPTH >= attention.size:
            continue
        columns = -(-attention.value_size // (4 * across)) * 4 * across
        values = keys
        while values > 4 and values * columns > max(2048, (rows + keys) * (depth + 4)):
            values //= 2
        groups = attention.heads * -(-attention.rows // rows)
        steps = -(-attention.keys // keys) * (-(-attention.size // depth) * depth // 4 + keys // 4)
        parts = _parts(target, attention, groups, steps, keys)
        found = AttentionTiles(rows, keys, depth, values, columns, parts, -(-steps // parts), across, workgroup)
        fits = found.shared <= target.shared_memory and workgroup <= target.max_workgroup_invocations
        if fits and columns <= most and keeps(target, found.kept, workgroup=workgroup, others=others):
            yield found
