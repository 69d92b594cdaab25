"""The compiler as a program of its own, ``glslangValidator``: a process for each shader."""

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

#: A wheel that was built where there was no library brings the program; tools/setup may put one that is newer than the
#: system's beside the library. Those come before what PATH has.
_PLACES = (
    Path(__file__).parents[1] / "_vendor" / "glslangValidator",
    Path(sys.prefix, "lib", "dml", "glslang", "bin", "glslangValidator"),
)


@functools.cache
def executable() -> str:
    """The program. DMLError where there is none."""
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
    """What identifies the compiler; asked for once per process. DMLError where there is none."""
    try:
        run = subprocess.run([executable(), "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise DMLError(f"{executable()} does not run: {error}", HRESULT.DXGI_ERROR_UNSUPPORTED) from error
    return run.stdout.partition("\n")[0]


def compile(flat: Flat, target: str) -> tuple[bytes | None, str]:
    """The SPIR-V, or None where there is none, and the compiler's messages. DMLError: there is no compiler."""
    with tempfile.TemporaryDirectory(prefix="dml-glslang-") as directory:
        shader, output = Path(directory, flat.file), Path(directory, "shader.spv")
        shader.write_text(flat.text, encoding="utf-8")
        debug = ["-g"] if flat.debug else []
        command = [executable(), "-V", *debug, "-S", "comp", "--target-env", target, "-o", str(output), flat.file]
        try:
            # Debug information names the file as it is named here: not by a folder that is soon gone.
            run = subprocess.run(command, capture_output=True, check=False, cwd=directory)
        except OSError as error:
            raise DMLError(f"{command[0]} does not run: {error}", HRESULT.DXGI_ERROR_UNSUPPORTED) from error
        messages = (run.stdout + run.stderr).decode(errors="replace")
        if run.returncode == 0:
            with contextlib.suppress(FileNotFoundError):
                return output.read_bytes(), messages
    return None, messages
