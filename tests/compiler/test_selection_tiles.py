"""Every tile of products, convolutions and attention that a CPU driver can run, against float64 references.

``tuned`` gives each variant of each choice that a description reaches; tables that `dml tune` does not vary are cut to
one tile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
from test_selection_sizes import convolution, inputs_of, judged, product

import dml
from dml.compiler.lowering import compile_operator
from dml.compiler.selection import attention, few_rows, gemm, tiles
from dml.compiler.selection import bytes as byte_products
from dml.compiler.selection import convolution as windows
from dml.compiler.selection.tuned import variant_name
from dml.conformance.axes import open_as, seen_as
from dml.runtime.devices import VulkanDevice
from harness import tensor

#: A device with half of the registers of an H100.
ADRENO = {"vendor": 0x5143, "device": 0x06060001}
MODULES = (attention, byte_products, windows, few_rows, gemm, tiles)


class Work(NamedTuple):
    """A description whose choices are varied. limits: of the device, besides the axis."""

    name: str
    axis: str
    desc: Any
    limits: Mapping[str, Any] = MappingProxyType({})


def attended(queries: int, keys: int, size: int, heads: int = 2) -> dml.OperatorDesc:
    rows, columns = (tensor("FLOAT32", (1, count, heads * size)) for count in (queries, keys))
    return dml.DML_MULTIHEAD_ATTENTION_OPERATOR_DESC(
        QueryTensor=rows, KeyTensor=columns, ValueTensor=columns, OutputTensor=rows, Scale=size**-0.5,
        MaskFilterValue=-1e4, HeadCount=heads, MaskType=dml.DML_MULTIHEAD_ATTENTION_MASK_TYPE_NONE,
    )  # fmt: skip


def of_bytes(m: int, k: int, n: int) -> dml.OperatorDesc:
    return dml.DML_MATRIX_MULTIPLY_INTEGER_OPERATOR_DESC(
        ATensor=tensor("UINT8", (1, 1, m, k)), BTensor=tensor("INT8", (1, 1, k, n)),
        OutputTensor=tensor("INT32", (1, 1, m, n)),
    )  # fmt: skip


WORKS = [
    Work("rows", "plain", product(70, 64, 150)),
    Work("one row", "plain", product(1, 64, 150)),
    Work("few rows", "plain", product(3, 64, 150)),
    Work("rows", "discrete", product(70, 90, 150)),
    Work("rows, few registers", "discrete", product(70, 90, 150), ADRENO),
    Work("rows of fours, few registers", "discrete", product(72, 92, 152), ADRENO),
    Work("one row along k", "discrete", product(1, 260, 70, b_along_k=True)),
    Work("few rows along k", "discrete", product(3, 260, 70, b_along_k=True)),
    Work("eight rows along k", "discrete", product(8, 264, 70, "FLOAT16", b_along_k=True)),
    Work("one row across k", "discrete", product(1, 260, 72)),
    Work("few rows across k", "discrete", product(4, 260, 72)),
    Work("eight rows across k", "discrete", product(8, 260, 72, "FLOAT16")),
    Work("bytes", "discrete", of_bytes(70, 90, 150)),
    Work("images", "plain", convolution(6, 10, (13, 21))),
    Work("rows of one", "plain", convolution(6, 10, (1, 37), (1, 3))),
    Work("Winograd", "plain", convolution(20, 24, (28, 30))),
    Work("depthwise", "plain", convolution(6, 6, (13, 21), groups=6)),
    Work("depthwise, one row", "plain", convolution(6, 6, (1, 37), (1, 3), groups=6)),
    Work("depthwise, dilated", "plain", convolution(6, 6, (13, 21), groups=6, dilation=2)),
    Work("images", "discrete", convolution(5, 20, (13, 21))),
    Work("depthwise", "discrete", convolution(6, 6, (13, 21), groups=6)),
    Work("depthwise by fours", "discrete", convolution(6, 6, (13, 24), groups=6)),
    Work("short heads", "discrete", attended(70, 90, 16)),
    Work("heads", "discrete", attended(70, 90, 64)),
    Work("long heads", "discrete", attended(70, 90, 160, heads=1)),
    Work("longest heads", "discrete", attended(40, 90, 300, heads=1)),
]
IDS = [f"{work.name}-{work.axis}" for work in WORKS]


class Choices:
    """Takes the place of ``tuned``: keeps the variants of each class of work, and returns ``wanted`` among them."""

    def __init__(self, wanted: str | None = None) -> None:
        self.wanted = wanted
        self.found: dict[str, Any] = {}

    def __call__(
        self, target: Any, family: str, work: Callable[[], str], rule: Any, variants: Callable[[], Iterable[Any]]
    ) -> Any:
        own = {f"{work()}: {variant_name(one)}": one for one in (rule, *variants())}
        self.found |= own
        return own.get(self.wanted or "", rule)


def choices(monkeypatch: pytest.MonkeyPatch, wanted: str | None = None) -> Choices:
    found = Choices(wanted)
    for module in MODULES:
        monkeypatch.setattr(module, "tuned", found)
    return found


@pytest.mark.parametrize("work", WORKS, ids=IDS)
def test_every_variant(vulkan: VulkanDevice, monkeypatch: pytest.MonkeyPatch, work: Work) -> None:
    device: dml.Device = open_as(vulkan, work.axis, **work.limits)
    inputs = inputs_of(work.desc)
    found = choices(monkeypatch)
    judged(device, work.desc, inputs, monkeypatch)
    assert len(found.found) > 1, "nothing is chosen"
    for name in found.found:
        choices(monkeypatch, name)
        judged(device, work.desc, inputs, monkeypatch)


def _tile(variant: Any) -> Any:
    """Return a variant without the fields that other choices add to its tile."""
    more = {name: 0 for name in ("half_steps", "table") if hasattr(variant, name)}
    more |= {"split_k": 1} if hasattr(variant, "split_k") else {}
    if isinstance(variant, windows.ImplicitTile):
        more["tile_k"] = 8
    return replace(variant, **more) if is_dataclass(variant) and more else variant


def test_the_works_reach_every_tile(vulkan: VulkanDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    """Except tiles for matrix units, which lavapipe 22.3 lacks, and tiles with FLOAT16 sums (see
    test_half_products.py)."""
    found = choices(monkeypatch)
    for work in WORKS:
        compile_operator(work.desc, seen_as(vulkan, work.axis, **work.limits).target)
    made = {_tile(variant) for variant in found.found.values() if not isinstance(variant, str)}
    of_rows = {(one.rows, one.columns) for one in made if isinstance(one, tiles.TiledProduct)}
    few = {tiles._SHORT_ROW, tiles._LONG_ROW, tiles._SHORT_ROWS, tiles._LONG_ROWS}
    assert of_rows == few | {tiles._SMALL, tiles._MIDDLE, tiles._LARGE}
    shared = {tile for tile, _ in (*gemm.SHARED_TILES, *gemm._TILES_OF_FEW_REGISTERS)} | set(gemm._SLOWER_TILES)
    assert shared <= made
    assert {tile for tile, _ in byte_products._DOT_TILES} <= made
    assert {*windows.TILES, windows.NARROW_TILE, *windows.FLAT_TILES} <= made
    assert {_tile(tile) for tile in windows.IMPLICIT_TILES} <= made
    strips = {(one.rows, one.columns) for one in made if isinstance(one, windows.DepthwiseTile)}
    assert {*windows.STRIPS, *windows.FLAT_STRIPS} <= strips
    heads = {(one.rows, one.keys, one.depth, one.across, one.workgroup) for one in made
             if isinstance(one, attention.AttentionTiles)}  # fmt: skip
    # the deepest tiles need more shared memory than lavapipe's 32 KiB
    deepest = 16 if vulkan.target.shared_memory <= 32 << 10 else 32
    assert heads == {tile[:-1] for tile in attention._TILES if tile[2] <= deepest}


def test_workgroups_are_multiples_of_their_tiles() -> None:
    """gemm/shared.comp finds the places of an invocation's loads by constants."""
    usual = gemm.SHARED_TILES, gemm._HALF_TILES, gemm._TILES_OF_FEW_REGISTERS, gemm._TILES_OF_SINGLES
    for tile in (*gemm._SLOWER_TILES, *(tile for each in usual for tile, _ in each)):
        assert not any(tile.workgroup % size for size in (*tile.tile, tile.tile_k))


DIRECT = [tile for tile in windows._TILES_OF_GPUS if math.prod(tile) <= windows._MOST_SUMS_OF_GPUS]


@pytest.mark.parametrize("tile", DIRECT, ids=str)
def test_every_direct_tile_of_gpus(
    as_discrete: dml.Device, monkeypatch: pytest.MonkeyPatch, tile: tuple[int, int, int]
) -> None:
    """11 channels are too few for a product through shared memory."""
    desc = convolution(3, 11, (9, 21))
    monkeypatch.setattr(windows, "_TILES_OF_GPUS", (tile,))
    (*_, direct) = judged(as_discrete, desc, inputs_of(desc), monkeypatch)
    assert direct[0].name == "shaders/convolution/direct.comp"


def test_columns_in_fours(device: dml.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows of a transposed operand: the tile reads four of them at once."""
    desc = product(4, 512, 1024).replace(
        ATensor=tensor("FLOAT32", (1, 1, 512, 4)), TransA=dml.DML_MATRIX_TRANSFORM_TRANSPOSE
    )
    chosen: list[Any] = []
    make = tiles._tile
    monkeypatch.setattr(tiles, "_tile", lambda *a, **k: chosen.append(make(*a, **k)) or chosen[-1])
    judged(device, desc, inputs_of(desc), monkeypatch)
    if device.vulkan.target.is_cpu:
        assert tiles._SHORT_ROWS in chosen
