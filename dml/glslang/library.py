"""The compiler in this process: a library that tools/glslang/build makes from the system's glslang.

It is part of a wheel, or in the virtual environment, where tools/setup puts it.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Sequence
from pathlib import Path

from dml.glslang.source import Flat

_PLACES = (Path(__file__).parents[1] / "_vendor" / "glslang.so", Path(sys.prefix, "lib", "dml", "glslang.so"))


class Library:
    """A loaded library. Thread-safe: calls release the GIL."""

    def __init__(self, path: Path) -> None:
        """Load the library. Raises OSError or AttributeError if it does not load or is not ours."""
        library = ctypes.CDLL(str(path))
        library.dml_glslang_start.restype = ctypes.c_char_p
        self._compile = library.dml_glslang_compile
        self._compile.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_int] + [ctypes.c_void_p] * 3
        self._free = library.dml_glslang_free
        self._free.argtypes = [ctypes.c_void_p]
        self._free.restype = None
        self.version: str = (library.dml_glslang_start() or b"").decode()

    def compile(self, flat: Flat, target: str) -> tuple[bytes | None, str] | None:
        """Return the SPIR-V, None on failure, and the compiler's messages; None if the library cannot tell."""
        words, count, messages = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_void_p()
        results = [ctypes.byref(result) for result in (words, count, messages)]
        texts = [text.encode() for text in (flat.text, flat.file, target)]
        try:
            if self._compile(*texts, flat.debug, *results) != 0:
                return None
            output = ctypes.cast(messages, ctypes.c_char_p).value or b""
            spirv = ctypes.string_at(words, 4 * count.value)
            return spirv or None, output.decode(errors="replace")
        finally:
            self._free(words)
            self._free(messages)


@functools.cache
def load(places: Sequence[Path] = _PLACES) -> Library | None:
    """Return the first library that loads; None without one."""
    for path in places:
        try:
            library = Library(path)
        except (OSError, AttributeError):
            continue
        if library.version:
            return library
    return None
