"""Reads untrusted .npy files, with precise errors, and writes complete ones."""

from __future__ import annotations

import zipfile
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy_format

from dml.errors import DMLError
from dml.files import reading, whole_file

#: Version of the format -> reader of its header. Version 3.0 is for named fields, which numbers lack.
_READERS = {(1, 0): npy_format.read_array_header_1_0, (2, 0): npy_format.read_array_header_2_0}


def read_npy(path: Path) -> npt.NDArray[Any]:
    """Return the array in a file, in the machine's byte order.

    Raises DMLError, which says what the file is instead or what it lacks, before memory for the claimed size is
    allocated.
    """
    with reading(path), path.open("rb") as file:
        start = file.read(len(npy_format.MAGIC_PREFIX))
        if start != npy_format.MAGIC_PREFIX:
            raise DMLError(f"{path}: is not an .npy file: {_instead(path, start)}")
        file.seek(0)
        try:
            version = npy_format.read_magic(file)
            reader = _READERS.get(version)
            if reader is None:
                raise DMLError(f"{path}: is an .npy file of version {version[0]}.{version[1]}, which is not read")
            shape, fortran, dtype = reader(file)
        except DMLError:
            raise
        except Exception as error:  # NumPy evaluates the header as Python, which may raise anything
            raise DMLError(f"{path}: has a damaged .npy header: {error}") from None
        if dtype.hasobject:
            raise DMLError(f"{path}: holds Python objects (dtype {dtype}), which are not read; save numbers")
        if any(size < 0 for size in shape):
            raise DMLError(f"{path}: has a damaged .npy header: a shape of {shape}")
        found = path.stat().st_size - file.tell()
        needed = prod(shape) * dtype.itemsize
        if found < needed:
            raise DMLError(
                f"{path}: is cut off: its header says {dtype} of shape {shape}, {needed} bytes, and it has {found}"
            )
        data = file.read(needed)
    array = np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")
    return np.array(array, dtype.newbyteorder("="), order="C")


def write_npy(path: Path, array: npt.NDArray[Any]) -> None:
    """Write an array of numbers or fixed text completely, or not at all. Raises DMLError if that fails."""
    if array.dtype.hasobject:
        raise DMLError(f"{path}: cannot be written: its elements are Python objects (dtype {array.dtype})")
    array = np.asarray(array, order="C")
    with whole_file(path) as file:
        npy_format.write_array_header_1_0(file, npy_format.header_data_from_array_1_0(array))
        # np.save's tofile does not report why it failed
        file.write(array.reshape(-1).view(np.uint8).data)


def _instead(path: Path, start: bytes) -> str:
    """Describe a file that does not begin as an .npy file does."""
    if not start:
        return "it is empty"
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist()]
        some = f"{', '.join(names[:5])}{', ...' if len(names) > 5 else ''}"
        return f"an .npz archive of {len(names)} ({some}); save one array with numpy.save"
    if start[:1] == b"\x80":
        return "pickled Python objects; save an array with numpy.save"
    return f"it begins with {start!r}"
