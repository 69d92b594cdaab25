"""A page for each family of kernels: their sources and the operators that use them."""

from __future__ import annotations

from tools.documentation.markdown import code, escaped, target
from tools.documentation.operators import ROOT, kernels, names

SHADERS = ROOT / "shaders"


def families() -> list[str]:
    return sorted(folder.name for folder in SHADERS.iterdir() if folder.is_dir())


def users() -> dict[str, list[str]]:
    """Return for each kernel the operators whose samples run it."""
    found: dict[str, list[str]] = {}
    for name in sorted(names()):
        for kernel in kernels(name):
            found.setdefault(kernel, []).append(name)
    return found


def page(family: str, used_by: dict[str, list[str]]) -> str:
    """Return the page of one folder of ``shaders/`` as Markdown."""
    parts = [f"# {family}\n"]
    for path in sorted((SHADERS / family).iterdir()):
        kernel = f"{family}/{path.name}"
        operators = ", ".join(f"[{escaped(name)}](#operator-{name})" for name in used_by.get(kernel, ()))
        said = f"Run by {operators}.\n\n" if operators else ""
        text = path.read_text(encoding="utf-8")
        parts.append(f"{target(f'kernel-{kernel}')}## {escaped(path.name)}\n\n{said}{code('glsl', text)}")
    return "\n".join(parts)
