"""GLSL source with includes and defines in, SPIR-V out, by way of ``glslangValidator``.

Includes are pasted in here, before the compiler sees anything, so that the flattened text, the target and the
compiler's version identify a shader completely. Its SPIR-V is kept under that identity in memory and on disk
(``$DML_CACHE_DIR`` or the user's cache directory).

``DML_DEBUG_SHADERS=1`` compiles with ``-g``: the SPIR-V carries the flattened text, the names of what it declares and
the lines that instructions come from, for RenderDoc and other debuggers. (``-gVS`` would add variables, but its SPIR-V
needs an extension that Vulkan 1.1 devices need not have.)
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import posixpath
import re
import shutil
import subprocess
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from dml.errors import HRESULT, DMLError

_INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
_VERSION = re.compile(r"^\s*#\s*version\b")
_DIAGNOSTIC = re.compile(r"^(?:ERROR|WARNING): (.+?):(\d+): (.*)$")
_LINE_EXTENSION = "#extension GL_GOOGLE_cpp_style_line_directive"
_SPIRV_MAGIC = (0x07230203).to_bytes(4, "little")
_ENTRY_MAGIC = b"dml-spirv-1\n"
_MEMORY_BYTES = 64 << 20
_SHOWN_ERRORS = 8

#: What compiled shaders run on.
TARGET = "vulkan1.1"
#: Set to anything but 0, it makes shaders carry what debuggers show.
DEBUG_VARIABLE = "DML_DEBUG_SHADERS"


@dataclass(frozen=True)
class Source:
    """One compute shader: its text (from ``#version`` on), macros and generated include files.

    ``name`` is what errors call it. ``headers`` are (name, text) pairs that win over files of the same name.
    """

    name: str
    text: str
    defines: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()


def flatten(source: Source, *, include_dirs: Sequence[Path] = ()) -> str:
    """The one text that ``compile`` hands to the compiler: ``source`` with its defines and everything it includes.

    DMLError: an include that is not found (file and line).
    """
    return _flat(source, include_dirs).text


def compile(source: Source, *, include_dirs: Sequence[Path] = (), target: str = TARGET) -> bytes:
    """The SPIR-V of ``source`` for ``target`` (a ``--target-env`` of glslang).

    DMLError: no compiler, an include that is not found (file and line), or the compiler's messages, each with the file
    and line of our source and that line itself.
    """
    flat = _flat(source, include_dirs)
    key = _key(flat, target)
    spirv = _memory.get(key)
    if spirv is None:
        entry = _cache_directory() / key[:2] / f"{key[2:]}.spv"
        spirv = _read(entry)
        if spirv is None:
            spirv = _run(flat, target)
            _write(entry, spirv)
        _memory.put(key, spirv)
    return spirv


def compile_many(sources: Sequence[Source], *, include_dirs: Sequence[Path] = (), target: str = TARGET) -> list[bytes]:
    """What ``compile`` makes of each source, in order, on all cores; equal sources are compiled once."""
    distinct = list(dict.fromkeys(sources))
    one = functools.partial(compile, include_dirs=include_dirs, target=target)
    if len(distinct) < 2:
        compiled = [one(source) for source in distinct]
    else:
        with ThreadPoolExecutor(min(len(distinct), os.cpu_count() or 1)) as pool:
            compiled = list(pool.map(one, distinct))
    by_source = dict(zip(distinct, compiled, strict=True))
    return [by_source[source] for source in sources]


@dataclass(frozen=True)
class _Flat:
    """A text without includes. ``lines``: those of each file that messages and debuggers name."""

    name: str
    text: str
    lines: dict[str, list[str]]
    debug: bool

    @property
    def file(self) -> str:
        """What the compiler gets it as."""
        return posixpath.basename(self.name) if self.debug else "shader.comp"


def wants_debug_information() -> bool:
    """Whether shaders are to carry what debuggers show: DML_DEBUG_SHADERS is set, and not 0."""
    return os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0")


def _flat(source: Source, include_dirs: Sequence[Path]) -> _Flat:
    joined = _Flattener(source, include_dirs)
    if not wants_debug_information():
        return _Flat(source.name, joined.text, joined.lines, debug=False)
    # Debuggers have this text and none of the files it was put together from, so lines are counted in it.
    lines = [line for line in joined.text.splitlines() if not line.startswith(("#line ", _LINE_EXTENSION))]
    text = "\n".join([*lines, ""])
    return _Flat(source.name, text, {posixpath.basename(source.name): lines}, debug=True)


class _Flattener:
    """Joins a source and everything it includes into ``text``; ``lines`` keeps each file's lines for messages.

    A file is included once, at its first ``#include`` (whatever conditionals stand around it), so that library files
    need no guards.
    """

    def __init__(self, source: Source, include_dirs: Sequence[Path]) -> None:
        self.name = source.name
        self.lines: dict[str, list[str]] = {}
        self._headers = dict(source.headers)
        self._include_dirs = include_dirs
        self._included: set[str] = set()
        body = source.text.splitlines()
        version = next((i for i, line in enumerate(body) if _VERSION.match(line)), None)
        if version is None:
            raise DMLError(f"{source.name}: the source does not say #version")
        self.lines[source.name] = body
        defines = [f"#define {name} {value}" for name, value in source.defines]
        self.lines["<defines>"] = defines
        # GLSL wants extensions right after #version.
        out = [body[version].strip(), f"{_LINE_EXTENSION} : require"]
        rest = self._included_lines(source.name, body[version + 1 :], version + 2, (source.name,))
        extensions: list[str] = []
        code: list[str] = []
        for line in rest:
            (extensions if line.lstrip().startswith("#extension") else code).append(line)
        if defines:
            code = ['#line 1 "<defines>"', *defines, *code]
        self.text = "\n".join([*out, *extensions, *code, ""])

    def _included_lines(self, name: str, body: Sequence[str], first: int, stack: tuple[str, ...]) -> Iterator[str]:
        yield f'#line {first} "{name}"'
        for number, line in enumerate(body, first):
            match = _INCLUDE.match(line)
            if match is None:
                # Where an extension is moved to the top, an empty line stays behind, so that line numbers stay right.
                if line.lstrip().startswith("#extension"):
                    yield line
                    yield ""
                else:
                    yield line
                continue
            found = self._find(match[1], name)
            if found is None:
                searched = ", ".join(["the generated headers", *map(str, self._include_dirs)])
                raise DMLError(f'{name}:{number}: no such include "{match[1]}" (searched {searched})\n    {line}')
            identity, shown, text = found
            if identity in self._included:
                yield ""
                continue
            self._included.add(identity)
            lines = text.splitlines()
            self.lines[shown] = lines
            yield from self._included_lines(shown, lines, 1, (*stack, shown))
            yield f'#line {number + 1} "{name}"'

    def _find(self, wanted: str, includer: str) -> tuple[str, str, str] | None:
        """(identity, name in messages, text) of an include: generated headers first, then beside the includer."""
        if wanted in self._headers:
            return f"<{wanted}>", wanted, self._headers[wanted]
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(includer), wanted))
        for directory in self._include_dirs:
            prefix = f"{directory.name}/"
            for candidate in (beside.removeprefix(prefix) if beside.startswith(prefix) else wanted, wanted):
                path = directory / candidate
                text = _file_text(path)
                if text is not None:
                    return str(path), prefix + candidate, text
        return None


_files: dict[Path, tuple[tuple[int, int], str]] = {}


def _file_text(path: Path) -> str | None:
    """The text of a file, read again only when it has changed; None where there is no such file."""
    try:
        status = path.stat()
        stamp = (status.st_mtime_ns, status.st_size)
        known = _files.get(path)
        if known is None or known[0] != stamp:
            known = (stamp, path.read_text(encoding="utf-8"))
            _files[path] = known
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    return known[1]


def _key(flat: _Flat, target: str) -> str:
    parts = [_version(), target, flat.text]
    if flat.debug:
        parts += ["-g", flat.file]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


#: A wheel that tools/wheel built brings the compiler; a checkout has no such folder.
_VENDORED = Path(__file__).parent / "_vendor" / "glslangValidator"


@functools.cache
def _executable() -> str:
    found = shutil.which(str(_VENDORED)) or shutil.which("glslangValidator")
    if found is None:
        raise DMLError(
            "glslangValidator is not on the PATH: shaders cannot be compiled; install glslang-tools "
            "(Debian, Ubuntu: apt-get install glslang-tools)",
            HRESULT.DXGI_ERROR_UNSUPPORTED,
        )
    return found


@functools.cache
def _version() -> str:
    """What identifies the compiler; asked for once per process."""
    try:
        run = subprocess.run([_executable(), "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise DMLError(f"{_executable()} does not run: {error}", HRESULT.DXGI_ERROR_UNSUPPORTED) from error
    return run.stdout.partition("\n")[0]


def _run(flat: _Flat, target: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="dml-glslang-") as directory:
        shader, output = Path(directory, flat.file), Path(directory, "shader.spv")
        shader.write_text(flat.text, encoding="utf-8")
        debug = ["-g"] if flat.debug else []
        command = [_executable(), "-V", *debug, "-S", "comp", "--target-env", target, "-o", str(output), flat.file]
        try:
            # Debug information names the file as it is named here: not by a folder that is soon gone.
            run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=directory)
        except OSError as error:
            raise DMLError(f"{command[0]} does not run: {error}", HRESULT.DXGI_ERROR_UNSUPPORTED) from error
        if run.returncode == 0:
            with contextlib.suppress(FileNotFoundError):
                return output.read_bytes()
    raise DMLError(_explain(flat, run.stdout + run.stderr))


def _explain(flat: _Flat, messages: str) -> str:
    """The compiler's messages with the line of source each is about."""
    located: list[str] = []
    other: list[str] = []
    for message in filter(None, map(str.strip, messages.splitlines())):
        match = _DIAGNOSTIC.match(message)
        if match is None:
            if message.startswith("ERROR"):
                other.append(message)
            continue
        file, line, what = match[1], int(match[2]), match[3]
        if not what.strip(" '") or "compilation terminated" in what:
            continue
        lines = flat.lines.get(file, [])
        text = f"\n    {lines[line - 1].strip()}" if 0 < line <= len(lines) else ""
        located.append(f"{file}:{line}: {what}{text}")
    # Where compiling has failed, the linker's messages (those without a line) add nothing.
    shown = located or other or [messages.strip() or "the compiler gave no reason"]
    left = f"\n... and {len(shown) - _SHOWN_ERRORS} more" if len(shown) > _SHOWN_ERRORS else ""
    return "\n".join([f"compiling {flat.name} failed:", *shown[:_SHOWN_ERRORS]]) + left


def _cache_directory() -> Path:
    root = os.environ.get("DML_CACHE_DIR") or platformdirs.user_cache_dir("dml")
    return Path(root, "spirv")


def _read(entry: Path) -> bytes | None:
    """The SPIR-V of a cache entry; None where there is none or it is damaged."""
    try:
        data = entry.read_bytes()
    except OSError:
        return None
    head = len(_ENTRY_MAGIC) + hashlib.sha256().digest_size
    spirv = data[head:]
    intact = data[:head] == _ENTRY_MAGIC + hashlib.sha256(spirv).digest() and spirv.startswith(_SPIRV_MAGIC)
    return spirv if intact else None


def _write(entry: Path, spirv: bytes) -> None:
    """Writes an entry; a cache that cannot be written is no error."""
    with contextlib.suppress(OSError):
        write_whole(entry, _ENTRY_MAGIC + hashlib.sha256(spirv).digest() + spirv)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file, and the folders it needs, in one step: who reads it meanwhile sees all of it or what was before.

    Raises OSError where it cannot be written; then nothing is left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


class _Memory:
    """The most recently used SPIR-V modules, up to a number of bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._entries: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            return self._entries.get(key)

    def put(self, key: str, spirv: bytes) -> None:
        with self._lock:
            self._size += len(spirv) - len(self._entries.get(key, b""))
            self._entries[key] = spirv
            self._entries.move_to_end(key)
            while self._size > self._limit and len(self._entries) > 1:
                self._size -= len(self._entries.popitem(last=False)[1])

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
            self._size = 0


_memory = _Memory(_MEMORY_BYTES)


__all__ = [
    "DEBUG_VARIABLE",
    "TARGET",
    "Source",
    "compile",
    "compile_many",
    "flatten",
    "wants_debug_information",
    "write_whole",
]
