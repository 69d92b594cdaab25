"""Calls of shaders/lib/'s functions on a device: a kernel calls the function once per invocation.

A function is identified by file, name and parameters as its source declares them ("int64.glsl: add64(uvec2, uvec2)").
Values are converted by their GLSL type; uvec2 represents three types, which the arguments and the reference tell apart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import dml
import harness
from dml.compiler.kernels import sources
from dml.compiler.program import Access, Dispatch, Region, Space, StorageBinding
from dml.glslang import Source
from dml.runtime.recording import Place, Recording, spirv

Array = npt.NDArray[Any]

WORKGROUP = 64
LIBRARY = sources.directory() / "lib"

#: GLSL type -> words per value, an expression that reads a value from word p of array a, and an expression for each
#: word of value x.
TYPES = {
    "float": (1, "uintBitsToFloat(a[{p}])", ("floatBitsToUint({x})",)),
    "uint": (1, "a[{p}]", ("{x}",)),
    "int": (1, "int(a[{p}])", ("uint({x})",)),
    "bool": (1, "a[{p}] != 0u", ("uint({x})",)),
    "uvec2": (2, "uvec2(a[{p}], a[{p} + 1u])", ("{x}.x", "{x}.y")),
}
#: NumPy type of a result, by GLSL type.
RESULTS = {"float": np.float32, "uint": np.uint32, "int": np.int32, "bool": np.uint32, "uvec2": np.uint64}

_COMMENT = re.compile(r"//.*")
_FUNCTION = re.compile(r"^(\w+) (\w+)\(([^)]*)\) \{", re.MULTILINE)
_MACRO = re.compile(r"^#define (\w+)\([^)]*\)", re.MULTILINE)


@dataclass(frozen=True)
class Parameter:
    type: str
    name: str
    out: bool


@dataclass(frozen=True)
class Function:
    """A GLSL function."""

    result: str
    name: str
    parameters: tuple[Parameter, ...]

    @property
    def signature(self) -> str:
        return f"{self.name}({', '.join(parameter.type for parameter in self.parameters)})"


def functions_of(text: str) -> list[Function]:
    """Return the functions that a GLSL text defines, in order."""
    found = []
    for result, name, parameters in _FUNCTION.findall(_COMMENT.sub("", text)):
        split = [parameter.split() for parameter in parameters.split(",") if parameter.strip()]
        found.append(Function(result, name, tuple(Parameter(p[-2], p[-1], p[0] in ("out", "inout")) for p in split)))
    return found


@cache
def library() -> Mapping[str, frozenset[str]]:
    """Return the definitions of each file of the library: functions with their parameters, and function-like macros."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(LIBRARY.glob("*.glsl"))}
    return {
        file: frozenset([f.signature for f in functions_of(text)] + _MACRO.findall(_COMMENT.sub("", text)))
        for file, text in texts.items()
    }


def run(
    device: dml.Device,
    text: str,
    words: Array,
    count: int,
    groups: tuple[int, int, int],
    defines: Mapping[str, object] | None = None,
) -> Array:
    """Run a kernel that reads ``words`` at binding 0; return the ``count`` words of binding 1, zero before the run."""
    buffers = [device.context.buffer(words.nbytes), device.context.buffer(4 * count)]
    buffers[0].write(words)
    bindings = (
        StorageBinding(Region(Space.INPUT, 0, 0, words.nbytes), Access.READ),
        StorageBinding(Region(Space.OUTPUT, 1, 0, 4 * count), Access.READ_WRITE),
    )
    source = Source("tests/library.comp", text, tuple((name, str(value)) for name, value in (defines or {}).items()))
    dispatches = [Dispatch("tests/library.comp", source, bindings, groups)]
    Recording(device.context, dispatches, spirv(dispatches), lambda region: Place(buffers[region.index])).run()
    return buffers[1].read(np.uint32)


def kernel(file: str, code: str, body: str) -> str:
    """Return a kernel with a library file and ``code``, over the buffers of ``run``: a is read, r is written."""
    return f"""#version 450
layout(local_size_x = {WORKGROUP}) in;
layout(std430, binding = 0) readonly buffer A {{ uint a[]; }};
layout(std430, binding = 1) buffer R {{ uint r[]; }};
#include "lib/{file}"
{code}
void main() {{
{body}
}}
"""


def call(
    device: dml.Device,
    file: str,
    function: Function,
    arguments: Sequence[Array],
    *,
    code: str = "",
    defines: Mapping[str, object] | None = None,
) -> list[Array]:
    """Return the results of a function for each element of its arguments: its return value, then its out parameters.

    function: a function of the file, or of ``code``. Every workgroup is complete: the last arguments are repeated.
    """
    given = [parameter for parameter in function.parameters if not parameter.out]
    results = [
        *([function.result] if function.result != "void" else []),
        *(p.type for p in function.parameters if p.out),
    ]
    lines, at = ["uint i = gl_GlobalInvocationID.x;"], 0
    width = sum(TYPES[parameter.type][0] for parameter in given)
    for parameter in function.parameters:
        words, load, _ = TYPES[parameter.type]
        value = "" if parameter.out else f" = {load.format(p=f'i * {width}u + {at}u')}"
        lines.append(f"{parameter.type} p_{parameter.name}{value};")
        at += 0 if parameter.out else words
    names = [f"p_{parameter.name}" for parameter in function.parameters]
    returned = "" if function.result == "void" else f"{function.result} returned = "
    lines.append(f"{returned}{function.name}({', '.join(names)});")
    names = [*(["returned"] if returned else []), *(f"p_{p.name}" for p in function.parameters if p.out)]
    stored = [word.format(x=name) for name, kind in zip(names, results, strict=True) for word in TYPES[kind][2]]
    lines += [f"r[i * {len(stored)}u + {k}u] = {word};" for k, word in enumerate(stored)]

    count = len(arguments[0])
    columns = [np.ascontiguousarray(argument).view(np.uint32).reshape(count, -1) for argument in arguments]
    assert [column.shape[1] for column in columns] == [TYPES[parameter.type][0] for parameter in given], function
    groups = -(-count // WORKGROUP)
    table = np.pad(np.hstack(columns), ((0, groups * WORKGROUP - count), (0, 0)), "edge")
    text = kernel(file, code, "\n".join(f"    {line}" for line in lines))
    words = run(
        device, text, table, len(table) * len(stored), (groups, 1, 1), {"WORKGROUP": WORKGROUP, **(defines or {})}
    )
    made, at = [], 0
    for kind in results:
        column = words.reshape(len(table), -1)[:count, at : at + TYPES[kind][0]]
        made.append(np.ascontiguousarray(column).view(RESULTS[kind]).reshape(count))
        at += TYPES[kind][0]
    return made


#: A function of (results, arguments) that fails if the results are wrong.
Check = Callable[[Sequence[Array], Sequence[Array]], None]


@dataclass(frozen=True)
class Case:
    """A function of the library with arguments and expected results.

    function: its name, with the types of its parameters if the name is overloaded. code: GLSL whose last function is
    called instead, for functions without plain parameters; ``covers`` then names the functions and macros of the file
    that it tests, by default ``function``.
    """

    file: str
    function: str
    arguments: Callable[[np.random.Generator], Sequence[Array]]
    check: Check
    code: str = ""
    covers: tuple[str, ...] = ()
    defines: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.file}-{self.function}"

    @property
    def tests(self) -> frozenset[str]:
        """The tested functions and macros, by their names in ``library``."""
        return frozenset(self.covers or (self._find(self.function),))

    def run(self, device: dml.Device) -> None:
        with np.errstate(all="ignore"):
            arguments = self.arguments(np.random.default_rng(9))
        text = self.code or (LIBRARY / self.file).read_text(encoding="utf-8")
        functions = functions_of(text)
        called = functions[-1] if self.code else next(f for f in functions if f.signature == self._find(self.function))
        results = call(device, self.file, called, arguments, code=self.code, defines=self.defines)
        with np.errstate(all="ignore"):
            self.check(results, arguments)

    def _find(self, name: str) -> str:
        """Return the signature of the one function of the file with this name."""
        (signature,) = (known for known in library()[self.file] if name in (known, known.partition("(")[0]))
        return signature


def parametrized(cases: Sequence[Case]) -> Callable[[Any], Any]:
    """Parametrize a test by ``case``; the short run takes all cases, since each tests another function."""
    return lambda test: pytest.mark.every_parameter(pytest.mark.parametrize("case", cases, ids=str)(test))


# Checks of results


def equal(*expected_of: Callable[..., Any]) -> Check:
    """Check bits against functions of the arguments of one element, as Python numbers; integers wrap at their width."""

    def check(results: Sequence[Array], arguments: Sequence[Array]) -> None:
        elements = list(zip(*(argument.tolist() for argument in arguments), strict=True))
        for result, of in zip(results, expected_of, strict=True):
            bits = 8 * result.itemsize
            expected = np.array([int(of(*element)) % 2**bits for element in elements], f"u{bits // 8}")
            harness.assert_exact(result.view(expected.dtype), expected)

    return check


def equal_floats(expected_of: Callable[..., Array]) -> Check:
    """Check the bits against a function of the arrays, including the sign of zero; any NaN matches NaN."""

    def check(results: Sequence[Array], arguments: Sequence[Array]) -> None:
        expected = expected_of(*arguments)
        (result,) = results
        result = result.view(expected.dtype)
        bits = f"u{expected.itemsize}"
        is_nan = np.isnan(expected)
        np.testing.assert_array_equal(np.isnan(result), is_nan)
        np.testing.assert_array_equal(result[~is_nan].view(bits), expected[~is_nan].view(bits))

    return check


def within(expected_of: Callable[..., Array], most: float, why: str) -> Check:
    """Check that results are within ``most`` float32 ulps of a function of the arguments in float64.

    Devices may flush subnormals: where one is expected, any result no larger than the smallest normal passes.
    """

    def check(results: Sequence[Array], arguments: Sequence[Array]) -> None:
        expected = expected_of(*(a.astype(np.float64) if a.dtype == np.float32 else a for a in arguments))
        (result,) = results
        small = np.abs(expected) < TINY
        assert np.all(np.abs(result[small]) <= TINY)
        harness.assert_ulp(result[~small], expected[~small], most, why)

    return check


# Arguments

TINY = np.finfo(np.float32).tiny
FLOAT_EDGES = np.array(
    [
        *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, np.inf, -np.inf, np.nan),
        *(TINY, -TINY, 1e-45, -1e-45, 1.1754942e-38, np.finfo(np.float32).max, 65504.0, 65520.0),
        *(2**24 + 1, 2**31, -(2**31), 2**32, 2**63, -(2**63), 2**64),
    ],
    np.float32,
)
INTEGER_EDGES = (0, 1, 2, 3, 255, 2**16 - 1, 2**24, 2**24 + 1, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 2, 2**32 - 1)
WIDE_EDGES = (
    *INTEGER_EDGES,
    *(2**32, 2**32 + 1, 2**52, 2**53 - 1, 2**53, 2**53 + 1, 2**54 - 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1),
)


def pairs(*edges: Array) -> list[Array]:
    """Return every combination of the values."""
    return [grid.reshape(-1) for grid in np.meshgrid(*edges, indexing="ij")]


def integers(dtype: type, count: int = 2000) -> Callable[[np.random.Generator], Array]:
    """Make edge cases, then random integers of a width with any number of leading zeros or ones."""
    bits = 8 * np.dtype(dtype).itemsize
    unsigned = f"u{bits // 8}"

    def made(rng: np.random.Generator) -> Array:
        values = rng.integers(0, 2**bits, count, dtype=unsigned) >> rng.integers(0, bits, count, dtype=unsigned)
        values = np.where(rng.random(count) < 0.3, ~values, values)
        edges = np.array([edge % 2**bits for edge in (INTEGER_EDGES if bits == 32 else WIDE_EDGES)], unsigned)
        return np.concatenate([edges, values]).view(dtype)

    return made


def crossed(*makers: Callable[[np.random.Generator], Array]) -> Callable[[np.random.Generator], list[Array]]:
    """Make one argument per maker: the values of each in random order, after all combinations of their edge cases."""

    def made(rng: np.random.Generator) -> list[Array]:
        columns = [maker(rng) for maker in makers]
        edges = pairs(*(column[:14] for column in columns))
        return [
            np.concatenate([edge, rng.permutation(np.resize(column, 4000))])
            for edge, column in zip(edges, columns, strict=True)
        ]

    return made


def float_bits() -> Callable[[np.random.Generator], Array]:
    """Make edge cases, then floats spread evenly over the bit patterns: each exponent and sign, subnormals, infinities,
    NaN."""

    count = 1 << 14

    def made(rng: np.random.Generator) -> Array:
        step = (1 << 32) // count
        bits = np.arange(count, dtype=np.uint64) * step + rng.integers(0, step, count, dtype=np.uint64)
        return np.concatenate([FLOAT_EDGES, bits.astype(np.uint32).view(np.float32)])

    return made


def uniform(low: float, high: float, count: int = 1 << 14) -> Callable[[np.random.Generator], Array]:
    return lambda rng: rng.uniform(low, high, count).astype(np.float32)


def normal(values: Array) -> Array:
    """Remove subnormal numbers, which devices may treat as zero."""
    return values[(np.abs(values) >= TINY) | (values == 0) | np.isnan(values)]
