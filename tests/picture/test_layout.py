"""Positions of the boxes and lines of a picture."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

import dml
from dml.picture.layout import Box, layout


def placed(edges, count=None, **late):
    boxes = [Box(60.0 + 10 * (at % 5), 30.0) for at in range(count or 1 + max(map(max, edges)))]
    for at in late.get("late", ()):
        boxes[at].late = True
    return boxes, layout(boxes, [(*edge, "value") for edge in edges])


def middle(box):
    return box.x + box.width / 2


def crossings(lines):
    """Return pairs of lines between the same layers whose order is reversed below."""
    parts = {pair for line in lines for pair in pairwise(line)}
    return sum(
        a[0][1] == b[0][1] and a[1][1] == b[1][1] and (a[0][0] - b[0][0]) * (a[1][0] - b[1][0]) < -1e-6
        for a in parts for b in parts
    ) // 2  # fmt: skip


def test_a_chain_is_straight():
    boxes, lines = placed([(index, index + 1) for index in range(6)])
    assert max(map(middle, boxes)) - min(map(middle, boxes)) < 1e-6
    assert [line[0][1] < line[-1][1] for line in lines] == [True] * 6


def test_a_line_that_skips_boxes_goes_around_them_and_leaves_them_straight():
    boxes, lines = placed([(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])
    assert max(map(middle, boxes)) - min(map(middle, boxes)) < 1.0
    around = lines[-1][1:-1]
    assert len({round(x, 6) for x, _ in around}) == 1
    for box in boxes[1:4]:
        assert not box.x <= around[0][0] <= box.x + box.width


def test_crossings_that_need_not_be_are_undone():
    _, lines = placed([(0, 5), (1, 4), (2, 3), (6, 0), (6, 1), (6, 2)])
    assert crossings(lines) == 0


def test_inputs_stand_above_their_first_reader():
    boxes, _ = placed([(0, 1), (1, 2), (2, 3), (4, 3)], late=[4])
    assert boxes[4].layer == boxes[3].layer - 1


@pytest.mark.parametrize("seed", range(8))
def test_boxes_overlap_neither_boxes_nor_lines(seed):
    chance = random.Random(seed)
    count = 60
    edges = [
        (chance.randrange(max(0, index - 12), index), index)
        for index in range(1, count)
        for _ in range(chance.randrange(1, 3))
    ]
    boxes, lines = placed(sorted(set(edges)), count)
    for index, one in enumerate(boxes):
        for other in boxes[:index]:
            beside = one.x + one.width <= other.x + 1e-6 or other.x + other.width <= one.x + 1e-6
            assert beside or one.y + one.height <= other.y or other.y + other.height <= one.y
    for line in lines:
        assert all(lower[1] > upper[1] for upper, lower in pairwise(line))
        for (x, top), (below, bottom) in pairwise(line[1:-1]):
            if x == below:  # the line passes a layer vertically
                assert not any(
                    box.x < x < box.x + box.width and box.y < bottom and top < box.y + box.height for box in boxes
                )


def test_a_cycle_is_refused():
    with pytest.raises(dml.DMLError, match="cycle"):
        placed([(0, 1), (1, 2), (2, 0)])


def test_nothing_to_draw():
    assert layout([], []) == []
