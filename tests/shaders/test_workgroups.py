"""lib/reduce.glsl, scan.glsl, grid.glsl and for_each.glsl: cooperation of invocations."""

from __future__ import annotations

import library
import numpy as np
import pytest
from library import WORKGROUP, Case, crossed, equal, equal_floats, float_bits, parametrized

import harness
from dml.compiler.kernels.prelude import divisor_words, prelude, write
from dml.compiler.program import Access, Dispatch, Operand, Region, Space, StorageBinding
from dml.glslang import Source
from dml.runtime.recording import Place, Recording, spirv

#: Numbers of invocations that cooperate; each divides the workgroup.
LANES = (1, 2, 16, 64)

SUM = """WORKGROUP_REDUCTION(workgroup_total, uint, REDUCE_ADD)
uint total_of_lanes(uint value) {
    uint lane = gl_LocalInvocationIndex % LANES;
    uint first = workgroup_total(value, lane, LANES);
    barrier();  // all have read the total, which the next call overwrites
    return first + workgroup_total(value, lane, LANES);
}
"""
FEW_BARRIERS = """#define ADDED(a, b) ((a) + (b))
LANES_REDUCTION(lanes_total, uint, ADDED)
uint total_of_lanes(uint value) { return lanes_total(value, gl_LocalInvocationIndex % LANES); }
"""
# x -> a x + b with (a, b) as uvec2: composition depends on the order.
SCAN = """uvec2 after(uvec2 f, uvec2 g) { return uvec2(f.x * g.x, g.x * f.y + g.y); }
WORKGROUP_SCAN(workgroup_scan, uvec2, after)
uvec2 maps_before(uvec2 map, out uvec2 total) {
    return workgroup_scan(map, uvec2(1u, 0u), gl_LocalInvocationIndex % LANES, LANES, total);
}
"""

SCAN_OF_LANES = """uvec2 after(uvec2 f, uvec2 g) { return uvec2(f.x * g.x, g.x * f.y + g.y); }
LANES_SCAN(lanes_scan, uvec2, after)
uvec2 maps_before(uvec2 map, out uvec2 total) { return lanes_scan(map, uvec2(1u, 0u), place() % LANES, total); }
"""


def values(rng):
    return [rng.integers(0, 2**32, 5 * WORKGROUP, dtype=np.uint32)]


def maps(rng):
    return [rng.integers(0, 2**64, 5 * WORKGROUP, dtype=np.uint64)]


def summed(lanes, times=1):
    def check(results, arguments):
        totals = arguments[0].reshape(-1, lanes).sum(axis=1, dtype=np.uint32)
        harness.assert_exact(results[0], np.repeat(totals * np.uint32(times), lanes))

    return check


def placed(results, arguments):
    numbers = np.arange(len(arguments[0]), dtype=np.uint32) % WORKGROUP
    harness.assert_exact(results[0], arguments[0] + numbers)


def composed(lanes):
    """Return a check of a scan and a reduction of linear maps: each lane composes those of all earlier lanes, and of
    all lanes."""

    def check(results, arguments):
        before, totals = ([(int(v) % 2**32, int(v) >> 32) for v in result] for result in results)
        given = [(int(v) % 2**32, int(v) >> 32) for v in arguments[0]]
        for first in range(0, len(given), lanes):
            a, b = 1, 0
            for place in range(first, first + lanes):
                assert before[place] == (a, b)
                a, b = a * given[place][0] % 2**32, (given[place][0] * b + given[place][1]) % 2**32
            assert totals[first : first + lanes] == [(a, b)] * lanes

    return check


def nan_wins(choose):
    return equal_floats(lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.float32(np.nan), choose(a, b)))


def ordered_pairs(rng):
    """Make pairs except those with an ambiguous minimum: two zeros, or subnormals, which devices may flush to zero."""
    a, b = crossed(float_bits(), float_bits())(rng)
    are_equal = (np.abs(a) < library.TINY) & (np.abs(b) < library.TINY)
    return [a[~are_equal], b[~are_equal]]


def over_lanes(file, name, arguments, check, code, *covers):
    """Return a case for each number of lanes; ``check`` takes the number, and ``name`` has a place for it."""
    return [
        Case(file, name.format(n), arguments, check(n), code=code, covers=covers, defines={"LANES": n}) for n in LANES
    ]


CASES = [
    Case("reduce.glsl", "reduce_is_nan", crossed(float_bits()), equal(lambda x: x != x)),
    Case("reduce.glsl", "reduce_max", ordered_pairs, nan_wins(np.maximum)),
    Case("reduce.glsl", "reduce_min", ordered_pairs, nan_wins(np.minimum)),
    *over_lanes(
        "reduce.glsl", "sums over {} lanes", values, lambda lanes: summed(lanes, times=2), SUM,
        "WORKGROUP_REDUCTION", "REDUCE_ADD",
    ),
    *over_lanes(
        "reduce_lanes.glsl", "sums over {} lanes by few barriers", values, summed, FEW_BARRIERS,
        "LANES_REDUCTION", "LANES_READ",
    ),
    *over_lanes("scan.glsl", "maps of {} lanes", maps, composed, SCAN, "WORKGROUP_SCAN"),
    *over_lanes("scan_lanes.glsl", "maps of {} lanes without subgroups", maps, composed, SCAN_OF_LANES, "LANES_SCAN"),
    Case(
        "subgroups.glsl",
        "place()",
        values,
        placed,
        code="uint placed(uint x) { return x + place(); }",
        covers=("place()",),
    ),
]  # fmt: skip


@parametrized(CASES)
def test_function(device, case):
    case.run(device)


#: Functions that are tested below, or, for subgroups, by the tests of reductions.
COVERED = {
    "reduce_lanes.glsl": frozenset({"FROM_SUBGROUPS", "IN_SUBGROUPS"}),
    "scan_lanes.glsl": frozenset({"LANES_SCAN_FAR"}),
    "subgroups.glsl": frozenset({"fills_subgroups()"}),
    "grid.glsl": frozenset({"workgroup_index()", "global_index()"}),
    "for_each.glsl": frozenset({"main()", "encoded(uint)", "store_unit(uint)", "STORE"}),
    "math.glsl": frozenset({"two_over_pi(uint)"}),
    "sums.glsl": frozenset({"FOUR_OF_SUMS"}),
    "divide.glsl": frozenset({"divided(uint, Divisor)", "remainder(uint, Divisor)", "take_coordinate(uint, Divisor)"}),
}


def test_a_folded_grid_counts_each_workgroup_and_invocation_once(device):
    groups = (5, 3, 2)
    body = f"""    atomicAdd(r[global_index()], 1u);
    if (gl_LocalInvocationIndex == 0u) atomicAdd(r[{30 * WORKGROUP}u + workgroup_index()], 1u);"""
    text = library.kernel("grid.glsl", "", body)
    counts = library.run(device, text, np.zeros(1, np.uint32), 31 * WORKGROUP, groups, {"WORKGROUP": WORKGROUP})
    np.testing.assert_array_equal(counts[: 30 * WORKGROUP + 30], 1)
    assert not counts[30 * WORKGROUP + 30 :].any()


def arctangent_of_one_over(n: int, one: int) -> int:
    total = term = one // n
    for k in range(3, 1000, 2):
        term //= n * n
        total += term // k if k % 4 == 1 else -(term // k)
    return total


def test_words_of_two_over_pi(device):
    """The words are those of 2/pi, computed by Machin's formula in integers."""
    body = """    uvec4 words = two_over_pi(gl_GlobalInvocationID.x % 5u);
    for (uint k = 0u; k < 4u; ++k) r[gl_GlobalInvocationID.x * 4u + k] = words[k];"""
    text = library.kernel("math.glsl", "", body)
    found = library.run(device, text, np.zeros(1, np.uint32), 4 * WORKGROUP, (1, 1, 1), {})
    one = 1 << 400
    pi = 4 * (4 * arctangent_of_one_over(5, one) - arctangent_of_one_over(239, one))
    bits = (2 * one << 256) // pi
    words = [0, *(bits >> 32 * (7 - k) & 0xFFFFFFFF for k in range(8))]
    np.testing.assert_array_equal(found[:20].reshape(5, 4), [words[index : index + 4] for index in range(5)])


@pytest.mark.parametrize("in_fours", [0, 1])
def test_four_of_a_row_of_sums(device, in_fours):
    body = """    SUMS row[8u / EACH];
    for (uint j = 0u; j < 8u / EACH; ++j) row[j] = SUMS(j) * 10;
    FOUR four = FOUR_OF_SUMS(row, 1u);
    for (uint k = 0u; k < 4u; ++k) r[gl_GlobalInvocationID.x * 4u + k] = uint(four[k]);"""
    text = library.kernel("sums.glsl", "", body)
    defines = {"SUM_IS_INT": 1, "SUMS_IN_FOURS": in_fours}
    found = library.run(device, text, np.zeros(1, np.uint32), 4 * WORKGROUP, (1, 1, 1), defines)
    assert found[:4].tolist() == ([10] * 4 if in_fours else [40, 50, 60, 70])


#: Divisors at which the constants of the division by multiplication change.
DIVISORS = [1, 2, 3, 5, 6, 7, 10, 641, 65535, 65536, 65537, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1]
DIVIDE = """uint i = gl_GlobalInvocationID.x, x = a[4u * i];
Divisor d = Divisor(a[4u * i + 1u], a[4u * i + 2u], a[4u * i + 3u]);
uint others = x;
r[4u * i] = divided(x, d);
r[4u * i + 1u] = remainder(x, d);
r[4u * i + 2u] = take_coordinate(others, d);
r[4u * i + 3u] = others;"""


def test_division_by_data_is_exact(device):
    rng = np.random.default_rng(7)
    divisors = [*DIVISORS, *(int(n) for n in rng.integers(1, 2**32, 48))]
    cases = []
    for divisor in divisors:
        near = [n * divisor + d for n in (0, 1, 2, 3, (2**32 - 1) // divisor) for d in (-1, 0, 1)]
        numbers = [n for n in near if 0 <= n < 2**32] + [2**31, 2**32 - 1, *map(int, rng.integers(0, 2**32, 40))]
        cases += [(number, divisor, *divisor_words(divisor)) for number in numbers]
    cases += cases[-1:] * (-len(cases) % WORKGROUP)
    words = np.array(cases, np.uint32)
    text = library.kernel("divide.glsl", "", DIVIDE)
    found = library.run(device, text, words.reshape(-1), words.size, (len(words) // WORKGROUP, 1, 1)).reshape(-1, 4)
    quotient, rest = words[:, 0] // words[:, 1], words[:, 0] % words[:, 1]
    np.testing.assert_array_equal(found, np.stack([quotient, rest, rest, quotient], 1))


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("dtype", "whole_words"),
    [(narrow, whole) for narrow in ("UINT8", "INT16", "FLOAT16") for whole in (0, 1)] + [("UINT32", 0), ("INT64", 0)],
)
def test_for_each_stores_each_element_once(device, dtype, whole_words, late):
    """With an odd number of elements, the memory after them stays unchanged. late: numbers are loaded where they are
    used."""
    sizes, description = (3, 7), harness.tensor(dtype, (3, 7))
    kind = harness.dml.numpy_dtype(description.DataType)
    size = -(-21 * kind.itemsize // 4) * 4
    region = Region(Space.OUTPUT, 0, 0, size)
    operand = Operand.of(description, region)
    kernel = "lib/for_each.glsl"
    head = prelude(kernel, {"result": write(operand)}, {}, sizes, (WORKGROUP, 1, 1), (), "")
    value = {"FLOAT16": "float(n) * 0.25", "INT64": "uvec2(n, ~n)"}.get(dtype, "result_VALUE(n)")
    text = f"""#version 450
#include "prelude.glsl"
result_VALUE value(uint c[RANK]) {{ uint n = c[0] * 16u + c[1]; return {value}; }}
#include "lib/for_each.glsl"
"""
    defines = (("WHOLE_WORDS", str(whole_words)), *[("LATE_NUMBERS", "")] * late)
    source = Source("tests/for_each.comp", text, defines, (("prelude.glsl", head.text),))
    dispatch = Dispatch(kernel, source, (StorageBinding(region, Access.WRITE),), (1, 1, 1), push=head.push)
    buffer = device.context.buffer(size + 64)
    buffer.write(np.full(size + 64, 0xA5, np.uint8))
    Recording(device.context, [dispatch], spirv([dispatch]), lambda region: Place(buffer)).run()
    numbers = (np.arange(3)[:, None] * 16 + np.arange(7)).reshape(-1)
    expected = {"FLOAT16": numbers * 0.25, "INT64": numbers | ~numbers << 32}.get(dtype, numbers).astype(kind)
    harness.assert_exact(buffer.read(kind, 21), expected)
    np.testing.assert_array_equal(buffer.read(np.uint8, 64, size), 0xA5)
