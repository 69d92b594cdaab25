"""onnxruntime-genai's Generator: produces one token at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dml.api.device_array import DeviceArray
from dml.arguments import as_array, checked
from dml.errors import HRESULT, DMLError

from .beams import BeamSearch
from .decoder import DecoderState
from .encoder import AudioEncoder
from .model import Model
from .params import GeneratorParams
from .refused import with_refused_names
from .search import Search, TokenSearch

#: Maximum number of the next tokens' scores: FLOAT32 in a Vulkan buffer of 4 GiB.
_MOST_SCORES = 1 << 30


@with_refused_names
class Generator:
    """A generation. Shorter prompts of a batch end with the model's pad_token_id, as encode_batch returns them.

    Raises DMLError for invalid search options.
    """

    @checked
    def __init__(self, model: Model, params: GeneratorParams) -> None:
        self._model = model
        self._options = options = dataclasses.replace(params.search)
        inputs = params.inputs()
        if model.decoder.ids in inputs:
            options.batch_size = len(inputs[model.decoder.ids])
        options.check(model.context_length)
        self._rows = rows = options.batch_size * options.num_beams
        vocabulary = model.decoder.vocabulary
        if rows * vocabulary > _MOST_SCORES:
            raise DMLError(
                f"Generator: batch_size x num_beams = {rows} rows of {vocabulary} scores are more than {_MOST_SCORES}",
                HRESULT.E_OUTOFMEMORY,
            )
        ends = model.config.tokens("eos_token_id")
        stops = [token for token in ends if 0 <= token < vocabulary]
        pad = (*model.config.tokens("pad_token_id"), *ends, 0)[0]
        self._pad = pad
        kind = BeamSearch if options.num_beams > 1 else TokenSearch
        self._search: Search = kind(options, model.picker, stops, pad)
        self._state = DecoderState(
            model.decoder,
            self._rows,
            options.max_length,
            share=options.past_present_share_buffer,
            chunk=options.chunk_size,
        )
        self._extra: dict[str, Any] = {}
        #: Logits after the last token; None until they are computed.
        self._logits: DeviceArray | None = None
        self._is_terminated = False
        if inputs:
            self.set_inputs(inputs)

    # Tokens

    @checked
    def append_tokens(self, tokens: npt.ArrayLike) -> None:
        """Append a prompt, and compute the logits after it. tokens: ids, or ids {batch_size, n}.

        Raises DMLError for ids outside the vocabulary, and if the sequences would exceed max_length.
        """
        given = as_array(tokens, "Generator.append_tokens")
        batch = self._options.batch_size
        if not given.size or given.dtype.kind not in "iu" or given.ndim > 2 or given.size % batch:
            raise DMLError(
                f"Generator.append_tokens: takes token ids for batch_size = {batch}, "
                f"found {given.dtype} of shape {given.shape}"
            )
        vocabulary = self._model.decoder.vocabulary
        if given.min() < 0 or given.max() >= vocabulary:
            wrong = given[(given < 0) | (given >= vocabulary)][0]
            raise DMLError(f"Generator.append_tokens: ids are 0 to {vocabulary - 1}, found {wrong}")
        new = given.reshape(batch, -1).astype(np.int32)
        length, most = self.token_count(), self._options.max_length
        if length + new.shape[1] > most:
            raise DMLError(
                f"Generator.append_tokens: the cache is full: {new.shape[1]} tokens after {length} exceed "
                f"max_length = {most}",
                HRESULT.E_OUTOFMEMORY,
            )
        encoder = self._model.encoder
        if encoder and not self._extra.keys() & set(encoder.links.values()):
            raise DMLError(
                f"Generator.append_tokens: call set_inputs with {encoder.features} first",
                HRESULT.DXGI_ERROR_INVALID_CALL,
            )
        if length and self._options.num_beams > 1:
            raise DMLError("Generator.append_tokens: beam search takes a single prompt", HRESULT.E_NOTIMPL)
        if batch > 1:
            self._mask_padding(new, length)
        self._search.extend(np.repeat(new, self._options.num_beams, 0))
        self._logits = None
        self._compute()

    def _mask_padding(self, new: npt.NDArray[np.int32], length: int) -> None:
        """Find pad tokens at the end of the rows of a batch. length: number of tokens before."""
        ends = new.shape[1] - (new[:, ::-1] == self._pad).cumprod(1).sum(1)
        if ends.min() == new.shape[1] or not ends.max():  # (the pad token alone is a prompt where it begins texts)
            return
        if length and ends.min() != ends.max():
            raise DMLError(
                "Generator.append_tokens: only the first tokens of a batch may have different lengths; found padding "
                f"after {length} tokens",
                HRESULT.E_NOTIMPL,
            )
        if not ends.min():
            raise DMLError(f"Generator.append_tokens: row {ends.argmin()} of the prompts is only padding")
        if not length:
            self._state.pad(np.repeat(ends, self._options.num_beams), new.shape[1])

    def generate_next_token(self) -> None:
        """Choose the next tokens; do nothing after the generation has ended."""
        if not self.token_count():
            raise DMLError("Generator.generate_next_token: call append_tokens first", HRESULT.DXGI_ERROR_INVALID_CALL)
        if self._search.done:
            return
        rows = self._search.step(self._compute())
        if self.token_count() > self._state.length:  # a single row ends without its end token
            self._logits = None
        if rows is not None and not self._search.done:
            self._state.reorder(rows)

    def is_done(self) -> bool:
        return self._is_terminated or self._search.done

    def token_count(self) -> int:
        """Return the current length of the sequences."""
        return int(self._search.sequences.shape[1])

    def get_next_tokens(self) -> npt.NDArray[np.int32]:
        """Return the tokens chosen last, one for each row."""
        return self._search.next_tokens.copy()

    @checked
    def get_sequence(self, index: int) -> npt.NDArray[np.int32]:
        """Return the tokens of a sequence, including its prompt; of beams, num_return_sequences per prompt, the best
        first."""
        count = self._options.batch_size * self._options.num_return_sequences
        if not 0 <= index < count:
            raise DMLError(f"Generator.get_sequence: there are {count} sequences, found index {index}")
        return self._search.result(index)

    def sequences(self) -> list[npt.NDArray[np.int32]]:
        """Return every sequence, as get_sequence does."""
        options = self._options
        return [self.get_sequence(index) for index in range(options.batch_size * options.num_return_sequences)]

    def snapshot_state(self) -> None:
        """Do nothing, as onnxruntime-genai does for models without recurrent state: rewinding caches needs no
        snapshot."""

    @checked
    def rewind_to(self, new_length: int) -> None:
        """Discard the tokens starting at a length."""
        if not 0 <= new_length <= self.token_count():
            raise DMLError(f"Generator.rewind_to: takes 0 to {self.token_count()} tokens, found {new_length}")
        if self._options.num_beams > 1:
            raise DMLError("Generator.rewind_to: beams cannot be rewound", HRESULT.E_NOTIMPL)
        kept = self._search.sequences[:, :new_length]
        self._search.sequences = kept[:, :0]
        self._logits = None
        if new_length:
            self._search.extend(kept)
        self._state.rewind(new_length)

    # Logits and other tensors

    def compute_logits(self) -> None:
        """Compute the scores of the next tokens; since 0.6, generate_next_token does so itself."""
        if not self.token_count():
            raise DMLError("Generator.compute_logits: call append_tokens first", HRESULT.DXGI_ERROR_INVALID_CALL)
        if not self.is_done():
            self._compute()

    def get_logits(self) -> npt.NDArray[np.float32]:
        """Return the scores of the next tokens, {rows, 1, vocabulary}."""
        if not self.token_count():
            raise DMLError("Generator.get_logits: call append_tokens first", HRESULT.DXGI_ERROR_INVALID_CALL)
        return self._model.picker.last(self._compute())

    @checked
    def set_logits(self, logits: npt.ArrayLike) -> None:
        """Replace the scores of the next tokens. Raises DMLError before they are computed."""
        if self._logits is None:
            raise DMLError(
                "Generator.set_logits: there are no logits yet; append_tokens or get_logits computes them",
                HRESULT.DXGI_ERROR_INVALID_CALL,
            )
        shape = (self._rows, 1, self._logits.shape[-1])
        given = as_array(logits, "Generator.set_logits")
        if given.size != np.prod(shape):
            raise DMLError(f"Generator.set_logits: takes an array of shape {shape}, found {given.shape}")
        self._logits = self._model.device.to_device(given.astype(np.float32).reshape(shape))

    @checked
    def get_output(self, name: str) -> npt.NDArray[Any]:
        """Return an output of the model's last run, copied from the device."""
        return _named(self._state.outputs, name, "output")

    @checked
    def get_input(self, name: str) -> npt.NDArray[Any]:
        """Return an input of the model's last run."""
        return _named(self._state.inputs, name, "input")

    @checked
    def set_model_input(self, name: str, value: npt.ArrayLike) -> None:
        """Set an input that the Generator does not compute itself."""
        self.set_inputs({name: value})

    @checked
    def set_inputs(self, inputs: Mapping[str, Any]) -> None:
        """Set inputs by name; token ids among them are appended, and audio features run through the encoder.

        Raises DMLError for a name that the model does not have.
        """
        decoder, encoder = self._model.decoder, self._model.encoder
        features = encoder.features if encoder else None
        known = [*decoder.prepared.inputs, *([features] if features else [])]
        given = {name: as_array(value, f"Generator: input {name!r}") for name, value in inputs.items()}
        for name in given:
            if name not in known:
                raise DMLError(f"Generator: the model has no input {name!r}; it has {', '.join(known)}")
        tokens = given.pop(decoder.ids, None)
        if encoder and features in given:
            self._encode_audio(encoder, given.pop(features))
        self._extra |= given
        if tokens is not None:
            self.append_tokens(tokens)

    def _encode_audio(self, encoder: AudioEncoder, features: npt.NDArray[Any]) -> None:
        """Run the encoder; its outputs become inputs of every decoder step, repeated for each beam."""
        batch = self._options.batch_size
        if features.shape[:1] != (batch,):
            raise DMLError(
                f"Generator: {encoder.features} must have batch_size = {batch} rows, found shape {features.shape}"
            )
        for name, output in encoder.run(features).items():
            self._extra[name] = self._state.repeated(output, self._options.num_beams)

    @checked
    def set_runtime_option(self, name: str, value: str) -> None:
        """Set terminate_session: "1" ends the generation, from any thread; "0" allows it to continue."""
        if name != "terminate_session":
            raise DMLError(f"Generator.set_runtime_option: the only option is terminate_session, found {name!r}")
        self._is_terminated = value == "1"

    def _compute(self) -> DeviceArray:
        """Return the logits after the last token."""
        if self._is_terminated:
            raise DMLError("Generator: the session was terminated", HRESULT.E_ABORT)
        if self._logits is None:
            self._logits = self._state.run(self._search.sequences[:, self._state.length :], self._extra)
        return self._logits


def _named(arrays: Mapping[str, Any], name: str, what: str) -> npt.NDArray[Any]:
    if name not in arrays:
        raise DMLError(f"Generator: the last run had no {what} {name!r}; it had {', '.join(arrays) or 'none'}")
    return np.asarray(arrays[name])
