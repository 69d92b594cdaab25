"""dml.frontends.genai on a small generated folder: searches compared with NumPy, caches, errors."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import dml
import dml.frontends.genai as og
from dml.api.arrays import TensorMemory
from dml.errors import HostNodesWarning
from dml.frontends.genai import decoder
from dml.planning.patterns import PlanPatterns
from dml.runtime import writing
from dml.runtime.context import Context
from dml.runtime.recording import Recording
from example_module import example

PROMPT = [3, 14, 15, 92, 65]


@pytest.fixture(scope="module")
def model(folder: Path, device: dml.Device) -> og.Model:
    config = og.Config(folder)
    config.overlay(json.dumps({"model": {"eos_token_id": [2, 77]}}))
    return og.Model(config, device=device)


class NoPatterns(dict[Any, PlanPatterns]):
    """A table of PlanPatterns that stores nothing: each look-up returns an empty one."""

    def setdefault(self, key: Any, default: Any = None) -> PlanPatterns:
        return PlanPatterns()


def generator(model: og.Model, **options: Any) -> og.Generator:
    params = og.GeneratorParams(model)
    params.set_search_options(**{"max_length": 24, **options})
    return og.Generator(model, params)


def written(model: og.Model, prompt: Any = PROMPT, **options: Any) -> og.Generator:
    generation = generator(model, **options)
    generation.append_tokens(prompt)
    while not generation.is_done():
        generation.generate_next_token()
    return generation


def whole(model: og.Model, sequence: list[int]) -> np.ndarray:
    """Return the logits after a sequence, computed in float64 without a cache."""
    generation = generator(model)
    generation.append_tokens(sequence)
    return generation.get_logits()[0, 0].astype(np.float64)


def expected(model: og.Model, pick: Callable[[list[int], np.ndarray], int], most: int) -> list[int]:
    """Search greedily; compute every position again for each token."""
    sequence = list(PROMPT)
    while len(sequence) < most:
        token = pick(sequence, whole(model, sequence))
        if token in (2, 77):
            break
        sequence.append(token)
    return sequence


def test_greedy_is_the_likeliest_token_each_time(model: og.Model) -> None:
    found = written(model, max_length=14).get_sequence(0)
    assert list(found) == expected(model, lambda _, scores: int(scores.argmax()), 14)
    assert found.dtype == np.int32


def test_min_length_bans_the_stops(model: og.Model) -> None:
    def pick(sequence: list[int], scores: np.ndarray) -> int:
        if len(sequence) < 12:
            scores[[2, 77]] = -np.inf
        return int(scores.argmax())

    assert list(written(model, max_length=14, min_length=12).get_sequence(0)) == expected(model, pick, 14)


@pytest.mark.parametrize("penalty", [1.3, 0.6])
def test_repetition_penalty(model: og.Model, penalty: float) -> None:
    def pick(sequence: list[int], scores: np.ndarray) -> int:
        seen = np.unique(sequence)
        scores[seen] = np.where(scores[seen] < 0, scores[seen] * penalty, scores[seen] / penalty)
        return int(scores.argmax())

    assert list(written(model, max_length=12, repetition_penalty=penalty).get_sequence(0)) == expected(model, pick, 12)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_run_of_tokens_comes_twice(model: og.Model, size: int) -> None:
    def pick(sequence: list[int], scores: np.ndarray) -> int:
        for index in range(len(sequence) - size + 1):
            if sequence[index : index + size - 1] == sequence[len(sequence) - size + 1 :]:
                scores[sequence[index + size - 1]] = -np.inf
        return int(scores.argmax())

    prompt = [*PROMPT, 3, 14, 15]
    generation = written(model, prompt, max_length=16, no_repeat_ngram_size=size)
    sequence = list(prompt)
    while len(sequence) < 16 and (token := pick(sequence, whole(model, sequence))) not in (2, 77):
        sequence.append(token)
    assert list(generation.get_sequence(0)) == sequence


def test_one_beam_search_finds_the_best_of_all_sequences(model: og.Model) -> None:
    """With enough beams, the next two tokens are the best of all pairs."""
    beams = 24
    generation = written(model, max_length=len(PROMPT) + 2, num_beams=beams, num_return_sequences=2, min_length=24)

    def logs(sequence: list[int]) -> np.ndarray:
        scores = whole(model, sequence)
        scores[[2, 77]] = np.finfo(np.float32).min
        return scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())

    first = logs(PROMPT)
    kept = np.argsort(-first)[:beams]
    pairs = {(int(a), int(b)): first[a] + second[b]
             for a in kept for second in [logs([*PROMPT, int(a)])] for b in np.argsort(-second)[:beams]}  # fmt: skip
    best = sorted(pairs, key=lambda pair: -pairs[pair])[:2]
    assert [tuple(generation.get_sequence(index)[len(PROMPT) :]) for index in range(2)] == best


def test_beams_continue_where_most_tokens_end(folder: Path, device: dml.Device, model: og.Model) -> None:
    """Each row has more end tokens among its best ones than there are beams. The penalty prefers long sequences."""
    beams, going = 3, [5, 9, 40, 77]
    ends = [token for token in range(len(whole(model, PROMPT))) if token not in going]
    config = og.Config(folder)
    config.overlay(json.dumps({"model": {"eos_token_id": ends}}))
    options = {"max_length": len(PROMPT) + 3, "num_beams": beams, "early_stopping": False, "length_penalty": 9.0}
    found = written(og.Model(config, device=device), **options).get_sequence(0)

    live: list[tuple[float, list[int]]] = [(0.0, PROMPT)]
    for _ in range(3):
        longer = []
        for score, sequence in live:
            scores = whole(model, sequence)
            logs = scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())
            longer += [(score + logs[token], [*sequence, token]) for token in going]
        live = sorted(longer, reverse=True)[:beams]
    assert list(found) == live[0][1]


@pytest.mark.parametrize(
    "options", [{"top_k": 5}, {"top_k": 0, "top_p": 0.6}, {"top_k": 8, "top_p": 0.5}, {"top_k": 0, "temperature": 0.5}]
)
def test_sampled_tokens_have_their_probabilities(model: og.Model, options: dict[str, Any]) -> None:
    scores = whole(model, PROMPT) / options.get("temperature", 1.0)
    order = np.argsort(-scores)[: options["top_k"] or None]
    shares = np.exp(scores[order] - scores[order[0]])
    shares /= shares.sum()
    if "top_p" in options:
        reached = np.minimum(np.cumsum(shares), options["top_p"])
        shares = np.diff(reached, prepend=0.0) / options["top_p"]
    generation = generator(model, do_sample=True, random_seed=11, max_length=6, **options)
    counts: dict[int, int] = {}
    draws = 400
    for _ in range(draws):
        generation.rewind_to(0)
        generation.append_tokens(PROMPT)
        generation.generate_next_token()
        token = int(generation.get_next_tokens()[0])
        counts[token] = counts.get(token, 0) + 1
    allowed = {int(token): share for token, share in zip(order, shares, strict=True) if share > 0}
    assert counts.keys() <= allowed.keys()
    for token, share in allowed.items():  # within five standard deviations of a binomial count
        assert abs(counts.get(token, 0) - draws * share) <= 5 * (draws * share * (1 - share)) ** 0.5 + 1, token


def test_a_seed_gives_the_same_text(model: og.Model) -> None:
    options = {"do_sample": True, "top_k": 40, "random_seed": 3}
    first, second = (list(written(model, **options).get_sequence(0)) for _ in range(2))
    assert first == second


def test_a_second_generation_records_nothing(model: og.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its caches reuse the memory of the first generation's, which has ended."""
    first = list(written(model, max_length=21).get_sequence(0))
    made: list[Recording] = []
    record = Recording.__init__
    monkeypatch.setattr(Recording, "__init__", lambda self, *a, **b: (made.append(self), record(self, *a, **b))[1])
    assert list(written(model, max_length=21).get_sequence(0)) == first
    assert list(written(model, max_length=30).get_sequence(0))[:21] == first[:21]
    assert not made
    generation = written(model, max_length=21)
    assert list(written(model, max_length=21).get_sequence(0)) == list(generation.get_sequence(0))
    assert made  # two generations at once share no memory


def test_a_generation_does_not_see_an_earlier_ones_cache(model: og.Model) -> None:
    first = generator(model, max_length=21)
    first.append_tokens(PROMPT)
    logits = first.get_logits()
    for array in first._state._cache.values():
        array.buffer.write(np.full(array.buffer.size // 4, np.nan, np.float32))
    del first, array
    second = generator(model, max_length=21)
    second.append_tokens(PROMPT)
    np.testing.assert_array_equal(second.get_logits(), logits)


def test_memory_of_caches_is_released_where_memory_is_short(model: og.Model) -> None:
    memory = model.decoder.memory
    written(model, max_length=21)
    assert memory._buffers.buffers
    memory.clear()
    assert not memory._buffers.buffers
    assert len(written(model, max_length=21).get_sequence(0)) <= 21


def test_a_new_limit_mostly_needs_no_new_plan(model: og.Model) -> None:
    """The cache's length is a power of two up to 256, then a multiple of 256, within the context's 512."""
    rooms = {(1, 16): 16, (5, 24): 32, (5, 300): 256, (257, 300): 512, (400, 512): 512, (5, 512): 256}
    assert {given: model.decoder.room(*given) for given in rooms} == rooms
    assert all(model.decoder.room(least, most) >= least for most in range(1, 513) for least in range(1, most + 1))


def test_prompts_of_many_lengths_are_planned_by_patterns(folder: Path, device: dml.Device) -> None:
    """After a few lengths, plans for other lengths are filled in, with the results of fresh plans."""
    model = og.Model(folder, device=device)
    lengths = [*range(20, 38), 41, 50, 53, 60]
    found = []
    for length in lengths:
        generation = generator(model, max_length=64)
        generation.append_tokens(np.arange(length) % 90 + 3)
        found.append(generation.get_logits())
    (part,) = model.decoder.prepared.parts
    assert sum(patterns.saved for patterns in part.patterns.values()) >= 8
    fresh = og.Model(folder, device=device)
    for part in fresh.decoder.prepared.parts:
        part.patterns = NoPatterns()
    for length, logits in zip(lengths, found, strict=True):
        generation = generator(fresh, max_length=64)
        generation.append_tokens(np.arange(length) % 90 + 3)
        np.testing.assert_array_equal(generation.get_logits(), logits)


@pytest.mark.parametrize("chunk", [0, 2])
@pytest.mark.parametrize("share", [True, False])
def test_caches_written_in_place_or_grown_and_chunks_give_the_same(model: og.Model, share: bool, chunk: int) -> None:
    generation = written(model, max_length=16, past_present_share_buffer=share, chunk_size=chunk)
    assert list(generation.get_sequence(0)) == list(written(model, max_length=16).get_sequence(0))
    length = 256 if share else generation.token_count() - 1
    assert generation.get_output("present.0.key").shape[2] == min(16, length)


def test_a_cache_doubles_and_keeps_its_contents(model: og.Model) -> None:
    prompt = np.random.default_rng(1).integers(3, 300, 300)
    generation = generator(model, max_length=512)
    generation.append_tokens(prompt[:250])
    assert generation.get_input("past_key_values.0.key").shape[2] == 256
    generation.append_tokens(prompt[250:])
    assert generation.get_input("past_key_values.0.key").shape[2] == 512
    alone = generator(model, max_length=512)
    alone.append_tokens(prompt)
    np.testing.assert_allclose(generation.get_logits(), alone.get_logits(), rtol=1e-4, atol=1e-4)


def test_steps_with_a_shared_cache_make_no_new_plans(model: og.Model) -> None:
    generation = generator(model, max_length=40, min_length=40)
    generation.append_tokens(PROMPT)
    generation.generate_next_token()
    generation.generate_next_token()
    (part,) = model.decoder.prepared.parts
    before = len(part.plans)
    while not generation.is_done():
        generation.generate_next_token()
    assert len(part.plans) == before
    assert all(isinstance(one, dml.DeviceArray) for one in generation._state._cache.values())


def test_long_prompts_are_split_into_chunks(
    tmp_path: Path, device: dml.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks of any size, and short submissions, give the same tokens as one pass."""
    maker = example("chat")
    monkeypatch.setattr(maker, "CONTEXT", 2304)
    maker.write_folder(tmp_path)
    prompt = np.random.default_rng(2).integers(3, 300, 2000)
    found, runs, submitted = [], [], []
    submit = device.context.queue.submit
    monkeypatch.setattr(device.context.queue, "submit", lambda *given: submitted.append(1) or submit(*given))
    for seconds, options in ((1.0, {}), (1.0, {"chunk_size": 2048}), (1e-3, {"chunk_size": 500})):
        monkeypatch.setattr(writing, "SUBMISSION_SECONDS", seconds * writing.SUBMISSION_SECONDS)
        opened = og.Model(tmp_path, device=device)
        generation = generator(opened, max_length=2008, min_length=2008, **options)
        step = generation._state._run
        chunks: list[int] = []
        monkeypatch.setattr(generation._state, "_run", lambda t, e, c=chunks, s=step: c.append(t.shape[1]) or s(t, e))
        submitted.clear()
        generation.append_tokens(prompt)
        runs.append((chunks, len(submitted)))
        while not generation.is_done():
            generation.generate_next_token()
        found.append(list(generation.get_sequence(0)))
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 2008
    assert [chunks[:4] for chunks, _ in runs] == [[512, 512, 512, 464], [2000, 1, 1, 1], [500, 500, 500, 500]]
    assert runs[2][1] > 2 * runs[0][1]


@pytest.mark.parametrize("share", [True, False])
def test_a_full_cache_is_refused_with_its_length(model: og.Model, share: bool) -> None:
    generation = generator(model, max_length=8, past_present_share_buffer=share)
    generation.append_tokens(PROMPT)
    with pytest.raises(dml.DMLError, match="the cache is full: 4 tokens after 5 exceed max_length = 8") as caught:
        generation.append_tokens([1, 2, 3, 4])
    assert caught.value.hresult == dml.HRESULT.E_OUTOFMEMORY
    generation.append_tokens([1, 2])
    generation.generate_next_token()
    assert generation.is_done()
    generation.generate_next_token()  # this call has no effect
    assert generation.token_count() == 8
    with pytest.raises(dml.DMLError, match="the cache is full: 1 tokens after 8 exceed max_length = 8"):
        generation.append_tokens([1])


@pytest.mark.parametrize(
    "options, most",
    [
        ({}, 4),
        ({"batch_size": 2}, 8),
        ({"repetition_penalty": 1.2, "no_repeat_ngram_size": 3}, 4),
        ({"do_sample": True, "top_k": 5}, 5 * 8 + 4),
        ({"do_sample": True, "top_k": 5, "top_p": 0.7, "temperature": 0.8}, 5 * 8 + 4),
        ({"num_beams": 3}, 3 * (2 * 3 * 8 + 4)),
    ],
)
@pytest.mark.parametrize("share", [True, False])
def test_a_step_reads_a_few_bytes_of_the_device(
    model: og.Model, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], most: int, share: bool
) -> None:
    """A step reads back one token per row; when sampling, the best few tokens with a four-byte score each, and the sum
    over all tokens."""
    read: list[int] = []
    load, download = TensorMemory.load, Context.download

    def loaded(self: TensorMemory) -> Any:
        found = load(self)
        read.append(found.nbytes)
        return found

    def downloaded(self: Context, piece: Any, offset: int, result: Any) -> None:
        read.append(result.nbytes)
        download(self, piece, offset, result)

    generation = generator(model, min_length=20, past_present_share_buffer=share, **options)
    generation.append_tokens([PROMPT] * options.get("batch_size", 1))
    monkeypatch.setattr(TensorMemory, "load", loaded)
    monkeypatch.setattr(Context, "download", downloaded)
    for _ in range(4):
        read.clear()
        generation.generate_next_token()
        assert 0 < sum(read) <= most
    read.clear()
    assert generation.get_logits().nbytes <= sum(read), "reads are counted"


@pytest.mark.parametrize("share", [True, False])
def test_rewinding_forgets(model: og.Model, share: bool) -> None:
    generation = generator(model, past_present_share_buffer=share)
    generation.append_tokens([*PROMPT, 8, 9, 10])
    generation.rewind_to(len(PROMPT))
    generation.generate_next_token()
    assert list(generation.get_sequence(0)) == list(written(model, max_length=len(PROMPT) + 1).get_sequence(0))
    with pytest.raises(dml.DMLError, match="takes 0 to 6 tokens, found 7"):
        generation.rewind_to(7)


def test_rows_of_a_batch_equal_separate_generations(model: og.Model) -> None:
    prompts = np.array([PROMPT, [9, 8, 7, 6, 5]])
    generation = written(model, prompts, batch_size=2, max_length=14)
    for row, prompt in enumerate(prompts):
        alone = list(written(model, prompt, max_length=14).get_sequence(0))
        assert list(generation.get_sequence(row))[: len(alone)] == alone


@pytest.mark.parametrize("chunk", [0, 1, 3])
@pytest.mark.parametrize("share", [True, False])
def test_prompts_of_different_lengths_equal_separate_generations(model: og.Model, share: bool, chunk: int) -> None:
    """Padding is masked, also after a rewind into the padded prompt, and for tokens appended later."""
    prompts = [[3, 14], PROMPT, [9, 8, 7, 6]]
    pad = model.config.token("pad_token_id")
    padded = np.array([[*prompt, *[pad] * (5 - len(prompt))] for prompt in prompts])
    generation = generator(model, batch_size=3, past_present_share_buffer=share, min_length=24, chunk_size=chunk)
    generation.append_tokens(padded)
    is_token = padded != pad
    for kept in (None, 7, 6, 5, 4):
        if kept is not None:
            generation.rewind_to(kept)
            is_token = is_token[:, :kept]
            generation.append_tokens([[40, 41], [42, 43], [44, 45]])
        generation.generate_next_token()
        generation.generate_next_token()
        logits = generation.get_logits()
        is_token = np.pad(is_token, ((0, 0), (0, generation.token_count() - is_token.shape[1])), constant_values=True)
        for row in range(3):
            want = whole(model, generation.get_sequence(row)[is_token[row]].tolist())
            np.testing.assert_allclose(logits[row, 0], want, rtol=0, atol=1e-4 * np.abs(want).max())


@pytest.mark.parametrize("share", [True, False])
def test_logits_of_a_padded_prompt_stay_below_their_limit(
    model: og.Model, share: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prompt at the limit runs in one piece, a longer one in chunks, to the same tokens and logits."""
    rng, pad = np.random.default_rng(3), model.config.token("pad_token_id")
    padded = rng.integers(3, 300, (3, 40))
    for row, end in enumerate((1, 20, 37)):
        padded[row, end:] = pad
    runs: dict[int, list[int]] = {}
    found = {}
    for positions in (40, 39, 20):
        monkeypatch.setattr(decoder, "_LOGITS_BYTES", positions * 3 * model.decoder.vocabulary * 4)
        generation = generator(model, batch_size=3, past_present_share_buffer=share, max_length=48, min_length=48)
        run, chunks = generation._state._run, runs.setdefault(positions, [])
        monkeypatch.setattr(generation._state, "_run", lambda t, e, c=chunks, r=run: c.append(t.shape[1]) or r(t, e))
        generation.append_tokens(padded)
        found[positions] = [generation.get_logits()]
        while not generation.is_done():
            generation.generate_next_token()
        found[positions].append(np.stack([generation.get_sequence(row) for row in range(3)]))
    assert [chunks[:3] for chunks in runs.values()] == [[40, 1, 1], [39, 1, 1], [20, 20, 1]]
    for logits, sequences in (found[39], found[20]):
        np.testing.assert_allclose(logits, found[40][0], rtol=0, atol=1e-4 * np.abs(logits).max())
        np.testing.assert_array_equal(sequences, found[40][1])


def test_padding_that_cannot_be_masked(model: og.Model) -> None:
    pad = model.config.token("pad_token_id")
    generation = generator(model, batch_size=2)
    with pytest.raises(dml.DMLError, match="row 1 of the prompts is only padding"):
        generation.append_tokens([[3, 4], [pad, pad]])
    generation.append_tokens([[3, 4], [5, 6]])
    with pytest.raises(dml.DMLError, match=r"only the first tokens of a batch .* found padding after 2 tokens"):
        generation.append_tokens([[3, 4], [5, pad]])


def test_logits_can_be_replaced(model: og.Model) -> None:
    generation = generator(model)
    generation.append_tokens(PROMPT)
    scores = generation.get_logits()
    assert scores.shape == (1, 1, model.decoder.vocabulary)
    np.testing.assert_array_equal(generation.get_output("logits")[:, -1:], scores)
    scores[...] = 0
    scores[..., 42] = 1
    generation.set_logits(scores)
    generation.generate_next_token()
    assert list(generation.get_next_tokens()) == [42]
    with pytest.raises(dml.DMLError, match="set_logits: there are no logits yet"):
        generation.set_logits(scores)


def test_text_and_chat(model: og.Model) -> None:
    tokenizer = og.Tokenizer(model)
    text = "What is a fox? Grüße, 世界"
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    stream = tokenizer.create_stream()
    assert "".join(stream.decode(int(one)) for one in ids) == text
    batch = tokenizer.encode_batch(["fox", text]).as_numpy()
    assert tokenizer.decode_batch(batch) == ["fox", text]
    asked = tokenizer.apply_chat_template('[{"role": "user", "content": "hi"}]')
    assert asked == "<s><|user|>hi</s><|assistant|>"
    assert tokenizer.encode(asked)[0] == tokenizer.bos_token_id == 1
    with pytest.raises(dml.DMLError, match="apply_chat_template: SecurityError"):
        tokenizer.apply_chat_template("[]", template_str="{{ messages.__class__.__mro__ }}")


def test_providers_and_runtime_options(folder: Path, device: dml.Device) -> None:
    config = og.Config(folder)
    config.append_provider("cuda")
    config.set_provider_option("cuda", "device_id", "99")
    config.clear_providers()
    config.append_provider("dml")
    for index in (99, device.vulkan.index):
        config.set_provider_option("dml", "device_id", str(index))
    config.set_provider_option("cpu", "threads", "1")
    model = og.Model(config)
    assert (model.device_type, model.device.vulkan.index) == ("DML", device.vulkan.index)
    generation = written(model, max_length=7)
    parameters = og.GeneratorParams(model)
    parameters.set_search_options(max_length=9, top_k=3)
    assert {"max_length": 9, "top_k": 3}.items() <= parameters.get_search_options().items()
    first = list(generation.get_sequence(0))
    generation.rewind_to(5)
    generation.set_runtime_option("terminate_session", "1")
    with pytest.raises(dml.DMLError, match="the session was terminated"):
        generation.generate_next_token()
    generation.set_runtime_option("terminate_session", "0")
    generation.generate_next_token()
    assert list(generation.get_sequence(0)) == first[:6]
    with pytest.raises(dml.DMLError, match="the only option is terminate_session, found 'x'"):
        generation.set_runtime_option("x", "1")


def test_token_ids(folder: Path, model: og.Model) -> None:
    vocabulary = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    tokenizer = og.Tokenizer(model)
    for text in list(vocabulary)[:40]:
        assert tokenizer.to_token_id(text) == vocabulary[text]
    assert tokenizer.to_token_id("no such token") == -1
    assert list(tokenizer.eos_token_ids) == model.config.values["model"]["eos_token_id"]


def test_options_that_cannot_be(model: og.Model) -> None:
    for options, message in [
        ({"nonsense": 1}, "no option 'nonsense'"),
        ({"max_length": "a"}, "max_length takes a value of type int"),
        ({"max_length": np.inf}, "max_length takes a value of type int, found inf"),
        ({"top_p": np.ones(2)}, "top_p takes a value of type float"),
        ({"top_k": np.str_("a")}, "top_k takes a value of type int"),
        ({"random_seed": 10**400}, "random_seed takes a value of type int"),
        ({"temperature": np.complex64(1)}, "temperature takes a value of type float"),
        ({"max_length": 10**6}, "max_length must be 1 to the model's context_length, 512, found 1000000"),
        ({"num_beams": 0}, "num_beams must be 1 to 32, found 0"),
        ({"num_beams": 2, "do_sample": True}, "do_sample must be False with beams"),
        ({"top_p": 1.5}, "top_p must be 0 to 1, found 1.5"),
        ({"no_repeat_ngram_size": -1}, "no_repeat_ngram_size must be 0 or more, found -1"),
    ]:
        with pytest.raises(dml.DMLError, match=message):
            generator(model, **options)
    generation = generator(model, max_length=8)
    with pytest.raises(dml.DMLError, match="call append_tokens first"):
        generation.generate_next_token()
    generation.append_tokens(PROMPT)
    with pytest.raises(dml.DMLError, match="the cache is full: 4 tokens after 5 exceed max_length = 8"):
        generation.append_tokens([1, 2, 3, 4])
    with pytest.raises(dml.DMLError, match=r"ids are 0 to \d+, found -1"):
        generation.append_tokens([-1])
    with pytest.raises(dml.DMLError, match="set_inputs"):
        generation.set_inputs(0)
    with pytest.raises(dml.DMLError, match=r"Tokenizer\.decode: takes a list of token ids"):
        og.Tokenizer(model).decode([2**40])


def test_logits_after_the_end(model: og.Model) -> None:
    """A single row ends without its end token."""
    generation = written(model, [60, 194, 122, 74, 185, 126], max_length=60)
    sequence = generation.get_sequence(0)
    assert len(sequence) < 60
    np.testing.assert_allclose(generation.get_logits().ravel(), whole(model, sequence.tolist()), rtol=1e-3, atol=1e-3)


def test_folders_that_cannot_be(folder: Path, tmp_path: Path, device: dml.Device) -> None:
    with pytest.raises(dml.DMLError, match="no such folder"):
        og.Model(tmp_path / "none", device=device)
    with pytest.raises(dml.DMLError, match=r"genai_config\.json: no such file"):
        og.Model(tmp_path, device=device)
    for change, message in [
        ({"decoder": {"filename": "other.onnx"}}, r"other\.onnx: no such file"),
        ({"decoder": {"filename": "../model.onnx"}}, "leaves the folder"),
        ({"decoder": {"filename": "a\0b"}}, "cannot be read: embedded null byte"),
        ({"decoder": {"filename": "\ud800"}}, "cannot be read: .*surrogates not allowed"),
        ({"decoder": {"num_hidden_layers": 2**40}}, "num_hidden_layers must be an integer from 1 to 65536"),
        ({"context_length": "long"}, "context_length must be an integer from 1 to 2147483647, found 'long'"),
        ({"encoder": {"filename": "encoder.onnx"}}, r"encoder\.onnx: no such file"),
        ({"embedding": {"filename": "embedding.onnx"}}, "has embedding; supported are decoders"),
        ({"decoder": {"inputs": {"input_ids": "words"}}}, "has no input 'words'; it has input_ids"),
    ]:
        config = og.Config(folder)
        config.overlay(json.dumps({"model": change}))
        with pytest.raises(dml.DMLError, match=message):
            og.Model(config, device=device)
    config = og.Config(folder)
    config.overlay(json.dumps({"model": {"eos_token_id": [2, 2**40]}}))
    with pytest.raises(dml.DMLError, match="eos_token_id must be a token id or a list of token ids"):
        generator(og.Model(config, device=device))


def test_provider_options_that_cannot_be(folder: Path, tmp_path: Path) -> None:
    values = json.loads((folder / "genai_config.json").read_text())
    for options in (5, [None], [{"dml": 5}]):
        values["model"]["decoder"]["session_options"]["provider_options"] = options
        (tmp_path / "genai_config.json").write_text(json.dumps(values))
        with pytest.raises(dml.DMLError, match="provider_options must be a list of objects"):
            og.Config(tmp_path)


def test_json_that_nests_too_deeply(folder: Path, tmp_path: Path, model: og.Model) -> None:
    deep = "[" * 100_000
    with pytest.raises(dml.DMLError, match="takes JSON"):
        og.Config(folder).overlay(deep)
    (tmp_path / "genai_config.json").write_text(deep)
    with pytest.raises(dml.DMLError, match="cannot be read as JSON"):
        og.Config(tmp_path)
    with pytest.raises(dml.DMLError, match="messages must be JSON"):
        og.Tokenizer(model).apply_chat_template(deep)


@pytest.mark.parametrize("rows", [2**31, 2**40, 10**30])
def test_more_rows_than_the_device_can_hold(model: og.Model, rows: int) -> None:
    with pytest.raises(dml.DMLError, match=r"rows of \d+ scores are more than") as caught:
        generator(model, batch_size=rows)
    assert caught.value.hresult == dml.HRESULT.E_OUTOFMEMORY


@pytest.mark.parametrize("penalty", [1e308, -1e308, 2.0**40])
def test_extreme_length_penalties(model: og.Model, penalty: float) -> None:
    generation = generator(model, num_beams=2, length_penalty=penalty, early_stopping=False, max_length=12)
    generation.append_tokens(PROMPT)
    while not generation.is_done():
        generation.generate_next_token()
    assert list(generation.get_sequence(0)[: len(PROMPT)]) == list(PROMPT)


@pytest.mark.parametrize("template, message", [
    (b"\xff", r"chat_template\.jinja: cannot be read"),
    (b"{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "apply_chat_template: RecursionError"),
    (b"{{ messages.x.y }}", "apply_chat_template: UndefinedError"),
    (b"{{ '%s%s' % 1 }}", "apply_chat_template: TypeError"),
])  # fmt: skip
def test_templates_that_cannot_be(folder: Path, tmp_path: Path, template: bytes, message: str) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "chat_template.jinja").write_bytes(template)
    with pytest.raises(dml.DMLError, match=message):
        og.Tokenizer(tmp_path).apply_chat_template("[]")


def test_named_templates(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "chat_template.jinja").unlink()
    named = [5, {"name": "other", "template": "no"}, {"name": "default", "template": "yes"}]
    for templates, expected in ((named, "yes"), (named[:2], None)):
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": templates}))
        if expected is None:
            with pytest.raises(dml.DMLError, match="no chat template"):
                og.Tokenizer(tmp_path).apply_chat_template("[]")
        else:
            assert og.Tokenizer(tmp_path).apply_chat_template("[]") == expected


def test_caches_that_cannot_be(folder: Path, tmp_path: Path, device: dml.Device) -> None:
    """Folders that the model builder writes for CUDA with kv_cache_quant_scheme and use_paged_attention."""
    example("chat").write_folder(tmp_path)
    proto = onnx.load(tmp_path / "model.onnx")
    past = next(entry for entry in proto.graph.input if entry.name.startswith("past"))
    before, past.type.tensor_type.elem_type = past.type.tensor_type.elem_type, onnx.TensorProto.FLOAT8E4M3FN
    onnx.save(proto, tmp_path / "model.onnx")
    with pytest.raises(dml.DMLError, match=f"^{past.name}: caches of float8_e4m3fn are not supported"):
        og.Model(tmp_path, device=device)
    past.type.tensor_type.elem_type = before
    paged = onnx.helper.make_node("PagedAttention", [""] * 8, ["unused"], domain="com.microsoft")
    proto.graph.node.append(paged)
    onnx.save(proto, tmp_path / "model.onnx")
    message = r"model\.onnx: paged attention is not supported; build the folder without"
    with pytest.warns(HostNodesWarning), pytest.raises(dml.DMLError, match=message):
        og.Model(tmp_path, device=device)


@pytest.mark.parametrize("share", [True, False])
def test_positions_are_counted_without_padding(folder: Path, tmp_path: Path, device: dml.Device, share: bool) -> None:
    """A decoder that adds each token's position, and the past's length a hundred times, to its logits."""
    example("chat").write_folder(tmp_path)
    proto, config = onnx.load(tmp_path / "model.onnx"), json.loads((tmp_path / "genai_config.json").read_text())
    for name, sizes in (("position_ids", ["batch_size", "sequence_length"]), ("past_sequence_length", [1])):
        proto.graph.input.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, sizes))
        config["model"]["decoder"]["inputs"][name] = name
    proto.graph.node[-1].output[0] = "logits0"
    proto.graph.initializer.extend(
        onnx.numpy_helper.from_array(np.array(array), name) for name, array in (("last", [-1]), ("hundred", 100))
    )
    proto.graph.node.extend(onnx.parser.parse_graph("""g () => () {
        p = Unsqueeze(position_ids, last) h = Mul(past_sequence_length, hundred)
        s = Add(p, h) f = Cast<to = 1>(s) logits = Add(logits0, f) }""").node)  # fmt: skip
    onnx.save(proto, tmp_path / "model.onnx")
    (tmp_path / "genai_config.json").write_text(json.dumps(config))
    models = [og.Model(path, device=device) for path in (folder, tmp_path)]
    plain, counted = (generator(one, batch_size=2, past_present_share_buffer=share) for one in models)
    pad, past = models[0].config.token("pad_token_id"), 0
    prompts = [[3, 14, 15], [9, pad, pad]]
    for tokens, positions in ((prompts, [2, 0]), ([[40, 41], [42, 43]], [4, 2]), ([[44], [45]], [5, 3])):
        plain.append_tokens(tokens)
        counted.append_tokens(tokens)
        wanted = plain.get_logits()[:, 0] + np.array(positions)[:, None] + 100 * past
        np.testing.assert_allclose(counted.get_logits()[:, 0], wanted, rtol=1e-5, atol=1e-4)
        past += len(tokens[0])


def test_further_inputs_are_given(folder: Path, tmp_path: Path, device: dml.Device) -> None:
    """The error names the input that Generator cannot fill; after the program sets it, the run succeeds."""
    example("chat").write_folder(tmp_path)
    proto = onnx.load(tmp_path / "model.onnx")
    proto.graph.input.append(onnx.helper.make_tensor_value_info("bias", onnx.TensorProto.FLOAT, [1]))
    last = proto.graph.node[-1]
    last.output[0] = "unbiased"
    proto.graph.node.append(onnx.helper.make_node("Add", ["unbiased", "bias"], ["logits"]))
    onnx.save(proto, tmp_path / "model.onnx")
    generation = generator(og.Model(tmp_path, device=device))
    with pytest.raises(dml.DMLError, match="bias"):
        generation.append_tokens(PROMPT)
    generation = generator(og.Model(tmp_path, device=device))
    generation.set_model_input("bias", np.array([3], np.float32))
    generation.append_tokens(PROMPT)
    plain = generator(og.Model(folder, device=device))
    plain.append_tokens(PROMPT)
    np.testing.assert_allclose(generation.get_logits(), plain.get_logits() + 3, rtol=1e-5, atol=1e-5)
    with pytest.raises(dml.DMLError, match="the model has no input 'nonsense'"):
        generation.set_model_input("nonsense", 1)
