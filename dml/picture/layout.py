"""Graph layout: layers from top to bottom, with few crossings and straight chains.

Sugiyama's method: assign each box to a layer by the longest path; bend a line at each layer that it crosses; order
each layer by its neighbours' positions; then choose coordinates that align neighbours vertically.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from dml.errors import DMLError

#: Gaps in pixels: between boxes, between a box and a line, and between lines; and between layers.
BOX_GAP, LINE_GAP, LAYER_GAP = 28.0, 14.0, 44.0
#: Iterations that improve the order of boxes within layers, and their coordinates.
ORDER_SWEEPS, PLACE_SWEEPS = 8, 12
#: Weight of a line relative to a box when positions compete.
LINE_WEIGHT = 0.01


@dataclass
class Box:
    """A box with its size in pixels; ``layout`` sets its upper left corner and its layer.

    late: place it directly above its first reader, as inputs and constants are, instead of directly below its inputs.
    """

    width: float
    height: float
    late: bool = False
    x: float = 0.0
    y: float = 0.0
    layer: int = 0


@dataclass(eq=False)
class _Place:
    """A position in a layer: a box, or the bend of a line that crosses the layer."""

    width: float
    height: float
    layer: int
    box: int | None = None
    x: float = 0.0  # x of the centre
    above: list[_Place] = field(default_factory=list)
    below: list[_Place] = field(default_factory=list)


Point = tuple[float, float]


#: Source box, target box, the value's name.
Edge = tuple[int, int, str]


def layout(boxes: Sequence[Box], edges: Sequence[Edge]) -> list[list[Point]]:
    """Place every box; return the points of each edge's line, downwards.

    Lines of one value share their path as far as possible. Raises DMLError if the edges form a cycle.
    """
    _layers(boxes, edges)
    places = [_Place(box.width, box.height, box.layer, index) for index, box in enumerate(boxes)]
    ways = _bends(places, edges)
    layers = _rows(places)
    _order(layers)
    _coordinates(layers)
    _straighten(layers, ways)
    top = 0.0
    tops: list[float] = []
    heights = [max((place.height for place in layer), default=0.0) for layer in layers]
    for height in heights:
        tops.append(top)
        top += height + LAYER_GAP
    left = min((place.x - place.width / 2 for layer in layers for place in layer), default=0.0)
    for index, box in enumerate(boxes):
        box.x = places[index].x - box.width / 2 - left
        box.y = tops[box.layer] + (heights[box.layer] - box.height) / 2
    lines = []
    for (start, end, _), way in zip(edges, ways, strict=True):
        first, last = boxes[start], boxes[end]
        points = [(first.x + first.width / 2, first.y + first.height)]
        for bend in way:
            x, y = bend.x - left, tops[bend.layer]
            points += [(x, y), (x, y + heights[bend.layer])]
        points.append((last.x + last.width / 2, last.y))
        lines.append(points)
    return lines


def _layers(boxes: Sequence[Box], edges: Sequence[Edge]) -> None:
    """Assign layers by the longest path to each box; then lower the late ones to their readers."""
    after: dict[int, list[int]] = defaultdict(list)
    waits = [0] * len(boxes)
    for start, end, _ in edges:
        after[start].append(end)
        waits[end] += 1
    order = [index for index, count in enumerate(waits) if not count]
    for index in order:  # the order grows during the loop
        for end in after[index]:
            boxes[end].layer = max(boxes[end].layer, boxes[index].layer + 1)
            waits[end] -= 1
            if not waits[end]:
                order.append(end)
    if len(order) < len(boxes):
        raise DMLError("picture: the graph has a cycle")
    for index in reversed(order):
        if boxes[index].late and after[index]:
            boxes[index].layer = min(boxes[end].layer for end in after[index]) - 1


def _bends(places: list[_Place], edges: Sequence[Edge]) -> list[list[_Place]]:
    """Add a bend in every layer that a line crosses; lines of the same value share them."""
    passing: dict[tuple[int, str, int], _Place] = {}
    joined: set[tuple[int, int]] = set()
    ways = []
    for start, end, value in edges:
        way, last = [], places[start]
        for layer in range(places[start].layer + 1, places[end].layer):
            if (start, value, layer) not in passing:
                passing[start, value, layer] = _Place(0.0, 0.0, layer)
            way.append(passing[start, value, layer])
        for first, second in pairwise([last, *way, places[end]]):
            if (id(first), id(second)) not in joined:
                joined.add((id(first), id(second)))
                first.below.append(second)
                second.above.append(first)
        ways.append(way)
    return ways


def _rows(places: list[_Place]) -> list[list[_Place]]:
    """Return the positions of each layer, in traversal order from the first box."""
    layers: list[list[_Place]] = [[] for _ in range(1 + max((place.layer for place in places), default=-1))]
    seen: set[int] = set()
    roots = [place for place in places if not place.above]
    stack = list(reversed(roots))
    while stack:
        place = stack.pop()
        if id(place) not in seen:
            seen.add(id(place))
            layers[place.layer].append(place)
            stack.extend(reversed(place.below))
    return layers


def _order(layers: list[list[_Place]]) -> None:
    """Sort each layer by the barycentre of its neighbours, alternating downwards and upwards."""
    best, fewest = [list(layer) for layer in layers], _crossings(layers)
    for sweep in range(ORDER_SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        for level in range(1, len(layers)) if down else range(len(layers) - 2, -1, -1):
            order = {id(place): number for number, place in enumerate(layers[level - 1 if down else level + 1])}

            def middle(place: _Place, own: int, order: dict[int, int], down: bool) -> float:
                numbers = sorted(order[id(other)] for other in (place.above if down else place.below))
                return _median(numbers) if numbers else float(own)

            keys = [middle(place, own, order, down) for own, place in enumerate(layers[level])]
            layers[level] = [layers[level][own] for own in sorted(range(len(keys)), key=keys.__getitem__)]
        found = _crossings(layers)
        if found < fewest:
            best, fewest = [list(layer) for layer in layers], found
    layers[:] = best


def _crossings(layers: list[list[_Place]]) -> int:
    """Count the crossings between adjacent layers."""
    count = 0
    for upper, lower in pairwise(layers):
        number = {id(place): position for position, place in enumerate(lower)}
        ends = [position for place in upper for position in sorted(number[id(other)] for other in place.below)]
        # count inversions with a Fenwick tree
        tree = [0] * (len(lower) + 1)
        for seen, position in enumerate(ends):
            smaller, place = 0, position + 1
            while place:
                smaller += tree[place]
                place -= place & -place
            count += seen - smaller
            place = position + 1
            while place <= len(lower):
                tree[place] += 1
                place += place & -place
    return count


def _coordinates(layers: list[list[_Place]]) -> None:
    """Move each position towards its neighbours' centre as far as adjacent ones allow."""
    for layer in layers:
        x = 0.0
        for before, place in zip([None, *layer], layer, strict=False):
            x += 0.0 if before is None else _distance(before, place)
            place.x = x
        for place in layer:
            place.x -= x / 2
    for sweep in range(PLACE_SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else reversed(layers):
            wanted = []
            for place in layer:
                neighbours = (place.above if down else place.below) or (place.below if down else place.above)
                # Chains of boxes stay straight; a line that skips boxes goes around them.
                neighbours = [
                    other for other in neighbours if other.box is not None and place.box is not None
                ] or neighbours
                wanted.append(_median(sorted(other.x for other in neighbours)) if neighbours else place.x)
            _settle(layer, wanted)


def _straighten(layers: list[list[_Place]], ways: list[list[_Place]]) -> None:
    """Make a line vertical at the position of one of its bends, if nothing is in the way."""
    neighbours = {
        id(place): (before, after)
        for layer in layers
        for before, place, after in zip([None, *layer], layer, [*layer[1:], None], strict=False)
    }

    def is_free(place: _Place, x: float) -> bool:
        before, after = neighbours[id(place)]
        return (before is None or x - before.x >= _distance(before, place)) and (
            after is None or after.x - x >= _distance(place, after)
        )

    for way in sorted(ways, key=len, reverse=True):
        xs = sorted(place.x for place in way)
        for x in (_median(xs), xs[0], xs[-1]) if xs else ():
            if all(is_free(place, x) for place in way):
                for place in way:
                    place.x = x
                break


def _settle(layer: list[_Place], wanted: list[float]) -> None:
    """Set the positions nearest to the wanted ones that keep order and distances; colliding neighbours move together.

    Least squares in one pass (pool adjacent violators). Lines yield to boxes.
    """
    blocks: list[tuple[float, float, int]] = []  # (weighted mean, weight, members), after subtraction of the distances
    shift, shifts = 0.0, []
    for index, place in enumerate(layer):
        shift += _distance(layer[index - 1], place) if index else 0.0
        shifts.append(shift)
        mean, weight, members = wanted[index] - shift, 1.0 if place.box is not None else LINE_WEIGHT, 1
        while blocks and blocks[-1][0] >= mean:
            other, its, count = blocks.pop()
            mean, weight, members = (mean * weight + other * its) / (weight + its), weight + its, members + count
        blocks.append((mean, weight, members))
    index = 0
    for mean, _, members in blocks:
        for _ in range(members):
            layer[index].x = mean + shifts[index]
            index += 1


def _distance(first: _Place, second: _Place) -> float:
    gap = BOX_GAP if first.box is not None and second.box is not None else LINE_GAP
    return (first.width + second.width) / 2 + gap


def _median(numbers: Sequence[float]) -> float:
    half = len(numbers) // 2
    return numbers[half] if len(numbers) % 2 else (numbers[half - 1] + numbers[half]) / 2
