"""Coordinates of elements that a kernel numbers along some of a tensor's dimensions."""

from __future__ import annotations


def coordinates(name: str, operand: str, rank: int, dimensions: range, group: int = 1) -> str:
    """Return GLSL void <name>_coordinates(i, c): the coordinates of group i in these dimensions of a bound operand.

    A group is ``group`` adjacent elements along the innermost of them. Other coordinates are not changed.
    """
    lines = [f"void {name}_coordinates(uint i, inout uint c[{rank}]) {{"]
    if group > 1:
        lines.append(f"    i *= {group}u;")
    for d in reversed(dimensions[1:]):
        lines.append(f"    c[{d}] = take_coordinate(i, {operand}_SIZE_{d}_DIVISOR);")
    if dimensions:
        lines.append(f"    c[{dimensions[0]}] = i;")
    return "\n".join([*lines, "}"])
