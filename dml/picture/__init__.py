"""Pictures of models: one self-contained HTML page of nodes, fusion, kernels and times."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from dml.files import write_text
from dml.pages import render

from .layout import Box, layout
from .model import Picture, PictureKernel, PictureNode, PictureValue, measured

#: Approximate pixels: a character of a box's first and second line, both margins, a line; and the widest box.
_FIRST, _SECOND, _BESIDE, _LINE, _WIDEST = 8.0, 6.7, 22.0, 17.0, 260.0


def write_picture(picture: Picture, path: Path) -> None:
    """Write a picture's page (``dml.picture.onnx.onnx_picture`` makes pictures).

    Raises DMLError if jinja2 is missing or the file cannot be written.
    """
    write_text(path, page(picture))


def page(picture: Picture) -> str:
    """Return a picture's page as HTML."""
    texts = [_lines(node) for node in picture.nodes]
    boxes = [_box(node, lines) for node, lines in zip(picture.nodes, texts, strict=True)]
    lines = layout(boxes, picture.edges)
    data = {
        "nodes": [
            {**_plain(node), "x": box.x, "y": box.y, "width": box.width, "height": box.height, "lines": text}
            for node, box, text in zip(picture.nodes, boxes, texts, strict=True)
        ],
        "edges": [
            {"from": start, "to": end, "value": name, "points": points}
            for (start, end, name), points in zip(picture.edges, lines, strict=True)
        ],
        "kernels": [_plain(kernel) for kernel in picture.kernels],
    }
    times = measured(picture.kernels)
    context = {
        "title": picture.title,
        "facts": picture.facts,
        "nodes": sum(node.kind == "node" for node in picture.nodes),
        "kernels": sum(not kernel.once for kernel in picture.kernels),
        "groups": len({node.group for node in picture.nodes if node.group is not None}),
        "on_host": any(node.on_host for node in picture.nodes),
        "unplanned": any(not node.is_planned for node in picture.nodes),
        "milliseconds": sum(times) / 1e6 if times else None,
    }
    scripts = ("values.js", "drawing.js", "camera.js", "panel.js", "lists.js", "main.js")
    return render(__package__, "picture.html", data, styles=["picture.css"], scripts=scripts, context=context)


def _plain(part: Any) -> dict[str, Any]:
    return dataclasses.asdict(part)


def _lines(node: PictureNode) -> list[str]:
    """Return a box's text: operator or kind, its name, and its time if measured."""
    if node.kind != "node":
        return [_shortened(node.name), node.kind]
    name = [_shortened(node.name)] if node.name else []
    time = [f"{node.nanoseconds / 1e6:.3g} ms"] if node.nanoseconds is not None else []
    return [_shortened(node.operator), *name, *time]


def _shortened(text: str) -> str:
    """Shorten a long name at its start, because its end is more specific."""
    most = int((_WIDEST - _BESIDE) / _SECOND)
    return text if len(text) <= most else f"…{text[1 - most :]}"


def _box(node: PictureNode, lines: list[str]) -> Box:
    widths = [_FIRST * len(lines[0]), *(_SECOND * len(line) for line in lines[1:])]
    width = min(_WIDEST, max(72.0, _BESIDE + max(widths)))
    return Box(width, 14 + _LINE * len(lines), late=node.kind == "input" or node.fate == "known")


__all__ = ["Picture", "PictureKernel", "PictureNode", "PictureValue", "page", "write_picture"]
