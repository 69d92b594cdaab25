"""Choices for products, convolutions, recurrences and attention: within the device's limits, and by the rules."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest

from desktop import DESKTOP
from dml.compiler.features import NO_FEATURES, Features, MatrixShape
from dml.compiler.selection import lanes, max_steps
from dml.compiler.selection.attention import attention_softmax
from dml.compiler.selection.convolution import (
    DirectTile,
    WindowSizes,
    direct_tile,
    goes_by_phases,
    is_cheaper_by_winograd,
    stores_in_loops,
    winograd_grid,
)
from dml.compiler.selection.few_rows import FewMatrixProduct, VectorProduct
from dml.compiler.selection.gemm import (
    MatrixProduct,
    NarrowProduct,
    ProductKernel,
    SharedProduct,
    is_better_transposed,
    is_worth_packing,
    longest_product,
    part_of_k,
    product_kernel,
    product_steps,
)
from dml.compiler.selection.recurrent import RecurrenceCut, RecurrenceSizes, recurrence_cut, recurrence_rounds
from dml.compiler.selection.tiles import ProductSizes, TiledProduct
from dml.compiler.target import DeviceClass, Target

LLVMPIPE = Target(device_class=DeviceClass.CPU, max_workgroup_invocations=1024, shared_memory=32768, subgroup_size=8)
SWIFTSHADER = Target(device_class=DeviceClass.CPU, max_workgroup_invocations=256, subgroup_size=4)
HALF_MATRICES = tuple(
    MatrixShape(*size, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32") for size in ((16, 16, 16), (16, 8, 16))
)
MATRICES = replace(DESKTOP, features=Features(float16=True, memory_model=True, cooperative_matrices=HALF_MATRICES))
MINIMUM = Target()
FEW_STEPS = replace(LLVMPIPE, fewer_steps=256)
TARGETS = {
    "llvmpipe": LLVMPIPE,
    "SwiftShader": SWIFTSHADER,
    "desktop": DESKTOP,
    "desktop with matrices": MATRICES,
    "Vulkan's minimum": MINIMUM,
    "few steps": FEW_STEPS,
    "few steps on a desktop": replace(DESKTOP, fewer_steps=256),
}

every_target = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)


@every_target
def test_lanes_fit_a_workgroup(target: Target) -> None:
    assert 1 <= lanes(target) <= target.max_workgroup_invocations


# --- Products of matrices ---------------------------------------------------------------------------------------------

SIZES = (1, 3, 15, 16, 33, 100, 513, 4096)


def kernels(target: Target) -> dict[tuple[int, int, int, bool, bool, int, bool], ProductKernel]:
    cases = itertools.product(SIZES, SIZES, (1, 64), (False, True), (False, True), (0, 8), (False, True))
    return {
        (m, n, batch, a, b, vectors, halves): product_kernel(
            target,
            ProductSizes(m, n, 4096, batch),
            a_along_columns=a,
            b_along_k=b,
            b_per_vector=vectors,
            halves=halves,
        )
        for m, n, batch, a, b, vectors, halves in cases
    }


def shared_bytes(kernel: ProductKernel) -> int:
    """Return the shared memory that the kernel's shader declares, in bytes."""
    match kernel:
        case SharedProduct():
            return 16 * kernel.tile_k * (kernel.rows // 4 + 1 + kernel.columns // 4 + 1)
        case VectorProduct():
            return 4 * kernel.slices * kernel.lanes * kernel.columns
        case FewMatrixProduct():
            rows, columns = kernel.tile
            return kernel.subgroups * (2 * (rows + columns) * (kernel.tile_k + 8) + 4 * rows * columns)
        case MatrixProduct():
            # The larger of the two tile layouts: lines along k, or across it.
            lines = [(size, kernel.tile_k) for size in kernel.tile]
            slabs = sum(max(a * (b // 8 | 1), b * (a // 8 | 1)) for a, b in lines)
            # At the end, a row of matrices of each subgroup passes through the same memory.
            return 16 * max(slabs, kernel.subgroups * kernel.shape[0] * (kernel.subgroup_tile[1] // 4 + 2))
        case NarrowProduct():
            return 4 * kernel.rows * kernel.lanes * kernel.slices
    return 0


@every_target
def test_products_fit_the_device(target: Target) -> None:
    for case, kernel in kernels(target).items():
        assert kernel.workgroup <= target.max_workgroup_invocations, case
        assert shared_bytes(kernel) <= target.shared_memory, case


@every_target
def test_few_rows_leave_a_tile_no_more_than_half_empty(target: Target) -> None:
    for (m, *case), kernel in kernels(target).items():
        if isinstance(kernel, NarrowProduct | VectorProduct):
            assert m <= kernel.rows <= 2 * m, (m, *case)


@pytest.mark.parametrize("target", [DESKTOP, MATRICES, MINIMUM])
@pytest.mark.parametrize(
    "n, along_k, per_vector, halves", [(64, True, 4, False), (9000, False, 8, True), (64, True, 0, False)]
)
def test_two_rows_take_the_kernel_of_four(target: Target, n: int, along_k: bool, per_vector: int, halves: bool) -> None:
    """One kernel for two to four rows saves compilations when the batch size changes. One row has its own kernel."""

    def of(m: int) -> ProductKernel:
        sizes = ProductSizes(m, n, 4096, 1)
        return product_kernel(
            target, sizes, a_along_columns=False, b_along_k=along_k, b_per_vector=per_vector, halves=halves
        )

    assert of(2) == of(3) == of(4) != of(1)


def test_columns_of_a_are_read_in_fours() -> None:
    for (*case, a_along_columns, _, _, _), kernel in kernels(LLVMPIPE).items():
        assert isinstance(kernel, TiledProduct)
        assert not a_along_columns or kernel.rows % 4 == 0, case


def test_tiles_on_cpus_earn_their_compilation() -> None:
    sizes = ((24, 128), (24, 512), (512, 512), (1024, 1024))
    kernels = [
        product_kernel(LLVMPIPE, ProductSizes(m, n, n, 1), a_along_columns=False, b_along_k=False) for m, n in sizes
    ]
    sums = [kernel.rows * kernel.columns for kernel in kernels if isinstance(kernel, TiledProduct)]
    assert sums == sorted(sums)
    assert sums[0] <= 64
    assert sums[-1] == 256


def test_tiles_on_cpus_do_not_depend_on_how_many_rows_weights_get_but_for_very_many() -> None:
    def tile(m: int, n: int, k: int, batch: int) -> tuple[int, int]:
        sizes = ProductSizes(m, n, k, batch, b_known=True)
        return product_kernel(LLVMPIPE, sizes, a_along_columns=False, b_along_k=False).tile

    for n, k in itertools.product(SIZES, SIZES):
        assert len({tile(m, n, k, 1) for m in range(1, 5)}) == 1
        several = {m * n * k >= 50_000_000: tile(m, n, k, 1) for m in (5, 16, 45, 4096)}
        for m in (5, 16, 45, 4096):
            assert tile(m, n, k, 1) == several[m * n * k >= 50_000_000]
        assert math.prod(several[max(several)]) >= math.prod(several[min(several)])


def test_tiles_on_cpus_do_not_depend_on_how_many_products_there_are() -> None:
    for m, n, k, known in itertools.product(SIZES, SIZES, SIZES, (False, True)):
        several = [ProductSizes(m, n, k, batch, a_known=known) for batch in (1, 2, 3, 96)]
        kernels = [product_kernel(LLVMPIPE, each, a_along_columns=False, b_along_k=False) for each in several]
        assert len({kernel.tile for kernel in kernels}) == 1


def test_rows_are_shared_by_the_lanes_of_a_subgroup_of_eight() -> None:
    def shares(target: Target, m: int, *, a_along_columns: bool = False) -> bool:
        kernel = product_kernel(target, ProductSizes(m, 512, 512, 1), a_along_columns=a_along_columns, b_along_k=False)
        return isinstance(kernel, TiledProduct) and kernel.shares_rows

    able = replace(LLVMPIPE, features=Features(subgroup_operations=frozenset({"ballot"})))
    assert shares(able, 512)
    assert not shares(able, 1)
    assert not shares(able, 512, a_along_columns=True)
    for other in (replace(able, features=NO_FEATURES), replace(able, subgroup_size=4), replace(able, subgroup_size=64)):
        assert not shares(other, 512)


def test_larger_products_get_no_smaller_tiles() -> None:
    every = (ProductSizes(n, n, n, 1) for n in (64, 256, 1024, 4096))
    sizes = [product_kernel(DESKTOP, each, a_along_columns=False, b_along_k=False) for each in every]
    squares = [kernel.rows for kernel in sizes if isinstance(kernel, SharedProduct)]
    assert squares == sorted(squares)
    assert len(squares) == len(sizes)
    assert len(set(squares)) > 1


def test_half_products_go_to_matrix_units_where_there_are_some() -> None:
    def on(target: Target, m: int, n: int, *, halves: bool = True) -> ProductKernel:
        sizes = ProductSizes(m, n, 512, 1)
        return product_kernel(target, sizes, a_along_columns=False, b_along_k=False, halves=halves)

    found = on(MATRICES, 512, 512)
    assert isinstance(found, MatrixProduct)
    assert found.shape == (16, 16, 16)
    assert not isinstance(on(DESKTOP, 512, 512), MatrixProduct)
    assert not isinstance(on(MATRICES, 512, 512, halves=False), MatrixProduct)
    assert not isinstance(on(MATRICES, 4, 512), MatrixProduct)


@every_target
def test_parts_of_k_are_all_of_it(target: Target) -> None:
    """Split-k parts consist of whole steps, and are at most as many as the kernel supports."""
    for case, kernel in kernels(target).items():
        part = part_of_k(kernel, 4096)
        assert part == 4096 or part % 16 == 0, case
        if isinstance(kernel, SharedProduct | VectorProduct | FewMatrixProduct | MatrixProduct):
            assert -(-4096 // part) <= kernel.split_k, case


@every_target
def test_products_go_in_parts_that_an_invocation_may_make(target: Target) -> None:
    for case, kernel in kernels(target).items():
        longest = longest_product(target, kernel)
        assert longest % kernel.depth == 0 or longest < kernel.depth, case
        assert product_steps(kernel, longest) <= max_steps(target), case


@every_target
def test_transposing_is_never_better_both_ways(target: Target) -> None:
    for m, n in itertools.product(SIZES, SIZES):
        for known in (False, True):
            given = ProductSizes(m, n, 512, 1, a_known=known)
            turned = ProductSizes(n, m, 512, 1, b_known=known)
            assert not (is_better_transposed(target, given) and is_better_transposed(target, turned)), (given, target)


def test_products_of_few_columns_are_transposed() -> None:
    for target in (LLVMPIPE, DESKTOP, MINIMUM):
        assert is_better_transposed(target, ProductSizes(4096, 1, 64, 1))


def test_only_cpus_copy_operands_that_are_used_often() -> None:
    assert is_worth_packing(LLVMPIPE, 4096, known=False)
    assert not is_worth_packing(LLVMPIPE, 1, known=False)
    assert is_worth_packing(LLVMPIPE, 1, known=True)
    assert not is_worth_packing(DESKTOP, 4096, known=True)


# --- Convolutions -----------------------------------------------------------------------------------------------------


def windows(inputs: int, outputs: int, side: int, taps: int, *, stride: int = 1, dilation: int = 1) -> WindowSizes:
    """Return the sizes of square 2-D windows over a volume of two slices."""
    return WindowSizes(
        3, 2, inputs, outputs, (2, side, side), (1, taps, taps), (1, stride, stride), (1, dilation, dilation)
    )


def tiles(target: Target) -> list[tuple[WindowSizes, DirectTile | None]]:
    cases = itertools.product((1, 3, 64), (1, 5, 64), (1, 7, 56), (1, 3, 7, 40), (1, 2), (1, 3))
    sizes = [windows(*case[:4], stride=case[4], dilation=case[5]) for case in cases]
    return [(each, direct_tile(target, each)) for each in sizes]


@every_target
def test_direct_tiles(target: Target) -> None:
    """Sums fit registers, the copy of x covers every element that a tile reads, and loops are within the limit."""
    found = 0
    for sizes, tile in tiles(target):
        if tile is None:
            continue
        found += 1
        assert tile.sums * sizes.taps[2] <= 1024
        assert target.is_cpu or tile.sums <= 32
        assert sizes.rows_of_taps <= max_steps(target)
        assert tile.span % 4 == 0
        assert tile.padded[4] % 4 == 0
        batch, channels, depth, height, width = tile.padded
        assert (batch, channels) == (sizes.batch, sizes.groups * sizes.inputs)
        for extent, places, axis in ((depth, 2, 0), (height, sizes.places[1], 1), (width, sizes.places[2], 2)):
            last = (places - 1) * sizes.strides[axis] + (sizes.taps[axis] - 1) * sizes.dilations[axis]
            assert last < extent
    assert found > 20


@every_target
def test_the_direct_kernels_copies_fit_a_binding(target: Target) -> None:
    small = replace(target, max_storage_buffer_range=1 << 16)
    refused = 0
    for sizes, tile in tiles(small):
        if tile is None:
            refused += direct_tile(target, sizes) is not None
            continue
        channels = sizes.groups * -(-sizes.outputs // tile.channels) * tile.channels
        weights = channels * sizes.rows_of_taps * sizes.taps[2]
        batch, inputs, depth, height, width = tile.padded
        assert 4 * max(weights, batch * inputs * depth * height * width) <= small.max_region
    assert refused


def test_tiles_are_stored_in_loops_where_private_arrays_cost_little() -> None:
    assert stores_in_loops(LLVMPIPE)
    assert not stores_in_loops(DESKTOP)


def test_windows_too_wide_for_registers_have_no_direct_tile() -> None:
    assert direct_tile(DESKTOP, windows(4, 4, 64, 301)) is None


def test_phases_of_a_backward_convolution_are_few() -> None:
    assert goes_by_phases((1, 1, 1))
    assert goes_by_phases((2, 2, 2))
    assert not goes_by_phases((8, 8, 8))


def test_winograd_pays_for_many_channels_and_places_on_cpus() -> None:
    many = WindowSizes(1, 1, 64, 64, (1, 56, 56), (1, 3, 3), (1, 1, 1), (1, 1, 1))
    assert is_cheaper_by_winograd(LLVMPIPE, many)
    assert not is_cheaper_by_winograd(DESKTOP, many)
    for fewer in (replace(many, inputs=8), replace(many, outputs=8), replace(many, places=(1, 3, 3))):
        assert not is_cheaper_by_winograd(LLVMPIPE, fewer)


def test_winograd_stays_within_a_binding() -> None:
    many = WindowSizes(1, 1, 64, 64, (1, 56, 56), (1, 3, 3), (1, 1, 1), (1, 1, 1))
    assert not is_cheaper_by_winograd(replace(LLVMPIPE, max_storage_buffer_range=1 << 18), many)


@pytest.mark.parametrize("places", [(1, 1, 1), (2, 4, 5), (3, 56, 57)])
def test_winograd_tiles_cover_the_result(places: tuple[int, int, int]) -> None:
    grid = winograd_grid(2, places)
    assert 0 <= 4 * grid.high - places[1] < 4
    assert 0 <= 4 * grid.wide - places[2] < 4
    assert grid.count == 2 * places[0] * grid.high * grid.wide
    dilated = winograd_grid(2, places, (1, 3, 2))
    assert (dilated.high % 3, dilated.wide % 2) == (0, 0)
    assert 0 <= 4 * dilated.high - places[1] < 12
    assert 0 <= 4 * dilated.wide - places[2] < 8


# --- Recurrences ------------------------------------------------------------------------------------------------------

GATES_AND_PHASES = ((1, 1), (3, 1), (3, 2), (4, 1))


def cuts(target: Target) -> list[tuple[RecurrenceSizes, RecurrenceCut]]:
    cases = itertools.product(
        GATES_AND_PHASES, (1, 64, 5000), (1, 2, 8, 100), (1, 7, 64, 256, 512, 513, 2048, 9000), (1, 2)
    )
    sizes = [RecurrenceSizes(*kind, steps, batch, hidden, d) for kind, steps, batch, hidden, d in cases]
    return [(each, recurrence_cut(target, each)) for each in sizes]


@every_target
def test_recurrences(target: Target) -> None:
    """Partitions respect the device's limits and cover every unit and row."""
    for sizes, cut in cuts(target):
        assert cut.workgroup <= target.max_workgroup_invocations
        units = cut.units * (1 if cut.slices else cut.workgroup)
        assert (cut.tiles - 1) * units < sizes.hidden <= cut.tiles * units
        if cut.slices:
            # Each slice covers all blocks of the workgroup's rows, an invocation's cells are in one row, and sums fit
            # shared memory.
            assert cut.workgroup * cut.block == cut.slices * cut.rows
            assert cut.workgroup % cut.rows == 0
            assert cut.units_of_invocation * cut.workgroup >= cut.units * cut.rows
            sums = sizes.gates * cut.units * cut.rows + cut.rows // cut.block
            assert 4 * cut.slices * sums <= target.shared_memory
        assert 1 <= cut.rows <= max(2, sizes.batch)
        if not cut.stepwise:
            assert 2 * 16 * sizes.fours * cut.rows <= target.shared_memory
            assert cut.at_once == sizes.steps or cut.at_once % 2 == 0
            around, each = recurrence_rounds(sizes, cut)
            assert around + cut.at_once * each <= max_steps(target)


def test_only_wide_vectors_hold_weights() -> None:
    """Narrower vectors mean SwiftShader, whose stacks are small."""
    resident = {name: any(cut.resident for _, cut in cuts(target)) for name, target in TARGETS.items()}
    assert resident["llvmpipe"]
    assert not any(resident[name] for name in ("SwiftShader", "desktop", "Vulkan's minimum"))


def test_one_sequence_has_the_kernel_of_some() -> None:
    of_one = {replace(sizes, batch=1): cut for sizes, cut in cuts(LLVMPIPE) if sizes.batch == 1}
    of_two = {replace(sizes, batch=1): cut for sizes, cut in cuts(LLVMPIPE) if sizes.batch == 2}
    for sizes, cut in of_two.items():
        assert cut.rows == of_one[sizes].rows


def test_two_cores_share_many_rows() -> None:
    for sizes, cut in cuts(LLVMPIPE):
        if sizes.batch <= 4:
            continue
        groups = sizes.directions * -(-sizes.batch // cut.rows)
        assert groups >= min(2, sizes.directions * sizes.batch)


# --- Attention --------------------------------------------------------------------------------------------------------


@every_target
def test_softmax_of_attention(target: Target) -> None:
    alone = set()
    for keys in (1, 4, 129, 4096, 1 << 17, 1 << 26):
        chosen = attention_softmax(target, keys)
        assert chosen.workgroup <= target.max_workgroup_invocations
        assert chosen.workgroup & (chosen.workgroup - 1) == 0  # sums are added pairwise, in log2 rounds
        assert chosen.steps <= max_steps(target)
        alone.add(chosen.masks_alone)
    assert alone == ({True} if target.is_cpu else {False, True})
