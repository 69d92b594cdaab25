"""Choice of tokens: the most likely one, or sampling. Rules and defaults are onnxruntime-genai's."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.api.device_array import DeviceArray

from .params import SearchOptions
from .picking import LOWEST, Best, Blocked, Edits, Ids, Picker

#: Number of tokens read first when only top_p limits sampling; if their probabilities do not reach it, all are read.
_NUCLEUS = 256
#: Minimum width of the arrays of tokens whose scores are changed.
_LEAST_EDITED = 64


class Search(ABC):
    """Sequences of equal lengths, one in each of ``rows`` rows, and the choice of their next tokens.

    pad: the token that fills rows that have ended.
    """

    def __init__(self, options: SearchOptions, picker: Picker, stops: Sequence[int], pad: int, rows: int) -> None:
        self._options = options
        self._picker = picker
        self._stops = tuple(stops)
        self._pad = pad
        self.sequences = np.zeros((rows, 0), np.int32)
        self.next_tokens = np.zeros(rows, np.int32)
        self.done = False

    def extend(self, tokens: npt.NDArray[np.int32]) -> None:
        """Append given tokens {rows, n}."""
        self.sequences = np.concatenate([self.sequences, tokens], axis=1)
        self.next_tokens = tokens[:, -1].copy()
        self.done = self._is_full()

    def _is_full(self) -> bool:
        return self.sequences.shape[1] >= self._options.max_length

    @abstractmethod
    def step(self, logits: DeviceArray) -> Sequence[int] | None:
        """Choose and append the next tokens. Return, for each row, the index of the row whose sequence it now
        continues; None if each row continues its own."""

    @abstractmethod
    def result(self, index: int) -> npt.NDArray[np.int32]:
        """Return a finished or current sequence."""


class TokenSearch(Search):
    """Chooses one token at a time in each row: the most likely, or sampled by top_k, top_p and temperature.

    With a single row, the end token is not appended.
    """

    def __init__(self, options: SearchOptions, picker: Picker, stops: Sequence[int], pad: int) -> None:
        super().__init__(options, picker, stops, pad, options.batch_size)
        self._ended = np.zeros(options.batch_size, bool)
        seed = options.random_seed
        self._random = np.random.default_rng(None if seed < 0 else seed)

    def extend(self, tokens: npt.NDArray[np.int32]) -> None:
        super().extend(tokens)
        self._ended[:] = False

    def step(self, logits: DeviceArray) -> None:
        edits = edits_for(self._options, self.sequences, self._stops)
        chosen = np.where(self._ended, self._pad, self._chosen(logits, edits)).astype(np.int32)
        self._ended |= np.isin(chosen, self._stops)
        self.next_tokens = chosen
        if self._ended.all():
            self.done = True
            return
        self.sequences = np.concatenate([self.sequences, chosen[:, None]], axis=1)
        self.done = self._is_full()

    def result(self, index: int) -> npt.NDArray[np.int32]:
        return np.array(self.sequences[index])

    def _chosen(self, logits: DeviceArray, edits: Edits) -> Ids:
        options = self._options
        if not options.do_sample or options.top_k == 1 or options.temperature == 0:
            return self._picker.likeliest(logits, edits)
        threshold = options.top_p if 0 < options.top_p < 1 else 1.0
        count = options.top_k or _NUCLEUS
        best = self._picker.best(logits, count, edits, options.temperature)
        shares = self._shares(best)
        if not options.top_k and np.any(shares.sum(1) < threshold):
            best = self._picker.best(logits, logits.shape[-1], edits, options.temperature)
            shares = self._shares(best)
        return np.array([
            tokens[_crossed(row, self._random.random() * threshold)]
            for tokens, row in zip(best.tokens, shares, strict=True)
        ])  # fmt: skip

    def _shares(self, best: Best) -> npt.NDArray[np.float64]:
        """Return the probabilities of the best tokens: among themselves with top_k, else among all tokens."""
        scores = best.scores.astype(np.float64)
        weights = np.exp((scores - scores[:, :1]) / self._options.temperature)
        total = weights.sum(1, keepdims=True) if self._options.top_k else best.mass.astype(np.float64)
        return np.array(weights / total)


def edits_for(options: SearchOptions, sequences: npt.NDArray[np.int32], stops: Sequence[int]) -> Edits:
    """Return the score changes of repetition_penalty, no_repeat_ngram_size and min_length for these sequences."""
    banned = tuple(stops) if sequences.shape[1] < options.min_length else ()
    edits = Edits(banned=banned, blocked=_repeating(sequences, options.no_repeat_ngram_size))
    if options.repetition_penalty == 1.0:
        return edits
    rows = [np.unique(row) for row in sequences]
    penalized = np.stack([np.pad(row, (0, _width(rows) - len(row)), mode="edge") for row in rows]).astype(np.uint32)
    return dataclasses.replace(edits, penalized=penalized, penalty=options.repetition_penalty)


def _repeating(sequences: npt.NDArray[np.int32], size: int) -> Blocked | None:
    """Return the tokens of each row that would repeat a sequence of ``size`` tokens."""
    length = sequences.shape[1]
    if not size or length < size:
        return None
    runs = np.lib.stride_tricks.sliding_window_view(sequences, size, axis=1)
    repeats = (runs[..., :-1] == sequences[:, None, length - size + 1 :]).all(-1)
    rows = [np.unique(row[same, -1]) for row, same in zip(runs, repeats, strict=True)]
    if not any(map(len, rows)):
        return None
    tokens = np.zeros((len(rows), _width(rows)), np.uint32)
    scores = np.zeros(tokens.shape, np.float32)
    for index, row in enumerate(rows):
        if len(row):
            tokens[index] = np.pad(row, (0, tokens.shape[1] - len(row)), mode="edge")
            scores[index] = LOWEST
    return Blocked(tokens, scores)


def _width(rows: Sequence[npt.NDArray[Any]]) -> int:
    """Return the padded width for rows of tokens; few widths mean few graphs."""
    most = max(len(row) for row in rows)
    return max(_LEAST_EDITED, 1 << (most - 1).bit_length())


def _crossed(shares: npt.NDArray[np.float64], threshold: float) -> int:
    """Return the index where the cumulative sum reaches the threshold; the last one if rounding keeps the sum below
    it."""
    return min(int(np.searchsorted(np.cumsum(shares), threshold)), len(shares) - 1)
