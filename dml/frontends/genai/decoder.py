"""A decoder model and its caches of keys and values on the device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import dml.graph.operations as op
from dml.api.device_array import DeviceArray, stored_dtype
from dml.errors import HRESULT, DMLError
from dml.frontends.onnx.dtypes import dtype_of
from dml.frontends.onnx.run.backend import PreparedModel
from dml.graph.builder import Builder, Tensor
from dml.recent import Recent
from dml.tensors import data_type_of

from .caches import CacheMemory
from .config import Config

#: Operators that write a cache in place if past and present are one array.
_WRITES_IN_PLACE = "GroupQueryAttention"
#: Limit on the bytes of one run's logits; a longer prompt is split.
_LOGITS_BYTES = 64 * 2**20
#: Lower and upper bound of the prompt tokens per run.
_CHUNK = (16, 512)
#: Initial number of positions in a shared cache, which doubles when it is full. (A cache is shared if its past and
#: present are one buffer.)
_FIRST_ROOM = 256
#: Maximum number of compiled graphs that transform caches (see ``_laid_out``).
_MOST_LAYOUTS = 16
#: Inputs, by their names in genai_config.json, whose values follow from the lengths.
_LENGTHS = ("attention_mask", "position_ids", "past_sequence_length", "total_sequence_length")
_BATCH, _POSITIONS = 0, 2  # dimensions of a cache
_UNABLE = HRESULT.E_NOTIMPL


@dataclass(frozen=True)
class CacheEntry:
    """An input for past keys or values, and its output. shape: {heads, size of a head}."""

    past: str
    present: str
    shape: tuple[int, int]
    dtype: np.dtype[Any]

    def sizes(self, rows: int, positions: int) -> tuple[int, ...]:
        return rows, self.shape[0], positions, self.shape[1]


@dataclass(frozen=True)
class PaddedPrompt:
    """A prompt with padding at the end of its rows, which attention must not see.

    ends: number of tokens in each row, without padding. length: number of positions, with padding.
    """

    ends: npt.NDArray[np.int64]
    length: int

    def first(self, length: int) -> PaddedPrompt:
        """Return the prompt without the positions starting at ``length``."""
        return PaddedPrompt(np.minimum(self.ends, length), length)

    def is_token(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return for each row which positions are not padding."""
        return (positions < self.ends[:, None]) | (positions >= self.length)

    def without_padding(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return, for each row, the numbers of these positions in a sequence without the padding."""
        return np.where(positions < self.length, positions, positions - self.length + self.ends[:, None])


class Decoder:
    """The inputs and outputs of a decoder by role. Raises DMLError for a decoder without token ids or logits."""

    def __init__(self, prepared: PreparedModel, config: Config) -> None:
        self.prepared = prepared
        self.vocabulary = config.number("model.vocab_size")
        self._context_length = config.number("model.context_length")
        given = config.section("model.decoder.inputs")
        outputs = config.section("model.decoder.outputs")
        self.ids = str(given.get("input_ids", "input_ids"))
        self.logits = str(outputs.get("logits", "logits"))
        for side, name, known in (
            ("input", self.ids, prepared.inputs),
            ("output", self.logits, prepared.outputs),
        ):
            if name not in known:
                raise DMLError(f"{config.file('model.decoder')}: has no {side} {name!r}; it has {', '.join(known)}")
        if any(node.op_type == "PagedAttention" for node in prepared.model.graph.node):
            raise DMLError(
                f"{config.file('model.decoder')}: paged attention is not supported; build the folder without "
                "use_paged_attention",
                _UNABLE,
            )
        #: Role in _LENGTHS -> name of the model's input, for those that it has.
        self.lengths = {role: name for role in _LENGTHS if (name := str(given.get(role, role))) in prepared.inputs}
        graph = prepared.model.graph
        self.types = {e.name: dtype_of(e.type.tensor_type.elem_type) for e in (*graph.input, *graph.output)}
        self._ranks = {entry.name: len(entry.type.tensor_type.shape.dim) for entry in graph.input}
        self.cache = self._caches(config, given, outputs)
        writers = {
            name: node.output[1 + index]
            for node in graph.node
            if node.op_type == _WRITES_IN_PLACE
            for index, name in enumerate(node.input[3:5])
        }
        self.memory = CacheMemory(prepared.device.context)
        #: Compiled graphs that transform caches.
        self.layouts: Recent[Any, Any] = Recent(_MOST_LAYOUTS)
        #: Whether attention can write every cache in the buffer of the past.
        self.can_share = bool(self.cache) and all(writers.get(item.past) == item.present for item in self.cache)

    def _caches(self, config: Config, given: Mapping[str, Any], outputs: Mapping[str, Any]) -> list[CacheEntry]:
        decoder = config.section("model.decoder")
        heads, size = decoder.get("num_key_value_heads"), decoder.get("head_size")
        entries = {entry.name: entry for entry in self.prepared.model.graph.input}
        narrow = {
            name
            for node in self.prepared.model.graph.node
            if any(a.name == "kv_cache_bit_width" and a.i == 4 for a in node.attribute)
            for name in node.input
        }
        found = []
        for layer in config.layers():
            for kind in ("key", "value"):
                past = name_of_layer(given.get(f"past_{kind}_names"), layer)
                present = name_of_layer(outputs.get(f"present_{kind}_names"), layer)
                if past not in entries or present not in self.prepared.outputs:
                    continue
                sizes = [dim.dim_value for dim in entries[past].type.tensor_type.shape.dim]
                width = size // 2 if past in narrow and isinstance(size, int) else size
                count, each = (sizes[1] or heads, sizes[3] or width) if len(sizes) == 4 else (None, None)
                if not (isinstance(count, int) and isinstance(each, int) and min(count, each) > 0):
                    raise DMLError(
                        f"{past}: neither its shape nor genai_config.json gives the number and size of its heads, "
                        f"found {count} and {each}"
                    )
                try:
                    data_type_of(stored_dtype(self.types[past]))
                except DMLError:
                    raise DMLError(f"{past}: caches of {self.types[past]} are not supported", _UNABLE) from None
                found.append(CacheEntry(past, present, (count, each), self.types[past]))
        return found

    def room(self, positions: int, limit: int) -> int:
        """Return the number of positions to allocate for a shared cache that must hold ``positions``, and never more
        than ``limit``.

        The limit is rounded up, so that most generations with another limit use the same plan.
        """
        unit = min(_FIRST_ROOM, _power_of_two(limit))
        most = min(-(-limit // unit) * unit, self._context_length)
        return min(most, max(_FIRST_ROOM, _power_of_two(positions)))

    def numbers(self, role: str, prompt: PaddedPrompt, start: int, end: int, room: int) -> npt.NDArray[Any]:
        """Return the input for a role in _LENGTHS, for positions from start to end. room: number of positions in the
        cache, which is the mask's length."""
        dtype = self.types[self.lengths[role]]
        if role == "attention_mask":
            positions = np.arange(room)
            return (prompt.is_token(positions) & (positions < end)).astype(dtype)
        if role == "position_ids":
            return prompt.without_padding(np.arange(start, end)).astype(dtype)
        length = start if role == "past_sequence_length" else end
        return np.full((1,) * self._ranks[self.lengths[role]], length, dtype)


class DecoderState:
    """Caches of rows between runs of a decoder. Rows have equal lengths; a prompt may be padded at its end.

    share: write caches in place if the decoder can. limit: maximum number of positions. chunk: prompt tokens per run;
    0 chooses it by the memory for logits.
    """

    def __init__(self, decoder: Decoder, rows: int, limit: int, *, share: bool, chunk: int = 0) -> None:
        self._decoder = decoder
        self._rows = rows
        self._limit = limit
        self._shares = share and decoder.can_share
        step = rows * decoder.vocabulary * decoder.types[decoder.logits].itemsize
        self._chunk = chunk or max(_CHUNK[0], min(_CHUNK[1], _LOGITS_BYTES // step))
        #: Number of positions in the caches.
        self.length = 0
        self._prompt = self._unpadded = PaddedPrompt(np.zeros(rows, np.int64), 0)
        self._room = 0
        self._cache: dict[str, Any] = {}
        #: Inputs and outputs of the last run.
        self.inputs: dict[str, Any] = {}
        self.outputs: dict[str, Any] = {}

    def pad(self, ends: npt.NDArray[np.int64], length: int) -> None:
        """Announce that the next tokens are the first prompt, ``length`` positions long. ends: number of positions that
        each row uses; the others are padding.

        Raises DMLError if the decoder cannot ignore the other positions.
        """
        if "attention_mask" not in self._decoder.lengths:
            raise DMLError("the decoder has no attention mask, so prompts of a batch must have equal lengths", _UNABLE)
        self._prompt = PaddedPrompt(ends, length)

    def run(self, tokens: npt.NDArray[Any], extra: Mapping[str, Any]) -> DeviceArray:
        """Append tokens {rows, n}; return the logits of the last run's positions. extra: further inputs by name.

        Raises DMLError if the caches are full.
        """
        first = max(0, self._prompt.length - self.length)
        logits: DeviceArray | None = None
        for index in range(0, first, self._chunk):
            chunk = tokens[:, index : min(index + self._chunk, first)]
            logits = self._last_tokens(self._run(chunk, extra), chunk.shape[1], logits)
        for index in range(first, tokens.shape[1], self._chunk):
            logits = self._run(tokens[:, index : index + self._chunk], extra)
        assert logits is not None
        return logits

    def _last_tokens(self, logits: DeviceArray, count: int, before: DeviceArray | None) -> DeviceArray:
        """Return the logits at each row's last token that is not padding, among the positions run so far: {rows, 1,
        vocabulary}.

        logits: of the last ``count`` positions. before: the result for the positions before them.
        """
        rows, returned, vocabulary = logits.shape
        if returned != count:
            raise DMLError(
                "the decoder returns logits of the last position only, so prompts of a batch must have equal lengths",
                _UNABLE,
            )
        last = self._prompt.ends - 1 - (self.length - count)
        places = (np.arange(rows) * count + last.clip(0, count - 1)).astype(np.uint32)

        def picked(x: Tensor, i: Tensor) -> Tensor:
            return op.gather(x.reshape(rows * count, vocabulary), i, 0).reshape(rows, 1, vocabulary)

        def updated(x: Tensor, i: Tensor, is_here: Tensor, before: Tensor) -> Tensor:
            return op.if_(is_here, picked(x, i), before)

        if before is None:
            return self._laid_out({"y": logits}, "last tokens", picked, places)["y"]
        is_here = (last >= 0).astype(np.uint8).reshape(rows, 1, 1)
        return self._laid_out({"y": logits}, "last tokens so far", updated, places, is_here, before)["y"]

    def _run(self, tokens: npt.NDArray[Any], extra: Mapping[str, Any]) -> DeviceArray:
        decoder, start, end = self._decoder, self.length, self.length + tokens.shape[1]
        if end > self._limit:
            raise DMLError(
                f"the cache is full: it holds max_length = {self._limit} positions, {end} are needed",
                HRESULT.E_OUTOFMEMORY,
            )
        self._make_room(end)
        feeds = dict(extra)
        feeds[decoder.ids] = tokens.astype(decoder.types[decoder.ids])
        # In a causal decoder the padding at the end of a prompt concerns later tokens only
        prompt = self._unpadded if start < self._prompt.length else self._prompt
        for role, name in decoder.lengths.items():
            feeds[name] = decoder.numbers(role, prompt, start, end, self._room if self._shares else end)
        feeds |= self._cache
        prepared = decoder.prepared
        shared = {item.present: item.past for item in decoder.cache} if self._shares else None
        found = dict(zip(prepared.outputs, prepared.run(feeds, keep=prepared.outputs, shared=shared), strict=True))
        self._cache = {item.past: found[item.present] for item in decoder.cache}
        self.inputs, self.outputs, self.length = feeds, found, end
        logits: DeviceArray = found[decoder.logits]
        return logits

    def _make_room(self, positions: int) -> None:
        """Provide caches for ``positions``: shared caches at least double; the others start empty, and each run
        returns larger ones."""
        entries = self._decoder.cache
        if not self._shares:
            self._cache = self._cache or {
                entry.past: np.zeros(entry.sizes(self._rows, 0), entry.dtype) for entry in entries
            }
        elif positions > self._room:
            room, before = self._decoder.room(positions, self._limit), self._room
            memory, self._room = self._decoder.memory, room
            arrays = {
                entry.past: memory.array(slot, entry.sizes(self._rows, room), entry.dtype, zero=not before)
                for slot, entry in enumerate(entries)
            }
            more = (0, 0, room - before, 0)
            if before:
                self._laid_out(self._cache, room, lambda x: op.padding(x, (0,) * 4, more), into=arrays)
            self._cache = arrays

    def rewind(self, length: int) -> None:
        """Discard the positions starting at ``length``, and earlier ones whose tokens must run again to compute the
        logits there: the last one, or all of a padded prompt."""
        if length <= self._prompt.length:
            self._prompt = self._prompt.first(length) if length else self._unpadded
            length = 0
        self.length = min(self.length, max(0, length - 1))
        if self._shares:
            return  # discarded positions are overwritten before they are read
        if not self.length:
            self._cache = {}
            return
        longer = {name: past for name, past in self._cache.items() if past.shape[_POSITIONS] != self.length}
        if longer:
            self._cache |= self._laid_out(longer, self.length, self._first)

    def _first(self, past: Tensor) -> Tensor:
        """Return the cache's first ``length`` positions, which are kept."""
        return op.slice_(past, (0,) * 4, (*past.sizes[:_POSITIONS], self.length, past.sizes[3]))

    def reorder(self, rows: Sequence[int]) -> None:
        """Give each row the caches of another row."""
        if list(rows) == list(range(self._rows)):
            return
        chosen = np.array(rows, np.uint32)
        self._cache = self._laid_out(self._cache, "rows", lambda x, i: op.gather(x, i, _BATCH), chosen)

    def repeated(self, array: DeviceArray, times: int) -> DeviceArray:
        """Repeat each row of an array ``times`` times."""
        if times == 1:
            return array
        chosen = np.repeat(np.arange(array.shape[_BATCH], dtype=np.uint32), times)
        result = self._laid_out({"y": array}, ("repeated", times), lambda x, i: op.gather(x, i, _BATCH), chosen)
        return result["y"]

    def _laid_out(
        self,
        arrays: Mapping[str, Any],
        what: Any,
        make: Any,
        *more: npt.NDArray[Any] | DeviceArray,
        into: Mapping[Any, DeviceArray] | None = None,
    ) -> dict[str, DeviceArray]:
        """Transform arrays on the device, in one submission.

        make: returns the new tensor from tensors for one array and ``more``. what: a key that identifies ``make``.
        into: arrays to write the results to; new ones by default.
        """
        feeds = {**arrays, **{str(index): array for index, array in enumerate(more)}}
        key = (what, *((name, array.shape, array.dtype) for name, array in feeds.items()))
        compiled = self._decoder.layouts.get(key)
        if compiled is None:
            builder = Builder(self._decoder.prepared.device)
            given = {name: builder.input(name, array.shape, data_type_of(array.dtype)) for name, array in feeds.items()}
            others: list[Tensor] = [given[str(index)] for index in range(len(more))]
            compiled = builder.compile({name: make(given[name], *others) for name in arrays})
            self._decoder.layouts.put(key, compiled)
        return compiled.dispatch(feeds, keep=() if into else list(arrays), into=into)


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


def name_of_layer(pattern: Any, layer: int) -> str:
    """Replace %d in a pattern by a layer's number."""
    return str(pattern).replace("%d", str(layer))
