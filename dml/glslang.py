"""GLSL source with includes and defines in, SPIR-V out, by way of ``glslangValidator``.

Includes are resolved here, textually, before the compiler sees anything: the flattened text, with the target and the
compiler's version, then is the whole identity of a shader. SPIR-V is kept under that identity in memory and on disk
(``$DML_CACHE_DIR`` or the user's cache directory).
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
_SPIRV_MAGIC = (0x07230203).to_bytes(4, "little")
_ENTRY_MAGIC = b"dml-spirv-1\n"
_MEMORY_BYTES = 64 << 20
_SHOWN_ERRORS = 8


@dataclass(frozen=True)
class Source:
    """One compute shader: its text (from ``#version`` on), macros and generated include files.

    ``name`` is what errors call it. ``headers`` are (name, text) pairs that win over files of the same name.
    """

    name: str
    text: str
    defines: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()


def compile(source: Source, *, include_dirs: Sequence[Path] = (), target: str = "vulkan1.1") -> bytes:
    """The SPIR-V of ``source`` for ``target`` (a ``--target-env`` of glslang).

    DMLError: no compiler, an include that is not found (file and line), or the compiler's messages, each with the file
    and line of our source and that line itself.
    """
    flat = _Flattener(source, include_dirs)
    key = _key(flat.text, target)
    spirv = _memory.get(key)
    if spirv is None:
        entry = _cache_directory() / key[:2] / f"{key[2:]}.spv"
        spirv = _read(entry)
        if spirv is None:
            spirv = _run(flat, target)
            _write(entry, spirv)
        _memory.put(key, spirv)
    return spirv


def compile_many(
    sources: Sequence[Source], *, include_dirs: Sequence[Path] = (), target: str = "vulkan1.1"
) -> list[bytes]:
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
        # After #version come extensions, then anything else.
        out = [body[version].strip(), "#extension GL_GOOGLE_cpp_style_line_directive : require"]
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
                # An extension moves up to the top, and its line stays behind, empty, so that the numbers are kept.
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
    """The text of a file, read anew only when it has changed; None where there is no such file."""
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


def _key(text: str, target: str) -> str:
    return hashlib.sha256("\0".join((_version(), target, text)).encode()).hexdigest()


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


def _run(flat: _Flattener, target: str) -> bytes:
    with tempfile.TemporaryDirectory(prefix="dml-glslang-") as directory:
        shader, output = Path(directory, "shader.comp"), Path(directory, "shader.spv")
        shader.write_text(flat.text, encoding="utf-8")
        command = [_executable(), "-V", "--target-env", target, "-o", str(output), str(shader)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise DMLError(f"{command[0]} does not run: {error}", HRESULT.DXGI_ERROR_UNSUPPORTED) from error
        if run.returncode == 0:
            with contextlib.suppress(FileNotFoundError):
                return output.read_bytes()
    raise DMLError(_explain(flat, run.stdout + run.stderr))


def _explain(flat: _Flattener, messages: str) -> str:
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
    # What the linker says of a source that did not compile says nothing more.
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
    """Puts an entry in place in one step; a cache that cannot be written is no error."""
    temporary = None
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=entry.parent, suffix=".tmp")
        with os.fdopen(descriptor, "wb") as file:
            file.write(_ENTRY_MAGIC + hashlib.sha256(spirv).digest() + spirv)
        os.replace(temporary, entry)
    except OSError:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


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


__all__ = ["Source", "compile", "compile_many"]
