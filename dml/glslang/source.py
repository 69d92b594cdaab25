"""Shader sources: GLSL with includes and defines, their identity, and the flattened text for the compiler.

A source's identity follows from its own texts and the files that it includes, so a shader that was compiled before need
not be flattened.
"""

from __future__ import annotations

import functools
import hashlib
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dml.errors import DMLError

_INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
_VERSION = re.compile(r"^\s*#\s*version\b")
_LINE_EXTENSION = "#extension GL_GOOGLE_cpp_style_line_directive"

#: Any value but 0 adds debug information to shaders.
DEBUG_VARIABLE = "DML_DEBUG_SHADERS"


def wants_debug_information() -> bool:
    """Whether shaders carry debug information: DML_DEBUG_SHADERS is set, and not 0."""
    return os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0")


@dataclass(frozen=True)
class Source:
    """One compute shader: its text (from ``#version`` on), macros and generated include files.

    ``name`` stands for it in errors. ``headers`` are (name, text) pairs that take precedence over files of the same
    name.
    """

    name: str
    text: str
    defines: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()


#: Default ``--target-env`` of glslang, and the ones that some GLSL extensions need.
TARGET, _NEWER_TARGETS = "vulkan1.1", {"GL_NV_cooperative_matrix2": "vulkan1.3"}


def target_of(source: Source) -> str:
    """Return a source's target: the default, unless one of its extensions needs newer SPIR-V."""
    return next((target for name, target in _NEWER_TARGETS.items() if name in source.text), TARGET)


@dataclass(frozen=True)
class Flat:
    """A flattened text. ``lines``: the lines of each file that messages and debuggers name."""

    name: str
    text: str
    lines: dict[str, list[str]]
    debug: bool

    @property
    def file(self) -> str:
        """The file name that the compiler gets."""
        return posixpath.basename(self.name) if self.debug else "shader.comp"


@dataclass(frozen=True)
class _Include:
    """A found file or generated header. ``hash``: of a file's text; a header's text is in its source."""

    identity: str
    shown: str  # name in error messages
    text: str
    hash: str = ""


class Files:
    """The include files in some directories, as of their first use."""

    def __init__(self, directories: Sequence[Path]) -> None:
        self.directories = directories
        # An installed package holds the checkout's folder shaders/ under the name _shaders/.
        self._roots = [(str(directory), f"{directory.name.removeprefix('_')}/") for directory in directories]
        self._found: dict[tuple[str, str], _Include | None] = {}

    def find(self, wanted: str, includer: str) -> _Include | None:
        """Resolve ``wanted`` as included by ``includer``: first next to it; None if not found."""
        key = (wanted, posixpath.dirname(includer))
        if key not in self._found:
            self._found[key] = self._look_up(wanted, key[1])
        return self._found[key]

    def _look_up(self, wanted: str, folder: str) -> _Include | None:
        relative = posixpath.normpath(posixpath.join(folder, wanted))
        for directory, prefix in self._roots:
            for candidate in (relative.removeprefix(prefix) if relative.startswith(prefix) else wanted, wanted):
                path = os.path.join(directory, candidate)
                content = _content(path)
                if content is not None:
                    return _Include(path, prefix + candidate, *content)
        return None


def identity(source: Source, files: Files) -> list[str]:
    """Return all that the flattened text depends on: the source's own texts, names and hashes of the files it
    reaches."""
    own = [text for pair in (*source.defines, *source.headers) for text in pair]
    reached = [text for pair in _reached(source, files) for text in pair]
    return [source.name, source.text, str(len(source.defines)), str(len(source.headers)), *own, *reached]


#: A file lookup: the name, the includer, and the path and hash found; None if not found.
Search = tuple[str, str, tuple[str, str] | None]


def searches(source: Source, files: Files) -> tuple[Search, ...]:
    """Return the file lookups on which ``identity`` depends, in addition to the source's own texts."""
    found: list[Search] = []
    for _ in _reached(source, files, found):
        pass
    return tuple(found)


def are_unchanged(lookups: Iterable[Search], files: Files) -> bool:
    """Whether the lookups still find the same files with the same texts."""
    for wanted, includer, where in lookups:
        found = files.find(wanted, includer)
        if (None if found is None else (found.identity, found.hash)) != where:
            return False
    return True


def _reached(source: Source, files: Files, lookups: list[Search] | None = None) -> Iterator[tuple[str, str]]:
    """Yield (name in messages, hash) of each included file; the hash of a missing one is empty.

    lookups: a list to which the lookups are added.
    """
    headers = dict(source.headers)
    seen: set[str] = set()
    waiting = [(source.name, source.text)]
    while waiting:
        includer, text = waiting.pop()
        for wanted in _includes(text):
            found = _find(wanted, includer, headers, files)
            if lookups is not None and wanted not in headers:
                lookups.append((wanted, includer, None if found is None else (found.identity, found.hash)))
            if found is None:
                yield wanted, ""
            elif found.identity not in seen:
                seen.add(found.identity)
                if found.hash:
                    yield found.shown, found.hash
                waiting.append((found.shown, found.text))


def _find(wanted: str, includer: str, headers: dict[str, str], files: Files) -> _Include | None:
    if wanted in headers:
        return _Include(f"<{wanted}>", wanted, headers[wanted])
    return files.find(wanted, includer)


def _includes(text: str) -> tuple[str, ...]:
    """Return the includes of a text; most generated texts have none, which is checked first."""
    return _included_by(text) if "include" in text else ()


@functools.lru_cache(maxsize=256)
def _included_by(text: str) -> tuple[str, ...]:
    return tuple(match[1] for match in map(_INCLUDE.match, text.splitlines()) if match)


def flat(source: Source, files: Files, *, debug: bool) -> Flat:
    """Flatten ``source`` with its defines and includes for the compiler.

    Raises DMLError for a missing include (file and line).
    """
    joined = _Flattener(source, files)
    if not debug:
        return Flat(source.name, joined.text, joined.lines, debug=False)
    # Debuggers see only this text, so lines are counted in it.
    lines = [line for line in joined.text.splitlines() if not line.startswith(("#line ", _LINE_EXTENSION))]
    text = "\n".join([*lines, ""])
    return Flat(source.name, text, {posixpath.basename(source.name): lines}, debug=True)


class _Flattener:
    """Joins a source and its includes into ``text``; ``lines`` keeps each file's lines for messages.

    A file is included once, at its first ``#include`` (regardless of the conditionals around it), so library files need
    no guards.
    """

    def __init__(self, source: Source, files: Files) -> None:
        self.lines: dict[str, list[str]] = {}
        self._headers = dict(source.headers)
        self._files = files
        self._included: set[str] = set()
        body = source.text.splitlines()
        version = next((i for i, line in enumerate(body) if _VERSION.match(line)), None)
        if version is None:
            raise DMLError(f"{source.name}: the source lacks #version")
        self.lines[source.name] = body
        defines = [f"#define {name} {value}" for name, value in source.defines]
        self.lines["<defines>"] = defines
        # GLSL requires extensions right after #version.
        out = [body[version].strip(), f"{_LINE_EXTENSION} : require"]
        rest = self._included_lines(source.name, body[version + 1 :], version + 2)
        extensions: list[str] = []
        code: list[str] = []
        for line in rest:
            (extensions if line.lstrip().startswith("#extension") else code).append(line)
        if defines:
            code = ['#line 1 "<defines>"', *defines, *code]
        self.text = "\n".join([*out, *extensions, *code, ""])

    def _included_lines(self, name: str, body: Sequence[str], first: int) -> Iterator[str]:
        yield f'#line {first} "{name}"'
        for number, line in enumerate(body, first):
            match = _INCLUDE.match(line)
            if match is None:
                # An extension moved to the top leaves an empty line, which keeps line numbers right.
                if line.lstrip().startswith("#extension"):
                    yield line
                    yield ""
                else:
                    yield line
                continue
            found = _find(match[1], name, self._headers, self._files)
            if found is None:
                searched = ", ".join(["the generated headers", *map(str, self._files.directories)])
                raise DMLError(f'{name}:{number}: no such include "{match[1]}" (searched {searched})\n    {line}')
            if found.identity in self._included:
                yield ""
                continue
            self._included.add(found.identity)
            lines = found.text.splitlines()
            self.lines[found.shown] = lines
            yield from self._included_lines(found.shown, lines, 1)
            yield f'#line {number + 1} "{name}"'


_contents: dict[str, tuple[tuple[int, int], tuple[str, str]]] = {}


def _content(path: str) -> tuple[str, str] | None:
    """Return a file's text and its hash, read again only when changed; None without such a file."""
    try:
        status = os.stat(path)
        stamp = (status.st_mtime_ns, status.st_size)
        known = _contents.get(path)
        if known is None or known[0] != stamp:
            text = Path(path).read_text(encoding="utf-8")
            known = (stamp, (text, hashlib.sha256(text.encode()).hexdigest()))
            _contents[path] = known
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    return known[1]
