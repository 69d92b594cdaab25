"""ONNX's slicing as arithmetic, so that sizes may be traced.

Unlike in Python, with a negative step a start before the first element means the first element.
"""


def taken(start: int, end: int | None, step: int, size: int) -> tuple[int, int]:
    """Return the first of ``size`` elements that ``[start:end:step]`` selects, and the number of selected elements."""
    least, most = (0, size) if step > 0 else (-1, size - 1)
    first = _within(start, size, 0, most)
    last = least if end is None else _within(end, size, least, most)
    return first, max(0, -((first - last) // step) if step > 0 else -((last - first) // -step))


def _within(place: int, size: int, least: int, most: int) -> int:
    return min(max(place + size if place < 0 else place, least), most)
