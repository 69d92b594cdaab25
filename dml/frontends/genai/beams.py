"""Beam search: several continuations of each sequence, of which the best are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dml.api.device_array import DeviceArray

from .params import SearchOptions
from .picking import Ids, Picker
from .search import Search, edits_for

#: Initial score of all beams except the first. At the start all beams hold the same tokens, so only the first may be
#: continued.
_EQUAL = -1e9


class EndedSequence(NamedTuple):
    """A sequence that has ended, without its end token. score: normalized by its length."""

    score: float
    tokens: npt.NDArray[np.int32]


class BeamSearch(Search):
    """``num_beams`` rows for each sequence of the batch, chosen by the sum of their tokens' log probabilities.

    The score of an ended sequence is this sum divided by its length to the power of length_penalty.
    """

    def __init__(self, options: SearchOptions, picker: Picker, stops: Sequence[int], pad: int) -> None:
        super().__init__(options, picker, stops, pad, options.batch_size * options.num_beams)
        self._beams = options.num_beams
        self._scores = np.full((options.batch_size, self._beams), _EQUAL, np.float64)
        self._scores[:, 0] = 0.0
        self._ended: list[list[EndedSequence]] = [[] for _ in range(options.batch_size)]
        self._closed = np.zeros(options.batch_size, bool)

    def step(self, logits: DeviceArray) -> Sequence[int]:
        beams = self._beams
        edits = edits_for(self._options, self.sequences, self._stops)
        # Each row has ``beams`` tokens among these that do not end it.
        best = self._picker.best(logits, beams + max(beams, len(self._stops)), edits)
        totals = (best.scores - best.scores[:, :1] - np.log(best.mass)).astype(np.float64)
        totals += self._scores.reshape(-1, 1)
        rows, chosen = [], []
        for batch in range(self._options.batch_size):
            found = self._step(batch, totals, best.tokens)
            rows += [row for row, _ in found]
            chosen += [token for _, token in found]
        self.next_tokens = np.array(chosen, np.int32)
        self.sequences = np.concatenate([self.sequences[rows], self.next_tokens[:, None]], axis=1)
        self.done = bool(self._closed.all()) or self._is_full()
        return rows

    def _step(self, batch: int, totals: npt.NDArray[np.float64], tokens: Ids) -> list[tuple[int, int]]:
        """Return, for the next beams of one sequence, the row that each continues and the token that it appends."""
        beams, first = self._beams, batch * self._beams
        if self._closed[batch]:
            return [(first + beam, self._pad) for beam in range(beams)]
        own = totals[first : first + beams]
        order = np.argsort(-own, axis=None, kind="stable")
        kept: list[tuple[int, int]] = []
        for rank, place in enumerate(order):
            beam, column = divmod(int(place), own.shape[1])
            token, score = int(tokens[first + beam, column]), float(own[beam, column])
            if token in self._stops:
                if rank < beams:
                    self._add(self._ended[batch], self.sequences[first + beam], score)
                continue
            self._scores[batch, len(kept)] = score
            kept.append((first + beam, token))
            if len(kept) == beams:
                break
        self._close(batch, float(own.flat[order[0]]))
        return kept

    def _add(self, ended: list[EndedSequence], tokens: npt.NDArray[np.int32], score: float) -> None:
        ended.append(EndedSequence(self._normalized(score, max(len(tokens), 1)), tokens.copy()))
        ended.sort(key=lambda beam: -beam.score)
        del ended[self._beams :]

    def _normalized(self, score: float, length: int) -> float:
        with np.errstate(all="ignore"):
            return float(score / np.float64(length) ** self._options.length_penalty)

    def _close(self, batch: int, best: float) -> None:
        """Close a sequence when num_beams candidates have ended, unless a better one is still possible."""
        ended = self._ended[batch]
        if len(ended) < self._beams:
            return
        if not self._options.early_stopping and ended[-1].score < self._normalized(best, self.sequences.shape[1]):
            return
        self._closed[batch] = True

    def result(self, index: int) -> npt.NDArray[np.int32]:
        """Return sequence ``index`` of batch * num_return_sequences, the best first; running beams count as ended."""
        batch, rank = divmod(index, self._options.num_return_sequences)
        ended = self._ended[batch].copy()
        if not self._closed[batch]:
            first = batch * self._beams
            for row, score in zip(self.sequences[first : first + self._beams], self._scores[batch], strict=True):
                self._add(ended, row, float(score))
        return ended[rank].tokens.copy()
