"""Plans filled in from a pattern for other sizes equal those of fresh models, dispatch by dispatch and bit by bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx_graphs import CASES, check_plan, decoder, decoder_feeds, parsed

import dml
from dml.frontends.onnx import prepare
from dml.frontends.onnx.map.slicing import taken
from dml.planning import patterns
from dml.planning.patterns import PlanPatterns
from dml.traced import TracedInt
from example_module import example

_rng = np.random.default_rng(1)


@pytest.fixture(autouse=True)
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learn patterns as soon as there is a second shape."""
    monkeypatch.setattr(patterns, "PATIENCE", 1)


def found(prepared: Any) -> list[PlanPatterns]:
    return list(prepared.parts[0].patterns.values())


def test_a_past_that_grows_is_planned_once_for_each_rest(device: dml.Device) -> None:
    prepared = prepare(decoder(), device)
    for past in (16, 17, 18, 19, 20, 24, 23, 28, 29, 27, 31, 21):
        check_plan(prepared, decoder(), decoder_feeds(past, 1), device)
    (known,) = found(prepared)
    assert known.tried <= 6
    assert known.saved >= 5


def test_results_are_a_fresh_models(device: dml.Device) -> None:
    prepared = prepare(decoder(), device)
    for past in (16, 17, 20, 24, 28):
        feeds = decoder_feeds(past, 1)
        for result, expected in zip(prepared.run(feeds), prepare(decoder(), device).run(feeds), strict=True):
            assert result.tobytes() == expected.tobytes()
    assert found(prepared)[0].saved >= 2


@pytest.mark.parametrize("name", CASES)
def test_any_sizes_one_after_another(device: dml.Device, name: str) -> None:
    model, feeds, sizes = CASES[name]
    prepared = prepare(model(), device)

    @settings(max_examples=15, deadline=None)
    @given(sizes)
    def one_more(sizes: Any) -> None:
        check_plan(prepared, model(), feeds(*sizes), device)

    one_more()


@cache
def shapes() -> bytes:
    """Return a model with most folded operators: positions, masks and shapes as exporters compute them from sizes."""
    return parsed(
        """
        shapes (float[n, s, 8] x) =>
               (float[n, s, 8] y, float[a, b] mask, int64[k] wanted, float[p, q] z, int64[c, d] pairs) {
            size = Shape(x)
            rows = Gather(size, i0)
            length = Gather(size, i1)
            half = Div(length, two)
            rest = Mod(length, two)
            more = Add(half, rest)
            doubled = Mul(more, two)
            next = Sub(doubled, rest)
            same = Equal(next, length)
            chosen = Where(same, length, rows)
            atmost = Min(chosen, many)
            atleast = Max(atmost, i1)
            steps = Range(i0, atleast, i1)
            late = Range(length, twice, i1)
            twice = Add(length, length)
            column = Unsqueeze(late, one)
            causal = Greater(column, steps)
            held = Cast<to = 1>(causal)
            open = Mul(held, low)
            every = ReduceProd(size)
            count = Reshape(every, scalar)
            counted = Cast<to = 1>(count)
            root = Sqrt(counted)
            tri = Trilu<upper = 0>(open, i0)
            flipped = Transpose<perm = [1, 0]>(tri)
            table = Slice(places, first, lengths, first)
            lengths = Unsqueeze(length, first)
            kept = Squeeze(lengths, first)
            filled = ConstantOfShape<value = float[1] {2}>(shape2)
            shape2 = Concat<axis = 0>(lengths, eight)
            tiled = Expand(shift, shape2)
            summed = CumSum(filled, i0)
            last = Slice(places, minus, far, first)
            ends = Gather(last, i0)
            all1 = Add(table, tiled)
            all2 = Add(summed, ends)
            all = Add(all1, all2)
            a = Add(x, all)
            y = Mul(a, root)
            mask = Add(flipped, flipped)
            wanted = Concat<axis = 0>(size, lengths)
            flat = Reshape(x, shape3)
            width = Shape<start = 2, end = 3>(x)
            shape3 = Concat<axis = 0>(unknown, width)
            z = Relu(flat)
            unused = Identity(kept)
            long = Cast<to = 7>(length)
            both = Concat<axis = 0>(late, late)
            lane = Unsqueeze(both, first)
            moved = Add(lane, long)
            single = Squeeze(moved, first)
            pairs = Reshape(single, pair)
        }
        """,
        {
            "i0": np.array(0), "i1": np.array(1), "two": np.array(2), "many": np.array(1000), "one": np.array([1]),
            "first": np.array([0]), "low": np.float32(-3), "places": _rng.random((64, 8), np.float32),
            "eight": np.array([8]), "shift": _rng.random((1, 8), np.float32), "minus": np.array([-1]),
            "far": np.array([2**62]), "unknown": np.array([-1]), "scalar": np.zeros(0, np.int64),
            "pair": np.array([2, -1]),
        },
    )  # fmt: skip


def shapes_in_order() -> bytes:
    """Return ``shapes`` with its nodes sorted, as ONNX requires."""
    model = onnx.load_from_string(shapes())
    known = {one.name for one in (*model.graph.initializer, *model.graph.input)}
    left, nodes = list(model.graph.node), []
    while left:
        ready = [node for node in left if all(name in known for name in node.input)]
        assert ready
        nodes += ready
        known |= {name for node in ready for name in node.output}
        left = [node for node in left if node not in ready]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return bytes(model.SerializeToString())


def test_values_computed_from_sizes(device: dml.Device) -> None:
    model = shapes_in_order()
    prepared = prepare(model, device)
    for rows, length in ((2, 9), (3, 12), (4, 16), (5, 17), (6, 20), (2, 24), (3, 32), (4, 21), (5, 40)):
        x = _rng.random((rows, length, 8), np.float32)
        check_plan(prepared, model, {"x": x}, device)
        for result, expected in zip(prepared.run({"x": x}), prepare(model, device).run({"x": x}), strict=True):
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected)
    assert sum(known.saved for known in found(prepared)) > 0


@cache
def gathers() -> bytes:
    """Return a model that gathers the rows of two ranges of sizes, which are equal for some sizes."""
    return parsed(
        """
        gathers (float[40, 8] table, float[n, m] x) => (float[k, 8] y, float[m, 8] z) {
            size = Shape(x)
            rows = Gather(size, i0)
            columns = Gather(size, i1)
            doubled = Mul(rows, two)
            more = Add(doubled, i0)
            first = Range(i0, doubled, i1)
            again = Range(i0, more, i1)
            second = Range(i0, columns, i1)
            a = Gather(table, first)
            b = Gather(table, again)
            c = Gather(table, second)
            d = Softmax(a)
            e = Softmax(b)
            y = Add(d, e)
            z = Softmax(c)
        }
        """,
        {"i0": np.array(0), "i1": np.array(1), "two": np.array(2)},
    )


def test_equal_constants_of_sizes(device: dml.Device) -> None:
    """If other constants are equal than in the pattern, other nodes are merged, so the pattern does not apply."""
    prepared = prepare(gathers(), device)
    for rows, columns in ((4, 17), (5, 18), (6, 19), (7, 14), (8, 21), (8, 16), (9, 20), (10, 20), (11, 21)):
        feeds = {"table": _rng.random((40, 8), np.float32), "x": np.ones((rows, columns), np.float32)}
        check_plan(prepared, gathers(), feeds, device)
        plan, _ = prepared.compiled_for(feeds)
        gathered = [line for line in plan.compiled.describe().splitlines() if "gather" in line]
        assert len(gathered) == (1 if 2 * rows == columns else 2), gathered
    (known,) = found(prepared)
    assert known.saved >= 3


def test_a_loop_whose_count_is_given_has_no_pattern(device: dml.Device) -> None:
    model, feeds, _ = CASES["looped"]
    prepared = prepare(model(), device)
    for length in (3, 4, 5):
        check_plan(prepared, model(), feeds(length, 2, True), device)
    (known,) = found(prepared)
    assert known.tried > 0
    assert known.saved == 0


def test_a_size_of_one_is_planned_by_itself(device: dml.Device) -> None:
    prepared = prepare(decoder(), device)
    for past in (16, 17, 1, 0, 20, 1):
        check_plan(prepared, decoder(), decoder_feeds(past, 1), device)


def test_prompts_between_tokens_are_sizes_of_another_kind(device: dml.Device) -> None:
    prepared = prepare(decoder(), device)
    for past, new in ((16, 1), (0, 7), (17, 1), (20, 1), (0, 9), (24, 1)):
        check_plan(prepared, decoder(), decoder_feeds(past, new), device)
    assert sum(known.saved for known in found(prepared)) >= 1


class _Plan:
    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = list(sizes)

    def is_same(self, other: Any) -> bool:
        return self.sizes == other.sizes


def _make(traced: Sequence[int]) -> Any:
    """Return a plan that holds only for multiples of ten."""
    multiples = [size for size in traced if size % 10 == 0]
    return multiples, lambda numbers: _Plan([numbers.get(size, size) for size in multiples])


def _plans(of: PlanPatterns, sizes: Sequence[int]) -> Iterator[bool]:
    """Yield, for each size, whether a known pattern gave the plan."""
    for size in sizes:
        plan = of.find((size, 3))
        yield plan is not None
        if plan is None:
            of.learn((size, 3), _Plan([one for one in (size, 3) if one % 10 == 0]), _make)
        else:
            assert plan.sizes == [one for one in (size, 3) if one % 10 == 0]


def test_patterns_hold_where_their_conditions_do() -> None:
    known = PlanPatterns()
    assert list(_plans(known, [10, 20, 30, 50, 7, 9, 8, 70])) == [False, False, True, True, False, True, True, True]


def test_patterns_that_save_nothing_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    known = PlanPatterns()
    tries = 0

    def never(traced: Sequence[int]) -> Any:
        nonlocal tries
        tries += 1
        assert any(type(size) is TracedInt for size in traced)
        raise ValueError("an error caused by TracedInt")

    for size in range(2, 60):
        known.learn((size,), _Plan([size]), never)
    assert tries == known.tried == patterns.TRIALS


@pytest.mark.parametrize("error", [AttributeError, AssertionError, MemoryError])
def test_a_fault_of_planning_is_not_taken_for_a_traced_numbers(error: type[Exception]) -> None:
    def faulty(traced: Sequence[int]) -> Any:
        raise error("ours")

    known = PlanPatterns()
    known.learn((2,), _Plan([2]), faulty)  # the first size: nothing is traced
    with pytest.raises(error, match="ours"):
        known.learn((3,), _Plan([3]), faulty)


def test_a_pattern_with_a_different_plan_is_not_kept() -> None:
    known = PlanPatterns()
    for size in range(2, 8):
        known.learn((size,), _Plan([size]), lambda traced: (traced, lambda numbers: _Plan([1])))
        assert known.find((size + 1,)) is None


def _pinned(size: int, numbers: Any) -> _Plan:
    return _Plan([size])


def test_patterns_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "MOST_PATTERNS", 3)
    monkeypatch.setattr(patterns, "TRIALS", 100)
    known = PlanPatterns()
    for size in range(2, 30):
        known.learn((size,), _Plan([size]), lambda traced: ([], partial(_pinned, int(traced[0]))))
        assert len(known) <= 3


@given(st.integers(0, 9), st.integers(-12, 12), st.integers(-12, 12) | st.none(), st.integers(-3, 3).filter(bool))
def test_traced_slices_equal_onnxs(size: int, start: int, end: int | None, step: int) -> None:
    """As in Python, but a backward step from before the first element starts at the first element."""
    at = max(start, -size) if step < 0 else start
    expected = range(*slice(at, end if end is not None or step < 0 else size, step).indices(size))
    first, count = taken(start, end if end is not None or step < 0 else size, step, size)
    assert count == len(expected)
    assert not count or first == expected.start


def test_the_example_of_decoding_fills_in_most_plans(device: dml.Device) -> None:
    """The cache grows token by token on the host, as with the first model of examples/decoding.py."""
    model = bytes(example("decoding").gpt2())
    prepared = prepare(model, device)
    for past in range(20, 44):
        prepared.compiled_for(decoder_feeds(past, 1))
    assert sum(known.saved for known in found(prepared)) >= 12
