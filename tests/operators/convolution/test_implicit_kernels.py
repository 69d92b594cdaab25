"""The implicit GEMM convolution for GPUs: every tile, at sizes that do not fill it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from convolution_cases import BACKWARD, CONVOLUTION, build, check, of

from dml.compiler.selection import convolution as selection

CASES = [
    of(1, 16, 20, (9, 11), (3, 3), start=(1, 1), end=(1, 1)),
    of(1, 32, 12, (8, 8), (3, 3), start=(1, 1), end=(1, 1), dilations=(3, 2)),
    of(2, 8, 36, (7, 10), (3, 2), strides=(2, 1), start=(0, 1)),
    of(1, 3, 17, (15, 13), (7, 7), strides=(2, 2), start=(3, 3), end=(3, 3)),
    of(1, 24, 130, (6, 6), (1, 1), strides=(1, 2)),
    of(1, 16, 13, (3, 4, 5), (2, 3, 2), start=(1, 0, 1)),
    of(3, 5, 12, (14,), (4,), dilations=(2,), start=(4,), end=(2,)),
]


@pytest.fixture(params=range(len(selection.IMPLICIT_TILES)))
def tile(request, monkeypatch):
    chosen = selection.IMPLICIT_TILES[request.param]
    monkeypatch.setattr(selection, "IMPLICIT_TILES", (chosen,))
    return chosen


def runs_implicit(device, desc):
    """Return whether the implicit kernel runs; FLOAT16 may use its variant for matrix units."""
    compiled = device.compile_operator(device.create_operator(desc))
    return "convolution/implicit" in compiled.program.describe()


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_tiles(as_discrete, tile, case):
    if tile.workgroup > as_discrete.vulkan.target.max_workgroup_invocations:
        pytest.skip("the device has smaller workgroups")
    built = build("FLOAT32", 2, **case)
    assert runs_implicit(as_discrete, built[0])
    check(as_discrete, *built)


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_few_registers(seen_as, case, dtype):
    """ARM's GPUs prefetch no tile, and load sizes and strides where they use them."""
    device = seen_as("discrete", vendor=0x13B5, device=0, driver=9)
    built = build(dtype, 2, **case)
    dispatch = next(
        dispatch
        for dispatch in device.compile_operator(device.create_operator(built[0])).program.dispatches
        if dispatch.label == "convolution/implicit.comp"
    )
    text = dispatch.source.headers[0][1]
    assert "#define x_STRIDE_4 (parameters_.x_STRIDE_4)" in text
    assert "uint x_STRIDE_4 =" not in text
    check(device, *built)


def test_vectors_of_channels_with_few_registers(seen_as):
    """On ARM's GPUs, windows with a depth take four steps of k at a time: less than a vector per invocation."""
    device = seen_as("discrete", vendor=0x13B5, device=0, driver=9)
    check(device, *build("FLOAT32", 2, layout="nhwc", **of(1, 16, 32, (3, 4, 5), (2, 3, 2), start=(1, 0, 1))))


@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_spare_rows(seen_as, case, dtype):
    """Intel's GPUs load ahead, and write rows of shared memory that nothing reads."""
    device = seen_as("discrete", vendor=0x8086, device=0x5690, driver=6, min_subgroup_size=8)
    built = build(dtype, 2, **case)
    dispatches = device.compile_operator(device.create_operator(built[0])).program.dispatches
    defines = [dict(d.source.defines) for d in dispatches if d.label == "convolution/implicit.comp"]
    assert [(chosen["LOADS_AHEAD"], chosen["SPARE_ROWS"]) for chosen in defines] == [("1", "1")]
    check(device, *built)


@pytest.mark.parametrize("layout", ["packed", "nhwc", "padded"])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize("case", CASES[:2], ids=range(2))
def test_types_and_layouts(without_matrices, dtype, layout, case):
    built = build(dtype, 3, layout=layout, **case)
    assert runs_implicit(without_matrices, built[0])
    check(without_matrices, *built)


@pytest.mark.parametrize("tile_k", [8, 16])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_slabs(as_discrete, monkeypatch, tile_k, direction):
    chosen = replace(selection.IMPLICIT_TILES[2], tile_k=tile_k)
    monkeypatch.setattr("dml.compiler.operators.convolution.convolve.implicit_tile", lambda *_, **__: chosen)
    case = {**CASES[0], "strides": (2, 2), "direction": BACKWARD} if direction == "backward" else CASES[0]
    built = build("FLOAT32", 2, **case)
    assert runs_implicit(as_discrete, built[0])
    check(as_discrete, *built)


@pytest.mark.parametrize("layout", ["packed", "nhwc"])
@pytest.mark.parametrize("dtype", ["FLOAT32", "FLOAT16"])
@pytest.mark.parametrize(
    "case",
    [
        of(6, 1, 1, (19, 14), (3, 3), start=(1, 1), end=(1, 1)),
        of(4, 1, 2, (9, 11), (3, 2), strides=(2, 1), start=(0, 1), mode=CONVOLUTION),
        of(3, 1, 1, (30, 8), (5, 5), dilations=(4, 3), start=(8, 6), end=(8, 6)),
        of(2, 1, 1, (4, 5, 8), (2, 3, 3), start=(1, 1, 1), end=(0, 1, 1)),
        of(2, 1, 3, (7, 6), (3, 3), strides=(2, 2), direction=BACKWARD),
    ],
    ids=range(5),
)
def test_depthwise(as_discrete, dtype, layout, case):
    built = build(dtype, 2, layout=layout, **case)
    compiled = as_discrete.compile_operator(as_discrete.create_operator(built[0]))
    assert "convolution/depthwise.comp" in compiled.program.describe()
    check(as_discrete, *built)


def test_without_a_table(monkeypatch, as_discrete):
    """Without the offset table, as for large windows that exceed it, results are the same."""
    monkeypatch.setattr(selection, "_LARGEST_TABLE", 0)
    for case in (CASES[3], CASES[6]):
        built = build("FLOAT32", 2, **case)
        assert runs_implicit(as_discrete, built[0])
        check(as_discrete, *built)
