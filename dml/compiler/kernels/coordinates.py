"""The coordinates of elements that a kernel counts along some of a tensor's dimensions."""

from __future__ import annotations


def coordinates(name: str, operand: str, rank: int, dimensions: range, group: int = 1) -> str:
    """GLSL void <name>_coordinates(i, c): the place of group i among these dimensions of a bound operand.

    A group is ``group`` neighbours along the innermost of them. The other coordinates stay as they are.
    """
    lines = [f"void {name}_coordinates(uint i, inout uint c[{rank}]) {{"]
    for d in reversed(dimensions):
        innermost, outermost = d == dimensions[-1], d == dimensions[0]
        size = f"({operand}_SIZE_{d} / {group}u)" if innermost and group > 1 else f"{operand}_SIZE_{d}"
        value = "i" if outermost else f"i % {size}"
        lines.append(f"    c[{d}] = {value}{f' * {group}u' if innermost and group > 1 else ''};")
        if not outermost:
            lines.append(f"    i /= {size};")
    return "\n".join([*lines, "}"])
