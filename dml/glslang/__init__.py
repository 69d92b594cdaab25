"""Compilation of GLSL with includes and defines to SPIR-V.

The compiler is glslang: a library in this process if there is one (``library``), else ``glslangValidator``
(``process``); both give the same result. Results are cached in memory and on disk (``dml.cache``) by the source's
identity, the target and the compiler's version; the cache is consulted before a source is flattened.

``DML_DEBUG_SHADERS=1`` compiles with ``-g``: the SPIR-V carries the flattened text, names and source lines for
RenderDoc and other debuggers. (``-gVS`` would add variables, but its SPIR-V needs an extension that Vulkan 1.1 devices
may lack.)
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dml import cache, stages
from dml.errors import DMLError
from dml.glslang import library, process
from dml.glslang.messages import explain
from dml.glslang.source import (
    DEBUG_VARIABLE,
    TARGET,
    Files,
    Flat,
    Search,
    Source,
    are_unchanged,
    flat,
    identity,
    searches,
    target_of,
    wants_debug_information,
)
from dml.recent import Recent

_SPIRV_MAGIC = (0x07230203).to_bytes(4, "little")
_MEMORY_BYTES = 64 << 20

#: "process" compiles every shader in a separate process, even if the library is there.
COMPILER_VARIABLE = "DML_GLSLANG"
#: SPIR-V shipped in a wheel (tools/wheel), laid out like the user's cache; read-only.
_SHIPPED = Path(__file__).parents[1] / "_vendor" / "spirv"


def flatten(source: Source, *, include_dirs: Sequence[Path] = ()) -> str:
    """Return the text that ``compile`` passes to the compiler: ``source`` with its defines and includes.

    Raises DMLError for a missing include (file and line).
    """
    return flat(source, Files(include_dirs), debug=wants_debug_information()).text


def compile(source: Source, *, include_dirs: Sequence[Path] = (), target: str = "") -> bytes:
    """Compile ``source`` to SPIR-V for ``target`` (a ``--target-env`` of glslang; by default its own).

    Raises DMLError without a compiler, for a missing include (file and line), or with the compiler's messages, each
    with the file, line number and line of our source.
    """
    return compile_many([source], include_dirs=include_dirs, target=target)[0]


def compile_many(sources: Sequence[Source], *, include_dirs: Sequence[Path] = (), target: str = "") -> list[bytes]:
    """Compile sources in order, on all cores; equal sources are compiled once."""
    files = Files(include_dirs)
    debug = wants_debug_information()
    keys = {source: _key(source, files, target or target_of(source), debug=debug) for source in dict.fromkeys(sources)}
    spirv = {source: _kept(key) for source, key in keys.items()}

    def make(source: Source) -> bytes:
        spirv_of_one = _compiled(flat(source, files, debug=debug), target or target_of(source))
        cache.write(_entry(cache.folder("spirv"), keys[source]), spirv_of_one)
        _memory.put(keys[source], spirv_of_one)
        stages.saw("compilations", keys[source])
        done.append(source)
        stages.progress("glslang", len(done), len(missing))
        return spirv_of_one

    done: list[Source] = []
    missing = [source for source, known in spirv.items() if known is None]
    if missing:
        stages.progress("glslang", 0, len(missing))
    if len(missing) == 1:
        spirv[missing[0]] = make(missing[0])
    elif missing:
        with ThreadPoolExecutor(min(len(missing), os.cpu_count() or 1)) as pool:
            spirv.update(zip(missing, pool.map(make, missing), strict=True))
    return [known for known in map(spirv.get, sources) if known is not None]


def has_extension(name: str) -> bool:
    """Whether the compiler knows a GLSL extension; False without a compiler."""
    try:
        return _has_extension(name, _version(), in_process=_library() is not None)
    except DMLError:
        return False


@functools.cache
def _has_extension(name: str, version: str, *, in_process: bool) -> bool:
    text = f"#version 450\n#extension {name} : require\nlayout(local_size_x = 1) in;\nvoid main() {{}}\n"
    try:
        source = Source(name, text)
        return bool(_compiled(flat(source, Files(()), debug=False), target_of(source)))
    except DMLError:
        return False


def compiler() -> str:
    """Return the name and version of the compiler that ``compile`` uses, as text. Raises DMLError for an unknown choice
    in the environment."""
    _library()
    try:
        version = _version().removeprefix("Glslang Version: ")
    except DMLError:
        return "nothing: there is no glslang"
    return f"glslang {version}, {'in process' if _library() else 'a process for each shader'}"


def _library() -> library.Library | None:
    """Return the library, None without one. Raises DMLError if DML_GLSLANG is set to anything but "process"."""
    chosen = os.environ.get(COMPILER_VARIABLE) or ""
    if chosen not in ("", "process"):
        raise DMLError(f"{COMPILER_VARIABLE}: takes 'process' or nothing, found {chosen!r}")
    return None if chosen else library.load()


def _version() -> str:
    """Return the compiler's identity."""
    loaded = _library()
    return loaded.version if loaded else process.version()


def _compiled(flattened: Flat, target: str) -> bytes:
    loaded = _library()
    spirv, messages = (loaded and loaded.compile(flattened, target)) or process.compile(flattened, target)
    if spirv is None:
        raise DMLError(explain(flattened, messages))
    return spirv


def _key(source: Source, files: Files, target: str, *, debug: bool) -> str:
    """Return the cache key of a source. The key is itself cached while the included files are unchanged."""
    own = source, target, debug, _version(), tuple(files.directories)
    known = _keys.get(own)
    if known is not None and are_unchanged(known[0], files):
        return known[1]
    if len(_keys) >= _MOST_KEYS:
        _keys.clear()
    _keys[own] = searches(source, files), (key := _made_key(source, files, target, debug=debug))
    return key


def _made_key(source: Source, files: Files, target: str, *, debug: bool) -> str:
    parts = [_version(), target, "-g" if debug else "", *identity(source, files)]
    # length-prefixed, so that different lists give different texts
    return hashlib.sha256("".join([f"{len(part)}:{part}" for part in parts]).encode()).hexdigest()


def _kept(key: str) -> bytes | None:
    """Return a key's SPIR-V from memory or disk; None if it must be compiled."""
    known = _memory.get(key)
    if known is not None:
        return known
    for folder in (cache.folder("spirv"), _SHIPPED):
        spirv = cache.read(_entry(folder, key))
        if spirv is not None and spirv.startswith(_SPIRV_MAGIC):
            _memory.put(key, spirv, len(spirv))
            return spirv
    return None


def _entry(folder: Path, key: str) -> Path:
    return folder / key[:2] / f"{key[2:]}.spv"


#: SPIR-V by the identity of its source.
_memory: Recent[str, bytes] = Recent(None, _MEMORY_BYTES, always=1)
#: Maximum cached keys, with the files that each depends on.
_MOST_KEYS = 1024
_keys: dict[Hashable, tuple[tuple[Search, ...], str]] = {}


__all__ = [
    "DEBUG_VARIABLE", "TARGET", "Source", "compile", "compile_many", "compiler", "flatten", "has_extension",
    "target_of", "wants_debug_information",
]  # fmt: skip
