"""Builder of a program's dispatches, which every lowering uses."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dml.compiler.data_types import DATA_TYPES
from dml.compiler.kernels import packing, sources
from dml.compiler.kernels.prelude import (
    Bound,
    by_texels,
    epilogue_operands,
    prelude,
    read,
    storage_buffers,
    update,
    write,
)
from dml.compiler.parts import crop, in_parts
from dml.compiler.program import Access, Dispatch, Operand, Program, Region, Space, StorageBinding, fast_replace
from dml.compiler.scalar import Constant
from dml.compiler.selection import fast_halves, reads_texels, single_stores, unit_walk
from dml.compiler.selection.devices import kept_numbers
from dml.compiler.target import Target
from dml.enums import DML_TENSOR_DATA_TYPE
from dml.errors import HRESULT, DMLError
from dml.tensors import packed_strides

#: Workgroups in one dimension that every Vulkan device accepts (the smallest maxComputeWorkGroupCount). Larger grids
#: fold into more dimensions on all devices.
MOST_GROUPS = 65535


class EpilogueTooWideError(Exception):
    """A kernel with its epilogue exceeds the device's limits on storage buffers."""


class TooLargeError(DMLError):
    """A dispatch needs more bytes of a tensor than one binding can hold."""


OperandOrArray = Operand | tuple[Operand, ...] | None


class ProgramBuilder:
    """One descriptor's tensors by name, and the dispatches of the program.

    ``builder["InputTensor"]`` is a present tensor's operand, ``builder.get(name)`` None if it is absent,
    ``builder.array(name)`` the operands of a tensor array.
    """

    def __init__(self, program: Program, target: Target, operands: Mapping[str, OperandOrArray] | None = None) -> None:
        self.program = program
        self.target = target
        self.operands = operands or {}
        self.dispatches = program.dispatches
        #: The graph nodes that the next dispatches compute, for descriptions and profiles: as text, and by number.
        self.node = ""
        self.nodes: tuple[int, ...] = ()
        #: Name of the operator being lowered, for error messages.
        self.operator = ""
        #: Packed copies of regions, for kernels with more tensors than the device has storage buffers.
        self.packs: dict[tuple[Region, ...], packing.Pack] = {}
        self._initializes = False

    def scope(self, operands: Mapping[str, OperandOrArray]) -> ProgramBuilder:
        """Return a builder for another descriptor's tensors, in the same program and stage."""
        scope = ProgramBuilder(self.program, self.target, operands)
        scope.node, scope.nodes = self.node, self.nodes
        scope.operator = self.operator
        return scope.initialization() if self._initializes else scope

    def initialization(self) -> ProgramBuilder:
        """Return a builder for dispatches that run once; its ``temporary`` tensors are in the persistent resource."""
        stage = ProgramBuilder(self.program, self.target, self.operands)
        stage.dispatches = self.program.initialize
        stage.node, stage.nodes = self.node, self.nodes
        stage.operator = self.operator
        stage._initializes = True
        return stage

    @property
    def initializes(self) -> bool:
        """Whether this builder's dispatches run once, at initialization."""
        return self._initializes

    @contextlib.contextmanager
    def attempt(self) -> Iterator[None]:
        """Remove the dispatches added in the with block if it raises."""
        program = self.program
        before = len(program.dispatches), len(program.initialize), program.persistent_size
        try:
            yield
        except BaseException:
            del program.dispatches[before[0] :], program.initialize[before[1] :]
            program.persistent_size = before[2]
            self.packs.clear()
            raise

    def prepare(self, *operands: Operand) -> ProgramBuilder:
        """Return the builder for work that depends only on these operands, such as laying out weights for a kernel.

        The work runs at initialization if all of them are static, otherwise with every dispatch.
        """
        return self.initialization() if all(operand.is_static for operand in operands) else self

    def __getitem__(self, name: str) -> Operand:
        operand = self.operands[name]
        assert isinstance(operand, Operand), name
        return operand

    def get(self, name: str) -> Operand | None:
        operand = self.operands.get(name)
        assert not isinstance(operand, tuple), name
        return operand

    def array(self, name: str) -> tuple[Operand, ...]:
        operand = self.operands[name]
        assert isinstance(operand, tuple), name
        return operand

    def temporary(self, data_type: DML_TENSOR_DATA_TYPE, sizes: Iterable[int]) -> Operand:
        """Create a packed tensor that lives while the program runs; it is placed once all dispatches are known."""
        sizes = tuple(sizes)
        size = -(-math.prod(sizes) * DATA_TYPES[data_type].bits // 32) * 4
        return Operand(self.scratch(size), data_type, sizes, packed_strides(sizes))

    def scratch(self, size: int) -> Region:
        """Like ``temporary``, for ``size`` bytes."""
        if self._initializes:
            return self.program.reserve(size)
        self.program.temporaries += 1
        return Region(Space.TEMPORARY, self.program.temporaries - 1, 0, size)

    def dispatch(
        self,
        kernel: str,
        tensors: Mapping[str, Bound],
        *,
        groups: int | tuple[int, int, int] | None = None,
        count: int | None = None,
        space: Sequence[int] | None = None,
        workgroup: int | tuple[int, int, int] | None = None,
        constants: Mapping[str, Constant] | None = None,
        defines: Mapping[str, object] | None = None,
        push: Mapping[str, int] | None = None,
        code: str = "",
        steps: int = 1,
        each: int = 1,
    ) -> None:
        """Add a dispatch of ``shaders/<kernel>`` over the named tensors.

        The grid has ``groups`` workgroups (a number folds into three dimensions), or enough for ``count`` invocations,
        by default those of ``space``, the sizes of the iteration space. ``code`` is GLSL for the end of the prelude.
        ``steps`` and ``each`` give an invocation's work (see Dispatch); ``steps`` is at most ``selection.max_steps``.
        If there are more tensors than storage buffers, some share one (see packing). For a tensor larger than a
        binding, only the bytes that the operand spans are bound, and the kernel may read no others. Raises DMLError if
        the device's limits are exceeded, EpilogueTooWideError if an epilogue is the cause.
        """
        shape = workgroup if isinstance(workgroup, tuple) else (workgroup or self.target.workgroup, 1, 1)
        if groups is None:
            assert count is not None or space is not None, kernel
            groups = -(-(math.prod(space or ()) if count is None else count) // math.prod(shape))
        grid = self._fold(groups) if isinstance(groups, int) else groups
        if 0 in grid:
            return
        bound, written_elsewhere = self._bind(kernel, tensors)
        if reads_texels(self.target):
            bound = by_texels(bound, self.target.max_texel_buffers)
        head = prelude(
            kernel,
            bound,
            constants or {},
            space,
            shape,
            tuple(push or {}),
            code,
            fast_halves(self.target),
            # Kernels that assemble whole words (lib/for_each.glsl) never store single elements
            frozenset() if (defines or {}).get("WHOLE_WORDS") else single_stores(self.target),
            kept_numbers=kept_numbers(self.target, max(bound[name].operand.rank for name in bound)),
        )
        dispatch = Dispatch(
            label=kernel,
            source=sources.source(kernel, head.text, defines or {}),
            bindings=tuple(_binding([bound[name] for name in names]) for names in storage_buffers(bound)),
            groups=grid,
            push=(*(push or {}).values(), *head.push),
            parameters=head.parameters,
            node=self.node,
            nodes=self.nodes,
            invocations=math.prod(shape),
            steps=max(1, steps),
            each=max(1, each),
        )
        self._check_limits(dispatch, shape)
        self.dispatches.append(dispatch)
        packing.restore(self, written_elsewhere)

    def _bind(self, kernel: str, tensors: Mapping[str, Bound]) -> tuple[Mapping[str, Bound], packing.Moves]:
        """Return the bindings of a kernel over these tensors: the visible part of each, and the operands of their
        epilogues.

        If they exceed the device's storage buffers, some share one; the second result is then for ``packing.restore``,
        after the kernel.
        """
        cropped = dict(tensors)
        for name, bound in tensors.items():
            if bound.operand.epilogue is not None or bound.operand.region.size > self.target.max_region:
                cropped[name] = fast_replace(bound, operand=self.crop(bound.operand))
        more = epilogue_operands(cropped)
        if any(bound.region.size > self.target.max_region for bound in more.values()):
            raise EpilogueTooWideError(f"{kernel}: an operand of its epilogue is larger than one binding")
        most = self.target.max_storage_buffers
        if more and len(cropped) + len(more) > most:
            raise EpilogueTooWideError(f"{kernel}: no storage buffers left for the operands of its epilogue")
        every = {**more, **cropped}
        return packing.share(self, every, most) if len(every) > most else (every, {})

    def crop(self, operand: Operand) -> Operand:
        """Return the operand as it is bound: for a tensor larger than a binding, only the bytes that the operand spans.

        Raises DMLError if these exceed a binding.
        """
        cropped = crop(operand, self.target.max_region)
        if cropped.region.size > self.target.max_region:
            raise self._too_large(operand.region)
        return cropped

    def _too_large(self, region: Region) -> TooLargeError:
        name, size = "a temporary tensor", region.size
        for field, operands in self.operands.items():
            for operand in operands if isinstance(operands, tuple) else (operands,):
                if operand is not None and operand.region.overlaps(region):
                    name, size = field, operand.region.size
        return TooLargeError(
            f"{self.operator or self.node}: {name} has {size} bytes, and a dispatch needs more than the "
            f"{self.target.max_region} that one descriptor binds on this device",
            HRESULT.E_OUTOFMEMORY,
        )

    def _fold(self, groups: int) -> tuple[int, int, int]:
        """Return a grid of at least ``groups`` workgroups: in one dimension if possible, else of about equal sides in
        two or three."""
        across, down, _ = self.target.max_workgroup_count
        rows = max(1, -(-groups // min(across, MOST_GROUPS)))
        if rows <= down:
            return -(-groups // rows), rows, 1
        planes = -(-rows // down)
        rows = -(-rows // planes)
        return -(-groups // (rows * planes)), rows, planes

    def _check_limits(self, dispatch: Dispatch, shape: tuple[int, int, int]) -> None:
        target = self.target

        def limit(name: str, found: int, most: int) -> None:
            if found > most:
                raise DMLError(
                    f"{dispatch.label}: {name} is {found}, above the device's limit {most}", HRESULT.E_OUTOFMEMORY
                )

        limit("workgroup invocations", math.prod(shape), target.max_workgroup_invocations)
        for axis in range(3):
            limit("workgroup size", shape[axis], target.max_workgroup_size[axis])
            limit("workgroup count", dispatch.groups[axis], target.max_workgroup_count[axis])
        limit("storage buffers bound", len(dispatch.bindings), target.max_storage_buffers)
        limit("push constants in bytes", 4 * (len(dispatch.bindings) + len(dispatch.push)), target.max_push_constants)
        for binding in dispatch.bindings:
            if binding.region.size > target.max_region:
                raise self._too_large(binding.region)

    def for_each(
        self,
        kernel: str,
        result: Operand,
        tensors: Mapping[str, Operand],
        *,
        constants: Mapping[str, Constant] | None = None,
        defines: Mapping[str, object] | None = None,
        code: str = "",
        steps: int = 1,
        split_axes: Iterable[int] = (),
        reads_result: bool = False,
    ) -> None:
        """Run a kernel that defines ``result_VALUE value(uint c[RANK])`` once per element of ``result``.

        The kernel includes "lib/for_each.glsl" at its end. Invocations write whole words if the result is packed.
        steps: per element (see Dispatch). split_axes: dimensions along which value(c) reads every tensor only at c
        (with the result's sizes); tensors larger than a binding are split along them. reads_result: value(c) may also
        read the result's old value at c.
        """
        for part, *others in in_parts((result, *tensors.values()), self.target.max_region, split_axes):
            row = DATA_TYPES[part.data_type]
            elements = row.per_word if row.per_word > 1 and owns_whole_words(part) else 1
            named = {name: read(operand) for name, operand in zip(tensors, others, strict=True)}
            self.walk(
                kernel,
                {"result": update(part) if reads_result else write(part), **named},
                -(-part.count // elements),
                space=part.sizes,
                rounds=steps * elements,
                constants=constants,
                defines={**(defines or {}), "WHOLE_WORDS": int(elements > 1)},
                code=code,
            )

    def walk(
        self,
        kernel: str,
        tensors: Mapping[str, Bound],
        units: int,
        *,
        space: Sequence[int],
        rounds: int = 1,
        constants: Mapping[str, Constant] | None = None,
        defines: Mapping[str, object] | None = None,
        code: str = "",
        each: int = 1,
    ) -> None:
        """Add a dispatch of a kernel that ends in "lib/for_each.glsl", over ``units`` units.

        rounds: the steps of one unit. The other parameters are those of ``dispatch``.
        """
        walk = unit_walk(self.target, units, rounds, code.count("\n"))
        self.dispatch(
            kernel,
            tensors,
            space=space,
            count=walk.invocations(units),
            workgroup=walk.workgroup,
            constants={**(constants or {}), "WALK": walk.steps},
            defines={**(defines or {}), "WALKS": int(walk.loops)},
            code=code,
            steps=walk.steps * rounds,
            each=each,
        )


def _binding(bounds: Sequence[Bound]) -> StorageBinding:
    """Return the storage buffer that these tensors share."""
    kinds = {bound.access for bound in bounds}
    return StorageBinding(bounds[0].region, kinds.pop() if len(kinds) == 1 else Access.READ_WRITE, bounds[0].texel)


def owns_whole_words(result: Operand) -> bool:
    """Whether a packed result shares no 32-bit word with other elements; a slice of a larger tensor may."""
    row = DATA_TYPES[result.data_type]
    end = result.base + result.count
    ends_in_last_word = not result.followed and end * row.bits > (result.region.size - 4) * 8
    return result.is_packed and result.base % row.per_word == 0 and (end % row.per_word == 0 or ends_in_last_word)


def merge_dimensions(
    sizes: Sequence[int], strides: Sequence[Sequence[int]]
) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Merge adjacent dimensions that every tensor traverses as one; drop trailing dimensions of size 1.

    strides: one tuple per tensor, over the same sizes. The result may be empty. A leading dimension of size 1 merges by
    its strides like any other, so a batch of one has the kernel of a batch of many.
    """
    merged_sizes: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    last = max((axis for axis, size in enumerate(sizes) if size > 1), default=-1)
    for axis, size in enumerate(sizes[: last + 1]):
        if merged_sizes and all(m[-1] == s[axis] * size for m, s in zip(merged, strides, strict=True)):
            merged_sizes[-1] *= size
            for m, s in zip(merged, strides, strict=True):
                m[-1] = s[axis]
        else:
            merged_sizes.append(size)
            for m, s in zip(merged, strides, strict=True):
                m.append(s[axis])
    return tuple(merged_sizes), [tuple(m) for m in merged]


def merge_axes(operands: Sequence[Operand], axes: Sequence[int]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """Return the merged sizes of these dimensions (see ``merge_dimensions``), and each operand's strides.

    The operands have equal sizes along ``axes``. At least one dimension, possibly of size 1, is returned.
    """
    sizes = [operands[0].sizes[axis] for axis in axes]
    merged, strides = merge_dimensions(sizes, [[operand.strides[axis] for axis in axes] for operand in operands])
    return (merged, strides) if merged else ((1,), [(0,)] * len(operands))


def merge(*operands: Operand) -> tuple[Operand, ...]:
    """Merge the common dimensions of operands of equal sizes; at least one dimension remains."""
    sizes, strides = merge_dimensions(operands[0].sizes, [operand.strides for operand in operands])
    if not sizes:
        sizes, strides = (1,), [(1,)] * len(operands)
    return tuple(operand.view(sizes, stride) for operand, stride in zip(operands, strides, strict=True))


def merge_around(axis: int, *operands: Operand) -> tuple[int, tuple[Operand, ...]]:
    """Like ``merge``, but keep dimension ``axis`` separate; return its new position and the operands.

    The operands have equal sizes except along ``axis``, where each keeps its own.
    """
    first = operands[0]
    before, strides_before = merge_dimensions(first.sizes[:axis], [o.strides[:axis] for o in operands])
    after, strides_after = merge_dimensions(first.sizes[axis + 1 :], [o.strides[axis + 1 :] for o in operands])
    merged = tuple(
        operand.view((*before, operand.sizes[axis], *after), (*b, operand.strides[axis], *a))
        for operand, b, a in zip(operands, strides_before, strides_after, strict=True)
    )
    return len(before), merged
