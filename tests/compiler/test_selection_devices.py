"""GPUs with fewer registers per invocation than an H100: selection rules, and results with the smaller tiles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dml
from desktop import DESKTOP
from dml.compiler.features import Features, FloatMode, MatrixShape
from dml.compiler.selection import devices, lanes
from dml.compiler.selection.attention import AttentionFew, AttentionShape, AttentionTiles, attention_sharing
from dml.compiler.selection.bytes import DotProduct, DotRows, byte_kernel
from dml.compiler.selection.convolution import WindowSizes, depthwise_tile, implicit_tile
from dml.compiler.selection.few_rows import VectorProduct
from dml.compiler.selection.gemm import MatrixProduct, NarrowProduct, SharedProduct, product_kernel
from dml.compiler.selection.lines import held_rows, reduction_sharing
from dml.compiler.selection.product_tiles import half_steps
from dml.compiler.selection.recurrent import RecurrenceSizes, recurrence_cut
from dml.compiler.selection.stored_weights import ColumnsProduct, block_product
from dml.compiler.selection.tiles import ProductSizes, TiledProduct
from dml.compiler.selection.windows import window_sharing
from dml.compiler.target import Target
from dml.conformance.case import Case
from dml.conformance.execution import run_case
from harness import assert_exact, assert_half_sums, assert_sums, random, run, tensor

_MATRIX = MatrixShape(8, 8, 16, "FLOAT16", "FLOAT16", "FLOAT32", "FLOAT32")
_FEATURES = Features(
    float16=True, int8=True, integer_dot_product=True, memory_model=True, cooperative_matrices=(_MATRIX,)
)
#: Properties that identify a chip, as its driver reports them.
CHIPS: dict[str, dict[str, int]] = {
    "dg2": {"vendor": 0x8086, "device": 0x5690, "driver": 6, "min_subgroup_size": 8},
    "lnl": {"vendor": 0x8086, "device": 0x64A0, "driver": 6, "min_subgroup_size": 16},
    "a660": {"vendor": 0x5143, "device": 0x06060000, "driver": 18},
    "a702": {"vendor": 0x5143, "device": 0x07002000, "driver": 18},
    "a740": {"vendor": 0x5143, "device": 0x43050A01, "driver": 18},
    "navi21": {"vendor": 0x1002, "device": 0x73BF, "driver": 3, "min_subgroup_size": 32},
    "vega10": {"vendor": 0x1002, "device": 0x6860, "driver": 3, "min_subgroup_size": 64},
    "navi31": {"vendor": 0x1002, "device": 0x744C, "driver": 3, "min_subgroup_size": 32},
    "kepler": {"vendor": 0x10DE, "device": 0x1180, "driver": 24, "min_subgroup_size": 32},
    "pascal": {"vendor": 0x10DE, "device": 0x1B80, "driver": 24, "min_subgroup_size": 32},
    "volta": {"vendor": 0x10DE, "device": 0x1D81, "driver": 24, "min_subgroup_size": 32},
    "m1": {"vendor": 0x10005, "device": 0, "driver": 26},
    "Mali": {"vendor": 0x13B5, "device": 0xA8670000, "driver": 20},
    "G52": {"vendor": 0x13B5, "device": 0x72120000, "driver": 20},
    "V3D": {"vendor": 0x14E4, "device": 0, "driver": 19},
}
H100 = replace(DESKTOP, vendor=0x10DE, device=0x2330, driver=4, min_subgroup_size=32, features=_FEATURES)


def chip(name: str) -> Target:
    return replace(DESKTOP, features=_FEATURES, **CHIPS[name])


def product(target: Target, *, float16: bool = False, singles: bool = False) -> Any:
    sizes, halves = ProductSizes(4096, 4096, 4096, 1), float16 and not singles
    layout = {"a_along_columns": False, "b_along_k": False, "halves": halves, "singles": singles}
    return product_kernel(target, sizes, **layout, float16=float16)


@pytest.mark.parametrize(
    ("name", "registers", "in_step"),
    [
        ("dg2", 128, 32),
        ("lnl", 128, 64),
        ("a660", 128, 128),
        ("a740", 192, 192),
        ("m1", 128, 128),
        ("kepler", 63, 63),
    ],
)
def test_registers(name: str, registers: int, in_step: int) -> None:
    """On Intel, a wider subgroup has only the registers of the narrowest."""
    assert devices.registers(chip(name)) == registers
    assert devices.registers_in_step(chip(name)) == in_step


def test_long_rows_are_held_where_they_fit_the_registers() -> None:
    assert held_rows(chip("navi31"), 40960, 4) is not None
    assert held_rows(chip("navi21"), 40960, 4) is None
    assert held_rows(chip("navi21"), 32768, 4) is not None


def test_eight_rows_of_halves_stay_in_registers_where_loads_leave_room() -> None:
    def kernel(name: str, m: int) -> Any:
        sizes = ProductSizes(m, 1024, 4096, 1)
        target = replace(chip(name), features=Features())
        return product_kernel(
            target, sizes, a_along_columns=False, b_along_k=False, b_per_vector=8, float16=True, halves=True
        )

    assert isinstance(kernel("navi31", 8), VectorProduct)
    assert isinstance(kernel("volta", 4), VectorProduct)
    assert isinstance(kernel("volta", 8), NarrowProduct)


def test_a_large_workgroup_has_fewer_registers() -> None:
    assert devices.registers(H100, 512) == 128
    assert devices.registers(chip("a660"), 512) == 64


@pytest.mark.parametrize(
    ("vendor", "number", "told", "cores"),
    [
        (0x8086, 0x56A0, 0, 32),  # Arc A770
        (0x8086, 0x56A5, 0, 8),  # Arc A380
        (0x8086, 0x9A49, 0, 6),  # Tiger Lake
        (0x8086, 0xFFFF, 0, 8),
        (0x5143, 0x06030001, 0, 2),  # Adreno 630
        (0x5143, 0x06060001, 0, 3),
        (0x5143, 0x43050A01, 0, 6),  # Adreno 740
        (0x13B5, 0xA8670000, 4, 4),
        (0x1002, 0x744C, 96, 96),
        (0x10DE, 0x2330, 0, 132),
        (0, 0, 0, 132),
    ],
)
def test_cores(vendor: int, number: int, told: int, cores: int) -> None:
    """The number that Vulkan reports, else the known number of the chip, else an H100's."""
    assert devices.cores(replace(DESKTOP, vendor=vendor, device=number, cores=told)) == cores


def test_fewer_cores_are_filled_by_larger_tiles_and_fewer_parts() -> None:
    def kernel(cores: int, m: int, n: int, k: int) -> Any:
        sizes = ProductSizes(m, n, k, 1)
        return product_kernel(
            replace(H100, features=Features(), cores=cores), sizes, a_along_columns=False, b_along_k=False
        )

    assert kernel(132, 1024, 512, 64).tile == (64, 64)
    assert kernel(132, 1024, 1024, 64).tile == (64, 128)
    assert kernel(66, 1024, 512, 64).tile == (64, 128)
    assert kernel(132, 32, 32, 8192).split_k == 16
    assert kernel(2, 32, 32, 8192).split_k == 4
    assert devices.filling(replace(H100, cores=1), 1) == 1


@pytest.mark.parametrize("target", [DESKTOP, H100], ids=["unknown", "H100"])
def test_measured_tiles_stay_on_the_h100(target: Target) -> None:
    assert product(target) == SharedProduct(64, 128, blocks=(2, 2), tile_k=16)
    assert held_rows(target, 40960, 4) is not None
    assert half_steps(target.under(dml.DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION)) == (target is H100) * 8


@pytest.mark.parametrize(
    ("name", "blocks"),
    [("dg2", (2, 1)), ("m1", (2, 1)), ("a660", (2, 1)), ("a740", (2, 2)), ("Mali", (1, 1)), ("V3D", (1, 1))],
)
def test_sums_of_products(name: str, blocks: tuple[int, int]) -> None:
    found = product(chip(name))
    assert isinstance(found, SharedProduct)
    assert found.blocks == blocks


def test_matrix_units_with_too_few_registers_are_not_used() -> None:
    assert isinstance(product(chip("dg2"), float16=True), SharedProduct)
    lnl = product(chip("lnl"), float16=True)
    assert isinstance(lnl, MatrixProduct)
    assert (lnl.tile, lnl.subgroup_tile, lnl.tile_k) == ((32, 32), (16, 16), 32)
    assert not devices.has_room_for_matrices(chip("lnl"))
    assert devices.has_room_for_matrices(H100)


def test_an_adreno_702_uses_no_shared_memory() -> None:
    """Barriers leave its invocations few registers."""
    assert product(chip("a702")) == TiledProduct(4, 8, lanes(chip("a702")))
    assert product(chip("a702"), float16=True, singles=True) == TiledProduct(4, 4, lanes(chip("a702")))
    assert held_rows(chip("a702"), 4096, 4) is None
    assert reduction_sharing(chip("a702"), 4, 16384, 0).lanes == 1
    assert not window_sharing(chip("a702"), (1, 7, 7)).together
    assert block_product(chip("a702"), 2, 4, 32) == ColumnsProduct(1, 4, lanes(chip("a702")))
    for steps, hidden in ((64, 256), (2, 1024)):
        cut = recurrence_cut(chip("a702"), RecurrenceSizes(4, 1, steps, 8, hidden, 1))
        assert (cut.stepwise, cut.slices, cut.units) == (True, 0, 1)


@pytest.mark.parametrize(
    "case",
    [
        "GEMM:type=FLOAT32,sizes=70x33x65,c=yes,layout=permuted",
        "GEMM:type=FLOAT16,sizes=23x5x1,batch=2x3,trans_b=yes,c=yes",
        "GEMM:type=FLOAT16,batch=1x2,trans_a=yes,trans_b=yes,c=yes,beta=2.5,activation=RELU,layout=mixed,values=edges",
        "MATRIX_MULTIPLY_INTEGER:type=INT8,sizes=70x33x65,batch=1x2,per=tensor",
        "CONVOLUTION:type=FLOAT16,sizes=3x1x31,outputs=19,groups=2,window=2.3,strides=1.3,dilations=2,padding=1",
        "CONVOLUTION:type=FLOAT32,sizes=1x8x13x13,outputs=8,padding=1",
        "MULTIHEAD_ATTENTION:type=FLOAT16,sizes=2x5x7x3x8x4,heads=5,source=key_value,mask=KEY_SEQUENCE_LENGTH",
        "MEAN_VARIANCE_NORMALIZATION1:type=FLOAT32,sizes=2x3x1100,axes=all,variance=yes",
        "GRU:type=FLOAT32,sizes=3x4x7x33,direction=BIDIRECTIONAL,outputs=sequence",
        "LSTM:type=FLOAT16,sizes=7x2x1x5,direction=BIDIRECTIONAL,lengths=yes,peepholes=yes",
        "GRAPH_STORED_WEIGHTS:type=FLOAT32,sizes=64x256,rows=2,block=16,zero_points=yes",
    ],
)
def test_results_without_shared_memory(seen_as: Any, case: str) -> None:
    outcome = run_case(seen_as("discrete", **CHIPS["a702"]), Case.parse(case))
    assert outcome["status"] == "passed", outcome


@pytest.mark.parametrize("name", CHIPS)
def test_every_chip_has_a_kernel(name: str) -> None:
    """Some kernel remains even if the chip lacks features."""
    target = chip(name)
    sizes = WindowSizes(8, 1, 64, 64, (1, 56, 56), (1, 3, 3), (1, 1, 1), (1, 1, 1))
    assert (implicit_tile(target, sizes) is None) == (name == "a702")
    if name == "V3D":  # checks of the depth take registers
        assert implicit_tile(target, sizes, flat=False).tile_k < implicit_tile(target, sizes).tile_k
    each = WindowSizes(1, 192, 1, 1, (1, 28, 28), (1, 3, 3), (1, 2, 2), (1, 1, 1))
    assert depthwise_tile(target, each, 16, fours=False) is not None
    assert (byte_kernel(target, 2048, 2048, 2048, 1) is None) == (name in ("vega10", "kepler", "V3D", "a702"))
    few = ProductSizes(8, 4096, 1024, 1)
    assert product_kernel(target, few, a_along_columns=False, b_along_k=False, b_per_vector=8) is not None


@pytest.mark.parametrize("name", ["dg2", "m1"])
def test_tiles_of_attention_are_smaller(name: str) -> None:
    shape = AttentionShape(8, 256, 256, 64, 64, 4)
    ours, usual = attention_sharing(chip(name), shape), attention_sharing(DESKTOP, shape)
    assert isinstance(ours, AttentionTiles)
    assert isinstance(usual, AttentionTiles)
    assert ours.kept < usual.kept


@pytest.mark.parametrize("name", ["Mali", "V3D", "a740"])
def test_few_registers_take_short_slabs_of_halves(name: str) -> None:
    target = chip(name).under(dml.DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION)
    target = replace(target, features=Features(float16=True))
    tile = product(target, float16=True)
    assert tile.half_steps
    assert tile.tile_k == (16 if name == "a740" else 8)


@pytest.mark.parametrize(
    ("name", "tile", "tile_k"),
    [
        ("navi31", (64, 128), 16),
        ("a660", (64, 64), 8),
        ("a740", (64, 64), 8),
        ("dg2", (32, 32), 8),
        ("V3D", (32, 32), 8),
    ],
)
def test_halves_read_one_by_one_take_short_slabs(name: str, tile: tuple[int, int], tile_k: int) -> None:
    """Each load of an element needs its own address and shift."""
    sizes = ProductSizes(4096, 4096, 4096, 1)
    found = product_kernel(chip(name), sizes, a_along_columns=False, b_along_k=False, float16=True)
    assert isinstance(found, SharedProduct)
    assert (found.tile, found.tile_k) == (tile, tile_k)


def test_floats_read_one_by_one_take_short_slabs_on_intel() -> None:
    def tile_k(name: str, *, singles: bool) -> int:
        sizes = ProductSizes(4096, 4096, 4096, 1)
        found = product_kernel(chip(name), sizes, a_along_columns=False, b_along_k=False, singles=singles)
        assert isinstance(found, SharedProduct)
        return found.tile_k

    assert (tile_k("dg2", singles=True), tile_k("dg2", singles=False)) == (8, 16)
    assert tile_k("m1", singles=True) == tile_k("m1", singles=False)


def test_short_heads_take_a_tile_of_their_depth() -> None:
    def depth(size: int) -> int:
        found = attention_sharing(DESKTOP, AttentionShape(8, 256, 256, size, 64, 4))
        assert isinstance(found, AttentionTiles)
        return found.depth

    assert [depth(size) for size in (4, 16, 20, 64)] == [16, 16, 32, 32]


def test_halves_without_conversions_take_registers_from_attention() -> None:
    """Adreno 6xx converts FLOAT16 in many instructions and gets the smallest tile; chips that convert in one
    instruction get a larger one, and FLOAT32 the largest, except on Intel, whose compiler spills.
    """
    halves = AttentionShape(8, 256, 256, 64, 64, 8, halves=True)
    converting = replace(chip("a660"), features=Features())
    exact = replace(converting, features=Features(float16_exact=(FloatMode("RoundingModeRTE", 16),)))

    def kept(target: Target, shape: AttentionShape) -> int:
        found = attention_sharing(target, shape)
        assert isinstance(found, AttentionTiles)
        return found.kept

    floats = replace(halves, halves=False)
    assert kept(converting, halves) < kept(exact, halves) < kept(converting, floats) == kept(chip("m1"), floats)
    assert kept(chip("dg2"), floats) == kept(exact, halves)


def test_a_mask_with_a_position_bias_takes_registers_from_attention() -> None:
    def kept(target: Target, *, masked: bool, biased: bool) -> int:
        shape = AttentionShape(1, 17, 1, 24, 40, 8, halves=True, masked=masked, biased=biased)
        found = attention_sharing(target, shape)
        assert isinstance(found, AttentionTiles)
        return found.kept

    exact = Features(float16_exact=(FloatMode("RoundingModeRTE", 16),))
    m1, desktop = replace(chip("m1"), features=exact), replace(DESKTOP, features=exact)
    either = kept(m1, masked=True, biased=False)
    assert kept(m1, masked=True, biased=True) < either == kept(m1, masked=False, biased=True)
    assert kept(desktop, masked=True, biased=True) == kept(desktop, masked=False, biased=False)


def test_products_of_bytes_need_instructions_for_them() -> None:
    """Vega 10 and V3D report byte dot products, too, but their compilers expand each to several instructions."""
    assert isinstance(byte_kernel(chip("navi31"), 4, 512, 512, 1), DotRows)
    assert byte_kernel(chip("vega10"), 4, 512, 512, 1) is None
    assert byte_kernel(chip("V3D"), 4, 512, 512, 1) is None


def test_few_registers_compute_with_few_elements_at_once() -> None:
    """An Adreno 660 loads four steps at once for plain sums, but two if a step has eight exponentials."""
    for computed, together in ((0, 4), (4, 4), (8, 2), (64, 1)):
        assert reduction_sharing(chip("a660"), 4, 16384, 0, computed).together == together
        assert reduction_sharing(H100, 4, 16384, 0, computed).together == 4


def test_held_rows_depend_on_a_workgroups_registers() -> None:
    assert held_rows(chip("a660"), 40960, 4) is None
    rows = held_rows(chip("a660"), 4096, 4)
    assert rows is not None
    assert 4 * rows.steps <= devices.registers(chip("a660"), rows.lanes)
    nvk = replace(H100, driver=24)
    assert held_rows(nvk, 40960, 4) is None


def test_positions_in_segments_take_registers() -> None:
    """An Adreno 660 has 64 registers in a workgroup of 512, too few for 12 elements and their positions; Mali, too."""
    for name, held, most in (
        ("a660", 10, 20), ("Mali", 10, 12), ("G52", 10, 12), ("a740", 16, 20), ("dg2", 20, 20), ("navi31", 20, 20)
    ):  # fmt: skip
        for steps in (10, 12, 16, 20):
            assert (held_rows(chip(name), 512 * steps, 1, segmented=True) is not None) == (steps <= held)
            assert (held_rows(chip(name), 512 * steps, 1) is not None) == (steps <= most)


@pytest.mark.parametrize("name", ["a660", "Mali"])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_segmented_rows_that_are_not_held(seen_as: Any, dtype: str, name: str) -> None:
    case = f"MEAN_VARIANCE_NORMALIZATION1:type={dtype},sizes=2x3x1100,axes=all,variance=yes,scale=all,layout=permuted"
    device = seen_as("discrete", **CHIPS[name])
    assert "normalization/held.comp" not in labels(device, Case.parse(case).desc)
    outcome = run_case(device, Case.parse(case))
    assert outcome["status"] == "passed", outcome


def test_rows_are_shared_by_more_where_registers_are_fewest() -> None:
    for length, unit in ((4096, 4), (1024, 4), (1024, 8)):
        few = held_rows(chip("Mali"), length, unit)
        many = held_rows(H100, length, unit)
        assert few is not None
        assert many is not None
        assert unit * few.steps <= 20 < unit * many.steps or few.steps == many.steps
    # With a workgroup at the device's limit, an invocation holds five vectors at most.
    small = replace(chip("Mali"), max_workgroup_invocations=128)
    longest = held_rows(small, 128 * 20, 4)
    assert longest is not None
    assert (longest.lanes, longest.steps) == (128, 5)
    assert held_rows(small, 128 * 20 + 4, 4) is None


@pytest.mark.parametrize(
    ("name", "float32", "float16"),
    [("navi31", (4, 4), (4, 4)), ("dg2", (4, 4), (4, 1)), ("m1", (4, 4), (4, 1)), ("a660", (4, 4), (4, 1)),
     ("Mali", (2, 1), (1, 1)), ("V3D", (1, 1), (1, 1))],
)  # fmt: skip
def test_attention_of_few_rows_fits_the_registers(name: str, float32: Any, float16: Any) -> None:
    """Rows and keys at once: a vector has four elements of FLOAT32, or eight of FLOAT16, which are converted."""
    for unit, expected in ((4, float32), (8, float16)):
        way = attention_sharing(chip(name), AttentionShape(8, 4, 1024, 128, 128, unit, halves=unit == 8, masked=False))
        assert isinstance(way, AttentionFew)
        assert (way.rows, way.round) == expected


@pytest.mark.parametrize(("size", "subgroup", "rows"), [(128, 0, 2), (16, 16, 1)])
def test_attention_of_few_rows_in_subgroups_takes_more_of_the_fewest_registers(
    size: int, subgroup: int, rows: int
) -> None:
    features = replace(_FEATURES, subgroup_operations=frozenset({"shuffle"}))
    target = replace(chip("Mali"), subgroup_size=16, features=features)
    way = attention_sharing(target, AttentionShape(8, 4, 1024, size, size, 4, masked=False))
    assert isinstance(way, AttentionFew)
    assert (way.subgroup, way.rows) == (subgroup, rows)


@pytest.mark.parametrize(("name", "expected"), [("navi31", (4, 4)), ("dg2", (4, 2)), ("m1", (4, 2)), ("Mali", (1, 1))])
def test_masked_attention_of_few_rows_loads_fewer_keys(name: str, expected: tuple[int, int]) -> None:
    way = attention_sharing(chip(name), AttentionShape(8, 4, 1024, 128, 128, 4))
    assert isinstance(way, AttentionFew)
    assert (way.rows, way.round) == expected


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("navi31", [8, 8, 8, 8]),
        ("dg2", [4, 4, 4, 4]),
        ("m1", [4, 4, 4, 4]),
        ("a660", [2, 2, 1, 1]),
        ("a740", [4, 4, 2, 2]),
        ("kepler", [1, 1, 1, 1]),
        ("Mali", [4, 2, 2, 2]),
        ("V3D", [4, 4, 4, 4]),
    ],
)
def test_products_with_weights_of_4_bits_take_the_columns_that_registers_hold(name: str, columns: list[int]) -> None:
    found = [block_product(chip(name), m, 4, block) for m in (1, 2) for block in (32, 16)]
    assert all(isinstance(each, VectorProduct) for each in found)
    assert [each.columns for each in found] == columns


@pytest.mark.parametrize(
    "case",
    [
        "BATCH_NORMALIZATION_TRAINING_GRAD:type=FLOAT16,sizes=1x2x2x1x2x2x3,layout=mixed",
        "BATCH_NORMALIZATION_TRAINING_GRAD:type=FLOAT16,sizes=2x1x2x1x2x2x1x8,kept=0.2,layout=permuted",
        "ELEMENT_WISE_QUANTIZED_LINEAR_ADD:type=INT8,sizes=2x1x2x1x2x1x3x2,b=INT8,to=INT8,layout=permuted",
        "FOLD:type=FLOAT16,sizes=1x2x3x2x3x2x2x2,window=2,stride=2_1,dilation=2_1,padding=start,layout=mixed",
    ],
)
def test_many_sizes_and_strides_are_loaded_late(seen_as: Any, case: str) -> None:
    """AMD's scalar registers do not hold those of eight dimensions."""
    device = seen_as("discrete", **CHIPS["navi31"])
    assert _loads_late(device, case)
    assert not _loads_late(device, "BATCH_NORMALIZATION_TRAINING_GRAD:type=FLOAT16,sizes=2x3x4,layout=mixed")
    assert not _loads_late(seen_as("discrete", vendor=H100.vendor, device=H100.device, driver=H100.driver), case)
    outcome = run_case(device, Case.parse(case))
    assert outcome["status"] == "passed", outcome


@pytest.mark.parametrize(
    "case",
    [
        "ELEMENT_WISE_IF:type=INT16,sizes=2x1x2x1x2x1x3x2,condition=column,layout=permuted,values=edges",
        "ELEMENT_WISE_QUANTIZED_LINEAR_ADD:type=INT8,sizes=2x1x2x1x2x1x3x2,b=INT8,to=INT8,zero_points=Output,"
        "layout=mixed,values=edges",
        "TOP_K:type=UINT64,sizes=2x1x3x2x1x2x1x3,k=1,index=UINT64,layout=permuted,values=edges",
    ],
)
def test_many_sizes_and_strides_before_volta(seen_as: Any, case: str) -> None:
    """Mesa's compiler refuses kernels that load all sizes and strides at the start."""
    device = seen_as("discrete", **CHIPS["pascal"])
    assert _loads_late(device, case)
    assert not _loads_late(seen_as("discrete", **CHIPS["volta"]), case)
    outcome = run_case(device, Case.parse(case))
    assert outcome["status"] == "passed", outcome


_CHANNELS_LAST = "CONVOLUTION:type=FLOAT32,sizes=1x8x1x1,outputs=16,window=1,strides=2,bias=yes,layout=permuted"
_WIDE_REDUCTION = "BATCH_NORMALIZATION_TRAINING_GRAD:type=FLOAT16,sizes=3x8,layout=broadcast,values=edges"


@pytest.mark.parametrize(
    "case",
    [
        "RESAMPLE_GRAD1:type=FLOAT16,sizes=2x3x1x5,mode=LINEAR,scale=uneven,extent=more,offsets=corner,"
        "direction=DECREASING,values=edges",
        "RESAMPLE_GRAD1:type=FLOAT32,sizes=2x3x4x5,mode=NEAREST_NEIGHBOR,scale=uneven,offsets=corner,layout=mixed",
    ],
)
def test_four_nested_loops_of_a_gradient(as_chip: dml.Device, case: str) -> None:
    """With the fewest registers, one dimension is resampled separately."""
    parts = labels(as_chip, Case.parse(case).desc)
    assert parts == ["resample/resample.comp"] * (2 if devices.has_fewest_registers(as_chip.vulkan.target) else 1)
    outcome = run_case(as_chip, Case.parse(case))
    assert outcome["status"] == "passed", outcome


@pytest.mark.parametrize(
    "case",
    [
        "GRAPH_EPILOGUE:type=FLOAT16,of=gemm_tall,layout=owned",
        "MULTIHEAD_ATTENTION:type=FLOAT16,sizes=1x17x1x0x24x40,heads=1,mask=BOOLEAN,relative=yes,rank=1",
        "PADDING:type=UINT16,sizes=2x1x3x2x1x2x1x3,mode=WRAP,value=300.7",
        "QUANTIZED_LINEAR_AVERAGE_POOLING:type=INT8,sizes=1x2x5x13,window=9,strides=1.3,padding=4,output_type=INT8,"
        "zero_points=yes,per=channel,rank=1,layout=broadcast,values=edges",
        _CHANNELS_LAST,
        _WIDE_REDUCTION,
    ],
)
def test_cases_that_spilled(as_chip: dml.Device, case: str) -> None:
    outcome = run_case(as_chip, Case.parse(case))
    assert outcome["status"] == "passed", outcome


def test_vectors_of_a_step_fit_in_registers(seen_as: Any) -> None:
    """If registers are too few, an invocation loads one element at a time and computes one result."""
    found = {}
    for name in ("V3D", "Mali", "a660"):
        device = seen_as("discrete", **CHIPS[name])
        programs = [
            device.compile_operator(device.create_operator(Case.parse(case).desc)).program
            for case in (_CHANNELS_LAST, _WIDE_REDUCTION)
        ]
        defines = [dict(dispatch.source.defines) for program in programs for dispatch in program.dispatches]
        found[name] = [each[key] for each in defines for key in ("X_FOURS", "WIDE") if key in each]
    assert found == {"V3D": ["0", "1"], "Mali": ["1", "1"], "a660": ["1", "8"]}


def _loads_late(device: dml.Device, case: str) -> bool:
    program = device.compile_operator(device.create_operator(Case.parse(case).desc)).program
    return any("#define LATE_NUMBERS" in dispatch.source.headers[0][1] for dispatch in program.dispatches)


@pytest.fixture(params=["dg2", "m1", "a740", "a660", "Mali", "V3D"])
def as_chip(request: pytest.FixtureRequest, seen_as: Any) -> dml.Device:
    """The device under test, with the kernels selected for a chip as far as it can run them; without matrix units."""
    features = seen_as().vulkan.target.features.without("cooperative_matrix")
    found: dml.Device = seen_as("discrete", **CHIPS[request.param], features=features)
    return found


def labels(device: dml.Device, desc: dml.OperatorDesc) -> list[str]:
    program = device.compile_operator(device.create_operator(desc)).program
    return [dispatch.label for dispatch in program.dispatches]


def loads_ahead(device: dml.Device, desc: dml.OperatorDesc, label: str) -> None:
    """Check that a product loads the next step of k in advance, except with the fewest registers."""
    program = device.compile_operator(device.create_operator(desc)).program
    ahead = str(int(not devices.has_fewest_registers(device.vulkan.target)))
    assert {dict(d.source.defines)["LOADS_AHEAD"] for d in program.dispatches if d.label == label} <= {ahead}


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize(
    "m, k, n, batch", [(64, 20, 130, 128), (64, 36, 64, 130), (35, 61, 37, 2), (13, 72, 24, 1), (4, 72, 24, 1)]
)
def test_products(as_chip: dml.Device, dtype: str, m: int, k: int, n: int, batch: int) -> None:
    """Batches that fill a device with tiles of each size."""
    rng = np.random.default_rng(0)
    a, b = random(rng, dtype, (1, batch, m, k)), random(rng, dtype, (1, batch, n, k))
    desc = dml.DML_GEMM_OPERATOR_DESC(
        tensor(dtype, a.shape), tensor(dtype, b.shape), None, tensor(dtype, (1, batch, m, n)),
        TransA=dml.DML_MATRIX_TRANSFORM_NONE, TransB=dml.DML_MATRIX_TRANSFORM_TRANSPOSE, Alpha=1.0, Beta=0.0,
    )  # fmt: skip
    result = run(as_chip, desc, {"ATensor": a, "BTensor": b})["OutputTensor"]
    x, y = a.astype(np.float64), b.astype(np.float64).swapaxes(-1, -2)
    assert_sums(result, x @ y, abs(x) @ abs(y), k)
    loads_ahead(as_chip, desc, "gemm/shared.comp")


@pytest.mark.parametrize("m, k, n, batch", [(64, 70, 64, 130), (20, 33, 40, 1)])
def test_products_of_bytes(as_chip: dml.Device, m: int, k: int, n: int, batch: int) -> None:
    rng = np.random.default_rng(1)
    a, b = random(rng, "UINT8", (batch, m, k), 0, 255), random(rng, "INT8", (batch, k, n), -128, 127)
    desc = dml.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC(
        ATensor=tensor("UINT8", a.shape), BTensor=tensor("INT8", b.shape), OutputTensor=tensor("INT32", (batch, m, n))
    )
    result = run(as_chip, desc, {"ATensor": a, "BTensor": b})["OutputTensor"]
    assert_exact(result, (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32))
    target = as_chip.vulkan.target
    if target.features.integer_dot_product and devices.profile(target).dots:
        assert isinstance(byte_kernel(target, m, n, k, batch), DotProduct)
        loads_ahead(as_chip, desc, "gemm/bytes.comp")


def test_products_in_halves(as_chip: dml.Device) -> None:
    """Products of FLOAT16 whose last step along k is partial."""
    target = as_chip.vulkan.target
    if not target.features.float16:
        pytest.skip("the device has no FLOAT16 arithmetic")
    rng = np.random.default_rng(5)
    a, b = random(rng, "FLOAT16", (1, 1, 70, 61)), random(rng, "FLOAT16", (1, 1, 61, 37))
    desc = dml.DML_GEMM_OPERATOR_DESC(
        tensor("FLOAT16", a.shape), tensor("FLOAT16", b.shape), None, tensor("FLOAT16", (1, 1, 70, 37)),
        TransA=dml.DML_MATRIX_TRANSFORM_NONE, TransB=dml.DML_MATRIX_TRANSFORM_NONE, Alpha=1.0, Beta=0.0,
    )  # fmt: skip
    operator = as_chip.create_operator(desc)
    compiled = as_chip.compile_operator(operator, dml.DML_EXECUTION_FLAG_ALLOW_HALF_PRECISION_COMPUTATION)
    steps = {dict(d.source.defines)["HALF_STEPS"] for d in compiled.program.dispatches}
    assert steps == {"8" if devices.gains_by_halves(target) else "0"}
    result = compiled.dispatch({"ATensor": a, "BTensor": b})["OutputTensor"]
    x, y = a.astype(np.float64), b.astype(np.float64)
    assert_half_sums(result, x @ y, abs(x) @ abs(y), 61)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_attention_of_few_rows_with_a_mask_and_a_position_bias(as_chip: dml.Device, dtype: str) -> None:
    case = f"MULTIHEAD_ATTENTION1:type={dtype},sizes=2x5x7x3x8x4,heads=3.1,mask=BOOLEAN,relative=yes,lengths=yes"
    outcome = run_case(as_chip, Case.parse(case))
    assert outcome["status"] == "passed", outcome


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("rows", [70, 5])
def test_attention(as_chip: dml.Device, dtype: str, rows: int) -> None:
    """Two heads of 70 rows, or of few, 90 keys and 64 columns, which leave partial tiles."""
    rng = np.random.default_rng(2)
    heads, keys, size = 2, 90, 64
    query = random(rng, dtype, (1, rows, heads * size), -1, 1)
    key, value = (random(rng, dtype, (1, keys, heads * size), -1, 1) for _ in range(2))
    desc = dml.DML_MULTIHEAD_ATTENTION_OPERATOR_DESC(
        QueryTensor=tensor(dtype, query.shape), KeyTensor=tensor(dtype, key.shape),
        ValueTensor=tensor(dtype, value.shape), OutputTensor=tensor(dtype, query.shape), HeadCount=heads, Scale=0.125,
        MaskFilterValue=-1e4,         MaskType=dml.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE,
    )  # fmt: skip
    target = as_chip.vulkan.target
    if rows < 70:
        assert labels(as_chip, desc)[0] in ("attention/few.comp", "attention/few_lanes.comp")
    elif target.max_workgroup_invocations >= 256 and not devices.has_fewest_registers(target):
        assert labels(as_chip, desc) == ["attention/tiles.comp"]
    result = run(as_chip, desc, {"QueryTensor": query, "KeyTensor": key, "ValueTensor": value})["OutputTensor"]
    q, k, v = (t.astype(np.float64).reshape(-1, heads, size).swapaxes(0, 1) for t in (query, key, value))
    scores = q @ k.swapaxes(-1, -2) * 0.125
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = (weights / weights.sum(-1, keepdims=True) @ v).swapaxes(0, 1).reshape(query.shape)
    # Averages of values below 1 in magnitude. Errors: float32 sums of 64 terms per score and of 90 weights, and the
    # rounding of a float16 result.
    assert np.abs(result.astype(np.float64) - expected).max() < (1e-5 if dtype == "FLOAT32" else 1e-3)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
def test_rows_that_are_held(as_chip: dml.Device, dtype: str) -> None:
    rng = np.random.default_rng(6)
    x = random(rng, dtype, (1, 3, 64, 64), -2, 2)
    described = tensor(dtype, x.shape)
    desc = dml.DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC(
        described, None, None, described, Axes=(2, 3), NormalizeVariance=True, Epsilon=1e-5, FusedActivation=None
    )
    wide = x.astype(np.float64)
    expected = (wide - wide.mean((2, 3), keepdims=True)) / np.sqrt(wide.var((2, 3), keepdims=True) + 1e-5)
    if devices.registers(as_chip.vulkan.target) > 32:
        assert labels(as_chip, desc) == ["normalization/held.comp"]
    result = run(as_chip, desc, {"InputTensor": x})["OutputTensor"].astype(np.float64)
    # A float16 result is rounded once.
    assert np.abs(result - expected).max() < (1e-5 if dtype == "FLOAT32" else 2e-3)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("channels, groups, stride", [(24, 1, 1), (20, 1, 2), (8, 8, 2)])
def test_convolutions(as_chip: dml.Device, dtype: str, channels: int, groups: int, stride: int) -> None:
    """Implicit convolutions in smaller tiles, with and without a table of steps, and depthwise ones with fewer rows."""
    rng = np.random.default_rng(3)
    size, made = 17, (17 - 1) // stride + 1
    x = random(rng, dtype, (2, channels, size, size))
    weights = random(rng, dtype, (channels, channels // groups, 3, 3))
    desc = dml.DML_CONVOLUTION_OPERATOR_DESC(
        InputTensor=tensor(dtype, x.shape), FilterTensor=tensor(dtype, weights.shape), BiasTensor=None,
        OutputTensor=tensor(dtype, (2, channels, made, made)), Mode=dml.DML_CONVOLUTION_MODE_CROSS_CORRELATION,
        Direction=dml.DML_CONVOLUTION_DIRECTION_FORWARD, Strides=(stride, stride), Dilations=(1, 1),
        StartPadding=(1, 1), EndPadding=(1, 1), OutputPadding=(0, 0), GroupCount=groups,
    )  # fmt: skip
    result = run(as_chip, desc, {"InputTensor": x, "FilterTensor": weights})["OutputTensor"]
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))[:, :, ::stride, ::stride]
    grouped = windows.reshape(2, groups, channels // groups, *windows.shape[2:])
    filters = weights.astype(np.float64).reshape(groups, channels // groups, channels // groups, 3, 3)

    def sums(a: Any, b: Any) -> Any:
        return np.einsum("bgiyxhw,goihw->bgoyx", a, b).reshape(result.shape)

    assert_sums(result, sums(grouped, filters), sums(abs(grouped), abs(filters)), 9 * channels // groups)


@pytest.mark.parametrize(("name", "kernel"), [("V3D", "elementwise"), ("G52", "elementwise"), ("Mali", "vector")])
def test_bytes_take_whole_vectors_where_registers_hold_the_elements(seen_as: Any, name: str, kernel: str) -> None:
    """Sixteen quotients at once take more than V3D's 32 registers; a word has four."""
    device = seen_as("discrete", **CHIPS[name])
    x = tensor("INT8", (4, 64))
    desc = dml.DML_ELEMENT_WISE_MODULUS_TRUNCATE_OPERATOR_DESC(x, x, x)
    assert labels(device, desc) == [f"elementwise/{kernel}.comp"]
    rng = np.random.default_rng(4)
    a, b = random(rng, "INT8", (4, 64), -128, 127), random(rng, "INT8", (4, 64), 1, 9)
    result = run(device, desc, {"ATensor": a, "BTensor": b})["OutputTensor"]
    assert_exact(result, np.fmod(a, b))


@pytest.mark.parametrize(
    ("name", "rows", "kernel"), [("Mali", 4, "vector"), ("G52", 4, "narrow"), ("G52", 1, "vector")]
)
def test_products_take_the_rows_that_registers_hold(seen_as: Any, name: str, rows: int, kernel: str) -> None:
    """Bifrost's loads and stores take aligned registers, so that four rows do not fit."""
    device = seen_as("discrete", **CHIPS[name])
    desc = dml.DML_GEMM_OPERATOR_DESC(
        ATensor=tensor("FLOAT32", (1, 1, rows, 96)), BTensor=tensor("FLOAT32", (1, 1, 96, 64)),
        OutputTensor=tensor("FLOAT32", (1, 1, rows, 64)), TransA=dml.DML_MATRIX_TRANSFORM_NONE,
        TransB=dml.DML_MATRIX_TRANSFORM_NONE, Alpha=1, Beta=0,
    )  # fmt: skip
    assert labels(device, desc) == [f"gemm/{kernel}.comp"]
    rng = np.random.default_rng(7)
    a, b = random(rng, "FLOAT32", (1, 1, rows, 96)), random(rng, "FLOAT32", (1, 1, 96, 64))
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    result = run(device, desc, {"ATensor": a, "BTensor": b})["OutputTensor"]
    assert_sums(result, wide_a @ wide_b, abs(wide_a) @ abs(wide_b), 96)


@pytest.mark.parametrize(
    ("name", "dtype", "wide"),
    [("Mali", "FLOAT16", 8), ("Mali", "INT8", 1), ("G52", "FLOAT16", 1), ("G52", "FLOAT32", 4)],
)
def test_reductions_hold_the_accumulators_that_fit(seen_as: Any, name: str, dtype: str, wide: int) -> None:
    """An accumulator of ARGMAX has two words; an invocation takes a vector of adjacent results, or one result."""
    device = seen_as("discrete", **CHIPS[name])
    desc = dml.DML_REDUCE_OPERATOR_DESC(
        Function=dml.DML_REDUCE_FUNCTION_ARGMAX, InputTensor=tensor(dtype, (5, 64)),
        OutputTensor=tensor("UINT32", (1, 64)), Axes=(0,),
    )  # fmt: skip
    program = device.compile_operator(device.create_operator(desc)).program
    assert dict(program.dispatches[0].source.defines)["WIDE"] == str(wide)
    x = random(np.random.default_rng(8), dtype, (5, 64), -100, 100)
    assert_exact(run(device, desc, {"InputTensor": x})["OutputTensor"], x.argmax(0, keepdims=True).astype(np.uint32))
