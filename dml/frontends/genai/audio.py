"""Sounds from WAV files, and log-mel features for Whisper's encoder."""

from __future__ import annotations

import io
import os
import wave
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.errors import HRESULT, DMLError

from .config import Config, read_json, whole_number

Samples = npt.NDArray[np.float32]
#: Sample rate that Whisper's features assume, in Hz.
SAMPLE_RATE = 16_000
_CONFIG = "audio_processor_config.json"
#: Maximum number of samples in all frames of a recording; frames overlap.
_LARGEST = 1 << 27
_WIDTHS: Mapping[int, Any] = {1: np.uint8, 2: np.int16, 4: np.int32}
#: Smaller powers are raised to these limits: an absolute one, and one this many decades below the largest power.
_LEAST_POWER, _DECADES = 1e-10, 8.0


class Audios:
    """Sounds of 16 kHz, one channel: ``Audios.open`` and ``Audios.open_bytes``."""

    def __init__(self, sounds: Sequence[Samples]) -> None:
        self.sounds = list(sounds)

    @classmethod
    def open(cls, *paths: str | os.PathLike[str]) -> Audios:
        """Read WAV files. Raises DMLError for missing files, other formats and other sample rates."""
        sounds = []
        for path in paths:
            try:
                data = Path(path).read_bytes()
            except OSError as error:
                raise DMLError(
                    f"Audios.open: {path}: {error.strerror or error}", HRESULT.DXGI_ERROR_NOT_FOUND
                ) from None
            sounds.append(_decoded(data, f"Audios.open: {path}"))
        return cls(sounds)

    @classmethod
    def open_bytes(cls, *data: bytes) -> Audios:
        """Decode the contents of WAV files."""
        return cls(
            [_decoded(bytes(contents), f"Audios.open_bytes: number {index}") for index, contents in enumerate(data)]
        )


class LogMel:
    """Whisper's features, the logarithm of a mel spectrogram, with the parameters of audio_processor_config.json.

    Raises DMLError for a folder without that file, and for a file with other operations.
    """

    def __init__(self, config: Config) -> None:
        path = config.folder / str(config.section("model.speech").get("config_filename", _CONFIG))
        operations = _operations(read_json(path), path)
        transform, mel = (operations.get(name) for name in ("STFTNorm", "LogMelSpectrum"))
        if transform is None or mel is None:
            found = ", ".join(operations) or "nothing"
            raise DMLError(f"{path}: STFTNorm and LogMelSpectrum are needed, found {found}")
        length = whole_number(transform.get("n_fft"), 1 << 16, f"{path}: n_fft")
        hop = whole_number(transform.get("hop_length"), 1 << 16, f"{path}: hop_length")
        seconds = whole_number(mel.get("chunk_size"), 1 << 12, f"{path}: chunk_size")
        mels = whole_number(mel.get("n_mel"), 1 << 12, f"{path}: n_mel")
        self._length, self._hop, self._frames = length, hop, seconds * SAMPLE_RATE // hop
        if self._frames * length > _LARGEST:
            raise DMLError(f"{path}: {self._frames} frames of {length} samples are more than {_LARGEST}")
        turns = np.arange(self._length) / self._length
        self._window = 0.5 - 0.5 * np.cos(2 * np.pi * turns)  # periodic Hann window
        self._filters = mel_filters(mels, self._length)

    def __call__(self, audios: Audios) -> npt.NDArray[np.float32]:
        """Return features {sounds, mels, frames}; longer sounds are truncated."""
        return np.stack([self._features(sound) for sound in audios.sounds])

    def _features(self, sound: Samples) -> npt.NDArray[np.float32]:
        """Return a sound's features as onnxruntime-genai computes them: the sound is padded with zeros, whereas
        OpenAI's code pads with reflections."""
        samples = sound[: self._frames * self._hop].astype(np.float64)
        count = len(samples) // self._hop
        around = np.pad(samples, self._length // 2)
        power = np.zeros((self._frames, self._length // 2 + 1))
        if count:
            frames = np.lib.stride_tricks.sliding_window_view(around, self._length)[:: self._hop][:count]
            power[:count] = np.abs(np.fft.rfft(frames * self._window)) ** 2
        logs = np.log10(np.maximum(self._filters @ power.T, _LEAST_POWER))
        features: npt.NDArray[np.float32] = ((np.maximum(logs, logs.max() - _DECADES) + 4.0) / 4.0).astype(np.float32)
        return features


def mel_filters(count: int, length: int) -> npt.NDArray[np.float64]:
    """Return {count, length // 2 + 1} triangular filters on Slaney's mel scale, from 0 Hz to half the sample rate,
    each with area 1."""
    frequencies = np.linspace(0, SAMPLE_RATE / 2, length // 2 + 1)
    edges = _hertz(np.linspace(0, _mel(SAMPLE_RATE / 2), count + 2))
    widths = np.diff(edges)
    away = edges[:, None] - frequencies
    rising, falling = -away[:-2] / widths[:-1, None], away[2:] / widths[1:, None]
    heights = 2.0 / (edges[2:] - edges[:-2])
    return np.maximum(0, np.minimum(rising, falling)) * heights[:, None]


#: Slaney's mel scale: linear to 1 kHz, logarithmic above.
_STEP, _KNEE, _GROWTH = 200.0 / 3, 1000.0, np.log(6.4) / 27.0


def _mel(hertz: float) -> float:
    return hertz / _STEP if hertz < _KNEE else float(_KNEE / _STEP + np.log(hertz / _KNEE) / _GROWTH)


def _hertz(mels: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    knee = _KNEE / _STEP
    return np.where(mels < knee, mels * _STEP, _KNEE * np.exp(_GROWTH * (np.maximum(mels, knee) - knee)))


def _decoded(data: bytes, where: str) -> Samples:
    """Return the samples of a WAV file as floats from -1 to 1, averaged over its channels."""
    try:
        with wave.open(io.BytesIO(data)) as file:
            rate, width, channels = file.getframerate(), file.getsampwidth(), file.getnchannels()
            frames = file.readframes(file.getnframes())
    except (wave.Error, EOFError, RuntimeError) as error:  # RuntimeError: a chunk's size leads out of the file
        raise DMLError(f"{where}: not a WAV file of integer samples: {error}", HRESULT.E_NOTIMPL) from None
    if rate != SAMPLE_RATE or width not in _WIDTHS:
        raise DMLError(
            f"{where}: needs {SAMPLE_RATE} samples a second of 8, 16 or 32 bits, found {rate} of {8 * width}",
            HRESULT.E_NOTIMPL,
        )
    if len(frames) % width:
        raise DMLError(f"{where}: the file ends in the middle of a sample", HRESULT.E_INVALIDARG)
    numbers = np.frombuffer(frames, np.dtype(_WIDTHS[width]).newbyteorder("<")).astype(np.float64)
    if numbers.size % channels:
        raise DMLError(f"{where}: the file ends in the middle of a frame of {channels} channels", HRESULT.E_INVALIDARG)
    middle, largest = (128, 128) if width == 1 else (0, 2 ** (8 * width - 1))
    samples: Samples = ((numbers - middle) / largest).reshape(-1, channels).mean(1).astype(np.float32)
    return samples


def _operations(values: Mapping[str, Any], path: Path) -> dict[str, Mapping[str, Any]]:
    """Return operation type -> attributes, for each operation of a feature extraction."""
    try:
        sequence = values["feature_extraction"]["sequence"]
        return {str(item["operation"]["type"]): dict(item["operation"].get("attrs", {})) for item in sequence}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise DMLError(f"{path}: feature_extraction.sequence must be a list of operations") from None
