"""The compiler as a program, ``glslangValidator``: one process per shader."""

from __future__ import annotations

import contextlib
import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from dml.errors import HRESULT, DMLError
from dml.glslang.source import Flat

#: A wheel built without the library includes the program; tools/setup may install one newer than the system's next to
#: the library. Both come before PATH.
_PLACES = (
    Path(__file__).parents[1] / "_vendor" / "glslangValidator",
    Path(sys.prefix, "lib", "dml", "glslang", "bin", "glslangValidator"),
)


@functools.cache
def executable() -> str:
    """Return the program's path. Raises DMLError without one."""
    found = next(filter(None, map(shutil.which, (*map(str, _PLACES), "glslangValidator"))), None)
    if found is None:
        raise DMLError(
            "glslangValidator is not on the PATH: shaders cannot be compiled; install glslang-tools "
            "(Debian, Ubuntu: apt-get install glslang-tools)",
            HRESULT.DXGI_ERROR_UNSUPPORTED,
        )
    return found


@functools.cache
def version() -> str:
    """Return the compiler's identity, queried once per process. Raises DMLError without a compiler."""
    try:
        run = subprocess.run([executable(), "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise DMLError(f"{executable()} does not run: {error}", HRESULT.DXGI_ERROR_UNSUPPORTED) from error
    return run.stdout.partition("\n")[0]


def compile(flat: Flat, target: str) -> tuple[bytes | None, str]:
    """Return the SPIR-V, None on failure, and the compiler's messages. Raises DMLError without a compiler."""
    with tempfile.TemporaryDirectory(prefix="dml-glslang-") as directory:
        shader, output = Path(directory, flat.file), Path(directory, "shader.spv")
        shader.write_text(flat.text, encoding="utf-8")
        debug = ["-g"] if flat.debug else []
        command = [executable(), "-V", *debug, "-S", "comp", "--target-env", target, "-o", str(output), flat.file]
        try:
            # Debug information contains the file name as given here, so it must not name a temporary folder.
            run = subprocess.run(command, capture_output=True, check=False, cwd=directory)
        except OSError as error:
            raise DMLError(f"{command[0]} does not run: {error}", HRESULT.DXGI_ERROR_UNSUPPORTED) from error
        messages = (run.stdout + run.stderr).decode(errors="replace")
        if run.returncode == 0:
            with contextlib.suppress(FileNotFoundError):
                return output.read_bytes(), messages
    return None, messages
