"""Whole generations, compared token by token with onnxruntime-genai's CPU provider."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dml
import dml.frontends.genai as ours

theirs = pytest.importorskip("onnxruntime_genai", reason="onnxruntime-genai is not installed: tools/setup --zoo")

PROMPTS = np.array([[3, 14, 15, 92, 65], [9, 8, 7, 6, 5]])
#: By batch size. 0 is the pad token.
BATCHES = {1: PROMPTS[0], 2: PROMPTS, 3: np.array([[3, 14, 0, 0, 0], [9, 8, 7, 6, 5], [15, 92, 65, 3, 0]])}
SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "ends": {"min_length": 20},
    "penalty": {"repetition_penalty": 1.4},
    "no repeated pairs": {"no_repeat_ngram_size": 2, "min_length": 30},
    "no repeated tokens": {"no_repeat_ngram_size": 1, "batch_size": 2},
    "beams without repeated pairs": {"num_beams": 3, "no_repeat_ngram_size": 2, "min_length": 12},
    "diversity": {"num_beams": 2, "diversity_penalty": 0.5},
    "batch": {"batch_size": 2},
    "beams": {"num_beams": 3, "num_return_sequences": 3},
    "beams to the end": {"num_beams": 4, "num_return_sequences": 2, "early_stopping": False, "length_penalty": 0.6},
    "batch of beams": {"batch_size": 2, "num_beams": 2},
    "beams with penalty": {"num_beams": 3, "repetition_penalty": 1.3, "min_length": 12},
    "padded": {"batch_size": 3, "min_length": 30},
    "padded, with penalty": {"batch_size": 3, "repetition_penalty": 1.4},
    "padded beams": {"batch_size": 3, "num_beams": 2, "num_return_sequences": 2},
}


def model(api: Any, folder: Path, **more: Any) -> Any:
    config = api.Config(str(folder))
    config.overlay('{"model": {"eos_token_id": [2, 77, 120, 200]}}')
    return api.Model(config, **more)


def written(api: Any, opened: Any, options: dict[str, Any], steps: int = 40) -> list[list[int]]:
    params = api.GeneratorParams(opened)
    params.set_search_options(max_length=40, **options)
    generator = api.Generator(opened, params)
    rows = options.get("batch_size", 1)
    generator.append_tokens(BATCHES[rows])
    while steps and not generator.is_done():
        generator.generate_next_token()
        steps -= 1
    return [
        [int(t) for t in generator.get_sequence(index)]
        for index in range(rows * options.get("num_return_sequences", 1))
    ]


@pytest.mark.parametrize("name", SEARCHES)
def test_tokens_are_onnxruntime_genais(folder: Path, device: dml.Device, name: str) -> None:
    found = written(ours, model(ours, folder, device=device), SEARCHES[name])
    assert found == written(theirs, model(theirs, folder), SEARCHES[name])


@pytest.mark.parametrize("steps", [4, 7])
def test_unfinished_beams_are_onnxruntime_genais(folder: Path, device: dml.Device, steps: int) -> None:
    """Of two prompts with three beams each, two are returned; one prompt ends before the other."""
    options = {"batch_size": 2, "num_beams": 3, "num_return_sequences": 2, "length_penalty": 0.5}
    found = written(ours, model(ours, folder, device=device), options, steps)
    assert found == written(theirs, model(theirs, folder), options, steps)


def test_a_conversation_is_onnxruntime_genais(folder: Path, device: dml.Device) -> None:
    """Tokens are appended after an end token and after an interrupted answer."""
    said = []
    for api, opened in ((ours, model(ours, folder, device=device)), (theirs, model(theirs, folder))):
        params = api.GeneratorParams(opened)
        params.set_search_options(max_length=80)
        generator = api.Generator(opened, params)
        for prompt in PROMPTS:
            generator.append_tokens(prompt)
            for _ in range(10):
                generator.generate_next_token()
        said.append([int(token) for token in generator.get_sequence(0)])
    assert said[0] == said[1]


def test_ids_and_text_are_onnxruntime_genais(folder: Path, device: dml.Device) -> None:
    text = "What is a fox? <s>Grüße</s>, 世界\n\n  12345"
    message = '[{"role": "system", "content": "short"}, {"role": "user", "content": "Hi \\"you\\""}]'
    found = []
    for api, opened in ((ours, model(ours, folder, device=device)), (theirs, model(theirs, folder))):
        tokenizer = api.Tokenizer(opened)
        ids = tokenizer.encode(text)
        batch = tokenizer.encode_batch([text, "fox"])
        rows = np.asarray(batch.as_numpy()).tolist()
        asked = tokenizer.apply_chat_template(message)
        found.append((list(ids), tokenizer.decode(ids), asked, rows, tokenizer.decode_batch(batch)))
    assert found[0] == found[1]
