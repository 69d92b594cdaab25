"""What a descriptor compiles to: plain data that the runtime records and anybody can print or compare.

A program reads and writes *regions* of the four kinds of resource that DirectML binds: inputs, outputs, one temporary
and one persistent resource. Its dispatches run in order; whoever runs them keeps dependent ones apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from dml.compiler.scalar import Expression
from dml.descriptors.graph import DML_CONSTANT_DATA_GRAPH_NODE_DESC
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.glslang import Source
from dml.tensors import DML_BUFFER_TENSOR_DESC

#: Regions of the temporary and persistent resources start at multiples of this many bytes: the largest
#: minStorageBufferOffsetAlignment that Vulkan allows a device.
REGION_ALIGNMENT = 256

_Data = TypeVar("_Data")


def having(data: _Data, **changes: Any) -> _Data:
    """A dataclass with other fields: as ``replace``, which is slow for what a plan does most."""
    made = object.__new__(type(data))
    made.__dict__.update(data.__dict__, **changes)
    return made


class Space(Enum):
    """The binding points of a compiled operator, and the constants that it brings along."""

    INPUT = "input"
    OUTPUT = "output"
    TEMPORARY = "temporary"
    PERSISTENT = "persistent"
    CONSTANT = "constant"

    __hash__ = object.__hash__  # (that of enumerations is Python code, and regions are looked up all the time)


class Region(NamedTuple):
    """``size`` bytes at ``offset`` of one resource.

    index: the number of the input or output in binding order, or of the constant.
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


@dataclass(frozen=True)
class Operand:
    """A region seen as a tensor: ``base`` and ``strides`` count elements of ``data_type`` from the region's start."""

    region: Region
    data_type: DML_TENSOR_DATA_TYPE
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    base: int = 0
    #: What a graph fuses behind an operator: applied to each value before it is stored. Only operands that a kernel
    #: writes have one.
    epilogue: Epilogue | None = None

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
        """Whether the elements are known once the program is initialized."""
        return self.region.space in (Space.PERSISTENT, Space.CONSTANT)

    @property
    def made(self) -> DML_TENSOR_DATA_TYPE:
        """The data type of the values that kernels make for it, which an epilogue may turn into others."""
        return self.data_type if self.epilogue is None else self.epilogue.made

    @property
    def is_packed(self) -> bool:
        """Whether the elements follow each other without gaps, in row-major order."""
        step = 1
        for size, stride in zip(reversed(self.sizes), reversed(self.strides), strict=True):
            if stride != step and size != 1:
                return False
            step *= size
        return True

    @property
    def steps(self) -> tuple[int, ...]:
        """The strides with their signs: those of dimensions that run backwards count modulo 2^32."""
        if max(self.strides, default=0) < 2**31:
            return self.strides
        return tuple(stride - 2**32 if stride >= 2**31 else stride for stride in self.strides)

    @property
    def span(self) -> tuple[int, int]:
        """The first element that the view reaches, counted from the region's start, and the one after the last."""
        first = last = self.base
        for size, step in zip(self.sizes, self.steps, strict=True):
            first += min(0, (size - 1) * step)
            last += max(0, (size - 1) * step)
        return first % 2**32, first % 2**32 + last - first + 1

    def view(self, sizes: tuple[int, ...], strides: tuple[int, ...], base: int = 0) -> Operand:
        """The same elements under other sizes and strides, ``base`` elements further on."""
        return having(self, sizes=tuple(sizes), strides=tuple(strides), base=self.base + base)

    def broadcast(self, sizes: tuple[int, ...]) -> Operand:
        """Right-aligned to ``sizes``; dimensions of size 1 repeat.

        Where both sizes are 1 nothing tells whether the dimension repeats. It is taken to where an inner one does and
        the elements never change, so that the kernel of a larger size is found: a bias {1, C, 1} of one image is one of
        many, and a mask {1, 1, S} of one sequence has a row for each.
        """
        lead = len(sizes) - self.rank
        strides: list[int] = []
        repeats = False
        for own, stride, size in zip(reversed(self.sizes), reversed(self.strides), reversed(sizes), strict=False):
            repeats |= own != size
            strides.append(0 if own == 1 and (size > 1 or (repeats and self.is_static)) else stride)
        return self.view(tuple(sizes), (0,) * lead + tuple(reversed(strides)))

    def as_type(self, data_type: DML_TENSOR_DATA_TYPE) -> Operand:
        """The same bits read as another data type of the same width."""
        return having(self, data_type=data_type)

    def ends_in(self, epilogue: Epilogue) -> Operand:
        """The same, with that applied to what is stored."""
        return having(self, epilogue=epilogue)

    def over(self, region: Region, epilogue: Epilogue | None) -> Operand:
        """The same of another region."""
        return having(self, region=region, epilogue=epilogue)

    @staticmethod
    def of(desc: DML_BUFFER_TENSOR_DESC, region: Region) -> Operand:
        made = object.__new__(Operand)  # (a plan makes many, and a frozen dataclass is slow to make)
        made.__dict__.update(
            region=region, data_type=desc.DataType, sizes=desc.Sizes, strides=desc.strides, base=0, epilogue=None
        )
        return made


@dataclass(frozen=True)
class EpilogueOperand:
    """Another operand of an epilogue, and which of its elements each store takes.

    steps: period (0 for none), step and stride, such that the element for a store at index i is at the operand's base
    plus the sum of ``(i - origin) % period / step * stride``.
    """

    operand: Operand
    steps: tuple[tuple[int, int, int], ...]

    def reads_one_for_four(self, origin: int) -> bool:
        """Whether four neighbouring stores, the first at a multiple of four, read the same element."""
        return origin % 4 == 0 and all(period % 4 == 0 and step % 4 == 0 for period, step, _ in self.steps)

    def reads_four_for_four(self, origin: int) -> bool:
        """Whether four neighbouring stores read four neighbours, both the first at a multiple of four."""
        *others, (period, step, stride) = self.steps or ((0, 0, 0),)
        return (
            (step, stride) == (1, 1)
            and not any(number % 4 for number in (period, self.operand.base, origin))
            and not any(number % 4 for other in others for number in other)
        )


@dataclass(frozen=True)
class Epilogue:
    """An expression of a value (leaf 0) and of other operands' elements.

    Its result is rounded once, to the tensor's data type. made: the data type of the values: floats are not rounded to
    it, integers wrap as it does. origin: the index of the written tensor's first element in its region.
    """

    expression: Expression
    operands: tuple[EpilogueOperand, ...]
    origin: int
    made: DML_TENSOR_DATA_TYPE


class Access(Enum):
    READ = "r"
    WRITE = "w"
    READ_WRITE = "rw"

    __hash__ = object.__hash__

    @property
    def writes(self) -> bool:
        return self is not Access.READ


class StorageBinding(NamedTuple):
    """One buffer of a dispatch. The region's offset reaches the shader as a push constant, in words.

    texel: 0, or the words (1 or 4) of the texels by which the shader reads it, as a uniform texel buffer.
    """

    region: Region
    access: Access
    texel: int = 0


@dataclass(frozen=True)
class Dispatch:
    """One shader over a grid of workgroups.

    push: the words after the bindings' offsets. parameters: the words of the uniform block behind the storage buffers,
    where the kernel has one. node: the graph's nodes that it computes, in words. invocations: those of a workgroup.

    How long it takes, to an order of magnitude: steps are the rounds of the loops over sizes (of nested loops, of the
    innermost) that its longest invocation makes, each of which waits for memory about once; each: multiply-adds or
    elements loaded in one round, whichever are more.
    """

    label: str
    source: Source
    bindings: tuple[StorageBinding, ...]
    groups: tuple[int, int, int]
    push: tuple[int, ...] = ()
    parameters: tuple[int, ...] = ()
    node: str = ""
    invocations: int = 1
    steps: int = 1
    each: int = 1

    def over(self, bindings: tuple[StorageBinding, ...], node: str | None = None) -> Dispatch:
        """The same over other regions, of another node where one is given."""
        return having(self, bindings=bindings, node=self.node if node is None else node)

    @property
    def work(self) -> int:
        """Multiply-adds or elements loaded by all invocations, were each of them the longest."""
        return math.prod(self.groups) * self.invocations * self.steps * self.each


@dataclass
class Program:
    """Dispatches over bound resources.

    inputs, outputs: the sizes in bytes of the slots, None where an optional tensor is absent.

    Two stages run once, at initialization. ``adopt`` copies the inputs in ``owned`` to their places in the persistent
    resource; a caller that put their bytes there itself leaves it out. Then ``initialize`` computes what depends only
    on them and on ``constants``: the bytes of Space.CONSTANT, where a region's index counts them.
    """

    inputs: list[int | None] = field(default_factory=list)
    outputs: list[int | None] = field(default_factory=list)
    temporaries: int = 0
    temporary_size: int = 0
    persistent_size: int = 0
    constants: list[DML_CONSTANT_DATA_GRAPH_NODE_DESC] = field(default_factory=list)
    owned: dict[int, Region] = field(default_factory=dict)
    adopt: list[Dispatch] = field(default_factory=list)
    initialize: list[Dispatch] = field(default_factory=list)
    dispatches: list[Dispatch] = field(default_factory=list)

    def own(self, slot: int, size: int) -> Region:
        """A place in the persistent resource for the input in ``slot``, which DirectML is to own."""
        self.owned[slot] = self.persist(size)
        return self.owned[slot]

    def persist(self, size: int) -> Region:
        """A new place in the persistent resource."""
        region = Region(Space.PERSISTENT, 0, self.persistent_size, size)
        self.persistent_size += -(-size // REGION_ALIGNMENT) * REGION_ALIGNMENT
        return region

    def describe(self) -> str:
        """A line per dispatch: what runs, over how many workgroups, on which regions."""
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
