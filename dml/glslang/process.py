"""The compiler as a program of its own, ``glslangValidator``: a process for each shader."""

from __future__ import annotations

import contextlib
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path

from dml.errors import HRESULT, DMLError
from dml.glslang.source import Flat

#: A wheel that was built where there was no library brings the program; a checkout has no such folder.
_VENDORED = Path(__file__).parents[1] / "_vendor" / "glslangValidator"


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
def version() -> str:
    """What identifies the compiler; asked for once per process. DMLError where there is none."""
    try:
        run = subprocess.run([_executable(), "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise DMLError(f"{_executable()} does not run: {error}", HRESULT.DXGI_ERROR_UNSUPPORTED) from error
    return run.stdout.partition("\n")[0]


def compile(flat: Flat, target: str) -> tuple[bytes | None, str]:
    """The SPIR-V, or None where there is none, and the compiler's messages. DMLError: there is no compiler."""
    with tempfile.TemporaryDirectory(prefix="dml-glslang-") as directory:
        shader, output = Path(directory, flat.file), Path(directory, "shader.spv")
        shader.write_text(flat.text, encoding="utf-8")
        debug = ["-g"] if flat.debug else []
        command = [_executable(), "-V", *debug, "-S", "comp", "--target-env", target, "-o", str(output), flat.file]
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
