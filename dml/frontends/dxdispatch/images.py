"""Images as tensors {1, C, H, W}: RGB or RGBA, elements from 0 to 1."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np

from dml.api.arrays import Array
from dml.errors import DMLError
from dml.frontends.extras import missing

SUFFIXES = (".png", ".jpg", ".jpeg")
_MODES = {1: "L", 3: "RGB", 4: "RGBA"}


def _pillow() -> Any:
    try:
        import PIL.Image
    except ModuleNotFoundError as error:
        raise missing("pictures need", "images", error) from error
    return PIL.Image


def check(sizes: Sequence[int], dtype: np.dtype[Any]) -> None:
    """Raise DMLError for a tensor that is not an image."""
    if len(sizes) != 4 or sizes[0] != 1 or sizes[1] not in _MODES or not sizes[2] * sizes[3]:
        raise DMLError(f"an image has the sizes [1, channels (1, 3 or 4), height, width], found {list(sizes)}")
    if dtype.kind != "f" or dtype.itemsize > 4:
        raise DMLError(f"the elements of an image are FLOAT32 or FLOAT16, found {dtype}")


def read(data: bytes, sizes: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Decode an image, scaled (bicubic) to ``sizes``; if these are empty, in its own size as RGB.

    Raises DMLError for bytes that are not an image, for integer elements, and for sizes that are not an image's.
    """
    check(sizes or (1, 3, 1, 1), dtype)
    pillow = _pillow()
    try:
        picture = pillow.open(io.BytesIO(data)).convert(_MODES[sizes[1] if sizes else 3])
        if sizes and picture.size != (sizes[3], sizes[2]):
            picture = picture.resize((sizes[3], sizes[2]), pillow.Resampling.BICUBIC)
    except Exception as error:  # a damaged image may raise any exception
        raise DMLError(f"the image cannot be decoded: {error}") from None
    pixels = np.asarray(picture, np.float32) / np.float32(255)
    return np.ascontiguousarray(np.atleast_3d(pixels).transpose(2, 0, 1)[None]).astype(dtype)


def encode(array: Array, suffix: str) -> bytes:
    """Encode {1, C, H, W}, with elements limited to 0 and 1, in the format of a path's suffix."""
    pixels = np.nan_to_num(np.clip(array[0].astype(np.float32), 0, 1)) * np.float32(255)
    picture = pixels.astype(np.uint8).transpose(1, 2, 0)
    if suffix.lower() != ".png":
        picture = picture[:, :, :3]  # JPEG has no transparency
    data = io.BytesIO()
    kind = "PNG" if suffix.lower() == ".png" else "JPEG"
    _pillow().fromarray(picture[:, :, 0] if picture.shape[2] == 1 else picture).save(data, kind)
    return data.getvalue()
