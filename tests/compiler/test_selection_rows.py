"""Guarantees of the choices for lines and windows, for every target and over a grid of sizes.

An invocation never makes more steps than ``max_steps``, lanes are a power of two within the workgroup, chunks cover
their line, sorted elements fit shared memory, and no workgroup exceeds the device's limit.
"""

from __future__ import annotations

from itertools import product

import pytest

from dml.compiler.features import Features
from dml.compiler.loops import rounds
from dml.compiler.selection import max_steps, shuffled
from dml.compiler.selection.lines import (
    MOST_GROUPS,
    MOST_SUMMED,
    WALKS,
    LineSharing,
    Rows,
    held_rows,
    nonzero_chunk,
    normalization_fits_one_dispatch,
    normalization_sharing,
    reduction_sharing,
    scan_sharing,
    softmax_fits_one_dispatch,
    softmax_sharing,
    top_k_sharing,
)
from dml.compiler.selection.windows import (
    PLACE_SEARCH,
    LineOfWindows,
    largest_window,
    lines_of_windows,
    places_at_once,
    places_parts,
    window_sharing,
)
from dml.compiler.target import DeviceClass, Target

_LARGE = {
    "max_workgroup_invocations": 1024,
    "max_workgroup_size": (1024, 1024, 64),
    "shared_memory": 49152,
    "subgroup_size": 32,
}
TARGETS = {
    "minimum": Target(),
    "cpu": Target(DeviceClass.CPU, subgroup_size=8),
    "cpu of few steps": Target(DeviceClass.CPU, subgroup_size=8, fewer_steps=256),
    "gpu": Target(DeviceClass.DISCRETE, **_LARGE),
    "gpu of subgroups": Target(
        DeviceClass.DISCRETE, **_LARGE, features=Features(subgroup_operations=frozenset({"shuffle"}))
    ),
    "gpu of few steps": Target(DeviceClass.DISCRETE, **_LARGE, fewer_steps=256),
    "gpu of odd steps": Target(DeviceClass.INTEGRATED, **_LARGE, fewer_steps=1021),
}
COUNTS = (1, 2, 15, 16, 63, 255, 1023, 1024, 40000)
LENGTHS = (1, 2, 3, 7, 32, 63, 64, 127, 500, 1025, 8193, 65537, 1 << 20, 100_000_007)
#: Shared memory of a sort, in bytes per entry with a 64-bit key.
ENTRY = 12

pytestmark = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS.keys())


def check_workgroup(target: Target, workgroup: int) -> None:
    assert 1 <= workgroup <= min(target.max_workgroup_invocations, target.max_workgroup_size[0])


def check_lanes(target: Target, sharing: LineSharing, steps: int) -> None:
    """Check the number of lanes and of their steps. steps: number of steps of a chunk, over all lanes."""
    check_workgroup(target, sharing.workgroup)
    assert sharing.lanes & (sharing.lanes - 1) == 0
    assert sharing.workgroup % sharing.lanes == 0
    assert sharing.lanes == 1 or sharing.lanes * sharing.items <= steps, "a lane has nothing to do"


def check_chunks(sharing: LineSharing, length: int) -> int:
    """Check the chunks; return the steps of a chunk."""
    chunk, chunks = sharing.cut(length)
    assert (chunks - 1) * chunk < length <= chunks * chunk
    assert chunks <= sharing.chunks
    return chunk


def test_reductions(target: Target) -> None:
    for results, length, row in product(COUNTS, LENGTHS, (0, 16, 4096, 1 << 20)):
        sharing = reduction_sharing(target, results, length, row)
        chunk = check_chunks(sharing, length)
        check_lanes(target, sharing, length)
        assert -(-chunk // sharing.lanes) <= min(MOST_SUMMED, max_steps(target))
        assert (sharing.lanes > 1 and row > 0) == sharing.strided_lanes
        assert not sharing.subgroup or (sharing.lanes > 1 and not row and sharing.workgroup % sharing.subgroup == 0)


def test_subgroups_that_shuffle_are_used(target: Target) -> None:
    assert shuffled(target) == (32 if "shuffle" in target.features.subgroup_operations else 0)
    assert reduction_sharing(target, 1 << 16, 4096, 0).subgroup == shuffled(target)
    rows = held_rows(target, 4096, 4)
    assert rows is None or rows.subgroup == shuffled(target)


def test_results_enough_for_the_device_are_not_split(target: Target) -> None:
    for length in (32, 64, 256):
        assert reduction_sharing(target, 1 << 20, length, 0).chunks == 1


def test_scans(target: Target) -> None:
    for lines, length, interleaved, unit in product(COUNTS, LENGTHS, (False, True), (1, 4, 8, 16)):
        if length % unit:
            continue
        sharing = scan_sharing(target, lines, length, interleaved=interleaved, unit=unit)
        chunk = check_chunks(sharing, length)
        assert not sharing.vectors or sharing.items == unit > 1
        check_lanes(target, sharing, length)
        assert -(-chunk // (sharing.lanes * sharing.items)) * sharing.items <= max_steps(target)


def test_chunks_of_nonzero_coordinates(target: Target) -> None:
    for count in LENGTHS:
        assert 1 <= nonzero_chunk(count) <= max_steps(target)


def test_softmax(target: Target) -> None:
    for rows, steps, unit in product(COUNTS, LENGTHS, (1, 4, 8)):
        sharing = softmax_sharing(target, steps)
        check_lanes(target, sharing, steps)
        if softmax_fits_one_dispatch(target, rows, steps * unit, steps):
            assert WALKS * -(-steps // sharing.lanes) <= max_steps(target)
        else:
            assert steps >= 64, "short rows need no reductions"


def test_normalizations(target: Target) -> None:
    for rows, segments, steps, interleaved in product(COUNTS, (1, 3, 50), LENGTHS, (False, True)):
        shape = Rows(rows, segments, steps, interleaved)
        sharing = normalization_sharing(target, shape)
        check_lanes(target, sharing, steps)
        assert not interleaved or sharing.lanes == 1
        if normalization_fits_one_dispatch(target, shape):
            assert WALKS * shape.iterations(sharing.lanes) <= max_steps(target)


def test_top_k(target: Target) -> None:
    for lines, length, k in product(COUNTS, LENGTHS, (1, 3, 100, 128, 129, 5000)):
        if k > length:
            continue
        sharing = top_k_sharing(target, lines, length, k)
        check_workgroup(target, sharing.workgroup)
        assert sharing.steps <= max_steps(target)
        if sharing.group:
            assert -(-sharing.block // sharing.group) <= MOST_GROUPS
            assert target.shared_memory >= MOST_GROUPS * ENTRY
            assert sharing.per_group == 1, "a workgroup has a block"
            assert sharing.block >= k, "merging keeps the first of a block"
        elif sharing.selects:
            assert sharing.per_group == sharing.workgroup, "an invocation has a block"
        else:
            assert sharing.block & (sharing.block - 1) == 0
            assert sharing.block * sharing.per_group * ENTRY <= target.shared_memory
            assert 2 * sharing.workgroup <= sharing.block * sharing.per_group, "an invocation exchanges nothing"


def test_windows(target: Target) -> None:
    for cost, per_word, seldom_full in product((1, 2, 7, 34), (1, 2, 4), (False, True)):
        most = largest_window(target, cost)
        for places in (*(length for length in LENGTHS if length < most), most):
            for box in ((places,), (1, 1, places), (1, places, 1), (places, 1, 1)):
                sharing = window_sharing(target, box, cost, per_word, seldom_full=seldom_full)
                check_workgroup(target, sharing.workgroup)
                assert sharing.steps <= max_steps(target)
                assert not (sharing.together and sharing.whole_words)
                alone = places * cost * (per_word if sharing.whole_words else 1)
                assert sharing.steps * (sharing.workgroup if sharing.together else 1) >= alone
                assert sharing.together or sharing.steps >= rounds(box)


def test_windows_along_axes(target: Target) -> None:
    for window, step in product((2, 3, 7, 8, 13, 32, 33, 500), (1, 2, 3)):
        lines = [LineOfWindows(axis, 1000, (1000 - window) // step + 1, window, step, 1, 0) for axis in (4, 3)]
        units = lines_of_windows(target, lines, 3 * 1000 * 1000)
        if units is not None:
            assert target.is_cpu
            assert all(line.rounds(unit) <= max_steps(target) for line, unit in zip(lines, units, strict=True))
        else:
            assert target != TARGETS["cpu"] or window in (2, 3, 33, 500)


def test_places_of_regions(target: Target) -> None:
    assert places_at_once(target) * PLACE_SEARCH <= max_steps(target)
    for rows, columns, outputs in product((1, 7, 300, 20000), (1, 7, 300, 20000), (1, 2)):
        down, across = places_parts(target, rows, columns, outputs)
        assert -(-columns // across) * (-(-rows // down) + 2) * outputs <= max_steps(target)
        assert down <= 2 * rows
        assert across <= 2 * columns
