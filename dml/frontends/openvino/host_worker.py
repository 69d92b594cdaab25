"""OpenVINO's CPU plugin in a separate process, because a damaged model may crash it; ``host_process`` starts it.

A message is the length of a header, the header as JSON, and the bytes that it announces.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import threading
import time
from collections.abc import Sequence
from typing import IO, Any

import ml_dtypes  # noqa: F401  NumPy knows bfloat16 by it
import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[Any]
Message = tuple[dict[str, Any], list[bytes]]


def send(stream: IO[bytes], header: dict[str, Any], parts: Sequence[Any] = ()) -> None:
    """Write a header and parts of bytes."""
    text = json.dumps({**header, "sizes": [memoryview(part).nbytes for part in parts]}).encode()
    stream.write(struct.pack("<I", len(text)) + text)
    for part in parts:
        stream.write(part)
    stream.flush()


def receive(stream: IO[bytes]) -> Message:
    """Read what ``send`` wrote. Raises EOFError if the other process has ended."""
    (length,) = struct.unpack("<I", _read(stream, 4))
    header = json.loads(_read(stream, length))
    return header, [_read(stream, size) for size in header["sizes"]]


def _read(stream: IO[bytes], size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise EOFError
    return found


def described(arrays: Sequence[_Array]) -> tuple[list[Any], list[Any]]:
    """Return the arrays' element types and shapes, and their bytes."""
    contiguous = [np.ascontiguousarray(array) for array in arrays]
    kinds = [(array.dtype.name, array.shape) for array in arrays]
    return kinds, [array.reshape(-1).view(np.uint8).data for array in contiguous]


def arrays_of(kinds: Sequence[Any], parts: Sequence[bytes]) -> list[_Array]:
    return [
        np.frombuffer(part, np.dtype(kind)).reshape(shape) for (kind, shape), part in zip(kinds, parts, strict=True)
    ]


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Load and run models until the other process ends."""
    import openvino

    core = openvino.Core()
    models: dict[int, Any] = {}
    while True:
        try:
            header, parts = receive(requests)
        except EOFError:
            return
        try:
            if header["does"] == "load":
                model = core.read_model(*parts)
                models[header["model"]] = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
                send(replies, {})
            elif header["does"] == "run":
                request = models[header["model"]].create_infer_request()
                found = request.infer(arrays_of(header["arrays"], parts))
                kinds, data = described([np.array(found[index]) for index in range(len(found))])
                send(replies, {"arrays": kinds}, data)
            else:
                models.pop(header["model"], None)
                send(replies, {})
        except Exception as error:  # OpenVINO has its own exception classes
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            send(replies, {"error": lines[-1] if lines else type(error).__name__})


def _end_with(parent: int) -> None:
    """End this process when its parent has ended."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # so that OpenVINO's own output is not taken for a reply
    serve(sys.stdin.buffer, replies)
