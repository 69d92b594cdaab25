"""The result of compiling a descriptor: plain data that the runtime records and anybody can print or compare.

A program reads and writes *regions* of DirectML's four kinds of resource: inputs, outputs, one temporary and one
persistent resource. Its dispatches run in order; the runtime inserts barriers between dependent ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from dml.compiler.scalar import Expression
from dml.descriptors.graph import DML_CONSTANT_DATA_GRAPH_NODE_DESC
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.glslang import Source
from dml.tensors import DML_BUFFER_TENSOR_DESC

#: Alignment in bytes of regions in the temporary and persistent resources: the largest minStorageBufferOffsetAlignment
#: that Vulkan allows.
REGION_ALIGNMENT = 256

#: A small constant of a graph, and the number of its content: equal constants have equal numbers.
ComparedConstant = tuple[DML_CONSTANT_DATA_GRAPH_NODE_DESC, int]

_Data = TypeVar("_Data")


def fast_replace(data: _Data, **changes: Any) -> _Data:
    """Like ``dataclasses.replace``, but fast enough for planning."""
    changed = object.__new__(type(data))
    changed.__dict__.update(data.__dict__, **changes)
    return changed


class Space(Enum):
    """The kind of resource that a region lies in: DirectML's binding points, or the program's constants."""

    INPUT = "input"
    OUTPUT = "output"
    TEMPORARY = "temporary"
    PERSISTENT = "persistent"
    CONSTANT = "constant"

    __hash__ = object.__hash__  # Enum's __hash__ is Python code, and regions are hashed often


class Region(NamedTuple):
    """``size`` bytes at ``offset`` of one resource.

    index: number of the input or output in binding order, or of the constant.
    """

    space: Space
    index: int  # type: ignore[assignment]  # tuples have a method of that name
    offset: int
    size: int

    def overlaps(self, other: Region) -> bool:
        return (
            self.space is other.space
            and self.index == other.index
            and self.offset < other.offset + other.size
            and other.offset < self.offset + self.size
        )

    def contains(self, other: Region) -> bool:
        return (
            self.overlaps(other)
            and self.offset <= other.offset
            and other.offset + other.size <= self.offset + self.size
        )


@dataclass(frozen=True)
class Operand:
    """A region viewed as a tensor: ``base`` and ``strides`` count elements of ``data_type`` from the region's start."""

    region: Region
    data_type: DML_TENSOR_DATA_TYPE
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    base: int = 0
    #: The fused expression that a graph applies to each value before it is stored; only on operands that a kernel
    #: writes.
    epilogue: Epilogue | None = None
    #: Whether products choose their kernel as if the elements were constant weights, although each run computes them.
    as_weights: bool = False
    #: Whether elements of the same tensor outside the view may follow its last one in the same 32-bit word.
    followed: bool = False

    @property
    def rank(self) -> int:
        return len(self.sizes)

    @property
    def count(self) -> int:
        count = 1
        for size in self.sizes:
            count *= size
        return count

    @property
    def is_static(self) -> bool:
        """Whether the elements are constant after initialization."""
        return self.region.space in (Space.PERSISTENT, Space.CONSTANT)

    @property
    def computed_type(self) -> DML_TENSOR_DATA_TYPE:
        """Data type of the values that the kernel computes for this operand, before an epilogue converts them."""
        return self.data_type if self.epilogue is None else self.epilogue.computed_type

    @property
    def is_packed(self) -> bool:
        """Whether the elements are in row-major order without gaps."""
        step = 1
        for size, stride in zip(reversed(self.sizes), reversed(self.strides), strict=True):
            if stride != step and size != 1:
                return False
            step *= size
        return True

    @property
    def steps(self) -> tuple[int, ...]:
        """Signed strides: those of reversed dimensions are stored modulo 2^32."""
        if max(self.strides, default=0) < 2**31:
            return self.strides
        return tuple(stride - 2**32 if stride >= 2**31 else stride for stride in self.strides)

    @property
    def span(self) -> tuple[int, int]:
        """First element of the view from the region's start, and the end."""
        first = last = self.base
        for size, step in zip(self.sizes, self.steps, strict=True):
            first += min(0, (size - 1) * step)
            last += max(0, (size - 1) * step)
        return first % 2**32, first % 2**32 + last - first + 1

    def view(self, sizes: tuple[int, ...], strides: tuple[int, ...], base: int = 0) -> Operand:
        """View the same elements with other sizes and strides, ``base`` elements further on."""
        return fast_replace(self, sizes=tuple(sizes), strides=tuple(strides), base=self.base + base)

    def permuted(self, order: Sequence[int]) -> Operand:
        """View the dimensions in another order."""
        return self.view(tuple(self.sizes[d] for d in order), tuple(self.strides[d] for d in order))

    @property
    def distinct(self) -> Operand:
        """Return a view without repetition: dimensions of stride 0 have size 1."""
        sizes = tuple(1 if stride == 0 else size for size, stride in zip(self.sizes, self.strides, strict=True))
        return self.view(sizes, self.strides)

    def broadcast(self, sizes: tuple[int, ...]) -> Operand:
        """Broadcast, right-aligned, to ``sizes``; dimensions of size 1 repeat.

        If both sizes are 1, the dimension could repeat or not. It is taken to repeat if an inner one does and the
        elements are constant, so that the kernel is shared with larger sizes: a bias {1, C, 1} of one image serves
        many, and a mask {1, 1, S} of one sequence has a row for each.
        """
        lead = len(sizes) - self.rank
        strides: list[int] = []
        repeats = False
        for own, stride, size in zip(reversed(self.sizes), reversed(self.strides), reversed(sizes), strict=False):
            repeats |= own != size or (stride == 0 and size > 1)
            strides.append(0 if own == 1 and (size > 1 or (repeats and self.is_static)) else stride)
        return self.view(tuple(sizes), (0,) * lead + tuple(reversed(strides)))

    def as_type(self, data_type: DML_TENSOR_DATA_TYPE) -> Operand:
        """View the same bits as another data type of the same width."""
        return fast_replace(self, data_type=data_type)

    def ends_in(self, epilogue: Epilogue) -> Operand:
        """Return the operand with an epilogue."""
        return fast_replace(self, epilogue=epilogue)

    def over(self, region: Region, epilogue: Epilogue | None) -> Operand:
        """Return a copy of the operand that refers to another region."""
        return fast_replace(self, region=region, epilogue=epilogue)

    @staticmethod
    def of(desc: DML_BUFFER_TENSOR_DESC, region: Region) -> Operand:
        return Operand(region, desc.DataType, desc.Sizes, desc.strides)


@dataclass(frozen=True)
class EpilogueOperand:
    """An epilogue's additional operand, and the element that each store reads.

    steps: period (0 for none), step and stride: the element for a store at index i is at the operand's base plus the
    sum of ``(i - origin) % period / step * stride``.
    """

    operand: Operand
    steps: tuple[tuple[int, int, int], ...]

    def reads_one_for_four(self, origin: int) -> bool:
        """Whether four adjacent stores, starting at a multiple of four, read the same element."""
        return origin % 4 == 0 and all(period % 4 == 0 and step % 4 == 0 for period, step, _ in self.steps)

    def reads_four_for_four(self, origin: int) -> bool:
        """Whether four adjacent stores read four adjacent elements, both starting at a multiple of four."""
        *others, (period, step, stride) = self.steps or ((0, 0, 0),)
        return (
            (step, stride) == (1, 1)
            and not any(number % 4 for number in (period, self.operand.base, origin))
            and not any(number % 4 for other in others for number in other)
        )


@dataclass(frozen=True)
class Epilogue:
    """An expression of a kernel's value (leaf 0) and of other operands' elements.

    Its result is rounded once, to the tensor's data type. computed_type: that of the values; floats are not
    rounded to it, integers wrap as it does. origin: index of the written tensor's first element in its region.
    """

    expression: Expression
    operands: tuple[EpilogueOperand, ...]
    origin: int
    computed_type: DML_TENSOR_DATA_TYPE


class Access(Enum):
    READ = "r"
    WRITE = "w"
    READ_WRITE = "rw"

    __hash__ = object.__hash__

    @property
    def writes(self) -> bool:
        return self is not Access.READ


class StorageBinding(NamedTuple):
    """One buffer of a dispatch. The shader gets the region's offset as a push constant, in words.

    texel: 0, or the words (1 or 4) per texel if the shader reads it as a uniform texel buffer.
    """

    region: Region
    access: Access
    texel: int = 0


@dataclass(frozen=True)
class Dispatch:
    """One shader over a grid of workgroups.

    push: the words after the bindings' offsets. parameters: the words of the kernel's uniform block, bound after the
    storage buffers; empty without one. node: the graph nodes that it computes, as text. nodes: their numbers in the
    graph's description. invocations: per workgroup.

    The order of magnitude of its duration: steps counts the rounds of size-dependent loops (of nested loops, the
    innermost) in the longest invocation, each of which waits for memory about once; each: multiply-adds or loaded
    elements per round, whichever is larger.
    """

    label: str
    source: Source
    bindings: tuple[StorageBinding, ...]
    groups: tuple[int, int, int]
    push: tuple[int, ...] = ()
    parameters: tuple[int, ...] = ()
    node: str = ""
    nodes: tuple[int, ...] = ()
    invocations: int = 1
    steps: int = 1
    each: int = 1

    def over(
        self, bindings: tuple[StorageBinding, ...], node: str | None = None, nodes: tuple[int, ...] = ()
    ) -> Dispatch:
        """Return a copy of the dispatch over other regions; node, nodes: replace its graph nodes if given."""
        if node is None:
            node, nodes = self.node, self.nodes
        return fast_replace(self, bindings=bindings, node=node, nodes=nodes)

    @property
    def work(self) -> int:
        """Multiply-adds or loaded elements of all invocations, as if each took as long as the longest one."""
        return math.prod(self.groups) * self.invocations * self.steps * self.each


@dataclass
class Program:
    """Dispatches over bound resources.

    inputs, outputs: sizes of the slots in bytes, None for an absent optional tensor.

    Two stages run once, at initialization. ``adopt`` copies the inputs in ``owned`` to their places in the persistent
    resource; a caller that has already written them there omits it. Then ``initialize`` computes the values that depend
    only on them and on ``constants``: the bytes of Space.CONSTANT, by region index.

    is_placed: False while temporaries have traced sizes and no offsets yet (see ``ProgramPattern``).
    """

    inputs: list[int | None] = field(default_factory=list)
    outputs: list[int | None] = field(default_factory=list)
    temporaries: int = 0
    temporary_size: int = 0
    persistent_size: int = 0
    constants: list[DML_CONSTANT_DATA_GRAPH_NODE_DESC] = field(default_factory=list)
    owned: dict[int, Region] = field(default_factory=dict)
    #: Constants that were compared while some of them were traced.
    compared: list[ComparedConstant] = field(default_factory=list)
    adopt: list[Dispatch] = field(default_factory=list)
    initialize: list[Dispatch] = field(default_factory=list)
    dispatches: list[Dispatch] = field(default_factory=list)
    is_placed: bool = True

    def reserve_owned(self, slot: int, size: int) -> Region:
        """Reserve a region of the persistent resource for the owned input in ``slot``."""
        self.owned[slot] = self.reserve(size)
        return self.owned[slot]

    def reserve(self, size: int) -> Region:
        """Reserve a region of the persistent resource."""
        region = Region(Space.PERSISTENT, 0, self.persistent_size, size)
        self.persistent_size += -(-size // REGION_ALIGNMENT) * REGION_ALIGNMENT
        return region

    def describe(self) -> str:
        """Describe each dispatch in a line: kernel, workgroups, regions."""
        lines = [
            f"inputs {self.inputs} outputs {self.outputs} temporary {self.temporary_size} B "
            f"persistent {self.persistent_size} B"
        ]
        for stage, dispatches in (
            ("adopt", self.adopt),
            ("initialize", self.initialize),
            ("dispatch", self.dispatches),
        ):
            for dispatch in dispatches:
                regions = ", ".join(
                    f"{b.access.value}:{b.region.space.value}[{b.region.index}]+{b.region.offset}:{b.region.size}"
                    for b in dispatch.bindings
                )
                node = f" ({dispatch.node})" if dispatch.node else ""
                lines.append(f"{stage} {dispatch.label}{node} groups {dispatch.groups} {regions}")
        return "\n".join(lines)
