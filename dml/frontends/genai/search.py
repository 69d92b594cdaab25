"""Choosing tokens: the likeliest, or sampled ones. Rules and defaults are onnxruntime-genai's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dml.api.device_array import DeviceArray

from .params import SearchOptions
from .picking import Best, Edits, Ids, Picker

#: Tokens read first for sampling by top_p alone; all of them where these do not reach it.
_NUCLEUS = 256
#: Penalized tokens come in multiples of this, so that few graphs serve all lengths.
_LEAST_PENALIZED = 64


class Search(Protocol):
    """Sequences of equal lengths, and how the next tokens are chosen."""

    sequences: npt.NDArray[np.int32]
    done: bool
    next_tokens: npt.NDArray[np.int32]

    def extend(self, tokens: npt.NDArray[np.int32]) -> None:
        """Append {rows, n} given tokens."""

    def step(self, logits: DeviceArray) -> Sequence[int] | None:
        """Choose and append the next tokens; return which row each row now continues, None where all stay."""

    def result(self, index: int) -> npt.NDArray[np.int32]:
        """A sequence as a program gets it."""


class TokenSearch:
    """One token after another in each row: the likeliest, or sampled by top_k, top_p and temperature.

    A row that has ended goes on with ``pad``. With one row, the token that ends it is not appended.
    """

    def __init__(self, options: SearchOptions, picker: Picker, stops: Sequence[int], pad: int) -> None:
        self._options = options
        self._picker = picker
        self._stops = tuple(stops)
        self._pad = pad
        self._ended = np.zeros(options.batch_size, bool)
        seed = options.random_seed
        self._random = np.random.default_rng(None if seed < 0 else seed)
        self.sequences = np.zeros((options.batch_size, 0), np.int32)
        self.next_tokens = np.zeros(options.batch_size, np.int32)
        self.done = False

    def extend(self, tokens: npt.NDArray[np.int32]) -> None:
        self.sequences = np.concatenate([self.sequences, tokens], axis=1)
        self.next_tokens = tokens[:, -1].copy()
        self._ended[:] = False
        self.done = self.sequences.shape[1] >= self._options.max_length

    def step(self, logits: DeviceArray) -> None:
        edits = edits_for(self._options, self.sequences, self._stops)
        chosen = np.where(self._ended, self._pad, self._chosen(logits, edits)).astype(np.int32)
        self._ended |= np.isin(chosen, self._stops)
        self.next_tokens = chosen
        if self._ended.all():
            self.done = True
            return
        self.sequences = np.concatenate([self.sequences, chosen[:, None]], axis=1)
        self.done = self.sequences.shape[1] >= self._options.max_length

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
        """Probabilities of the best tokens: among themselves with top_k, else among all."""
        scores = best.scores.astype(np.float64)
        weights = np.exp((scores - scores[:, :1]) / self._options.temperature)
        total = weights.sum(1, keepdims=True) if self._options.top_k else best.mass.astype(np.float64)
        return np.array(weights / total)


def edits_for(options: SearchOptions, sequences: npt.NDArray[np.int32], stops: Sequence[int]) -> Edits:
    """What repetition_penalty and min_length change behind these sequences."""
    banned = tuple(stops) if sequences.shape[1] < options.min_length else ()
    if options.repetition_penalty == 1.0:
        return Edits(banned=banned)
    rows = [np.unique(row) for row in sequences]
    most = max(len(row) for row in rows)
    width = max(_LEAST_PENALIZED, 1 << (most - 1).bit_length())
    made = np.stack([np.pad(row, (0, width - len(row)), mode="edge") for row in rows]).astype(np.uint32)
    return Edits(made, options.repetition_penalty, banned)


def _crossed(shares: npt.NDArray[np.float64], threshold: float) -> int:
    """Where the running sum of shares first reaches the threshold; the last where rounding keeps it below."""
    return min(int(np.searchsorted(np.cumsum(shares), threshold)), len(shares) - 1)
