"""A language model's folder beside onnxruntime-genai on its CPU provider: prompt and eight steps."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx

STEPS = 8
PROMPT = (1, 141, 59, 26, 53, 58, 97, 93, 238, 46, 264, 300)
#: Largest differences of logits, by the largest logit. int4 has activations of FLOAT16 for GPUs.
TOLERANCES = {"int4": 2e-2, "fp16": 2e-2, "fp32": 1e-4}


def _generator(api: Any, model: Any) -> Any:
    params = api.GeneratorParams(model)
    params.set_search_options(max_length=64, min_length=64)
    return api.Generator(model, params)


def _exact(folder: Path, scratch: Path) -> Path:
    """The folder with products of 4 bits that onnxruntime computes in float: its own rounding is not judged."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "accuracy_level":
                attribute.i = 1
    for path in folder.iterdir():
        if path.name != "model.onnx":
            shutil.copy(path, scratch / path.name)
    onnx.save(model, scratch / "model.onnx")
    return scratch


def expected(folder: Path) -> tuple[list[int], list[np.ndarray]]:
    """onnxruntime-genai's tokens, and the logits that they come from. Raises what it raises."""
    import onnxruntime_genai as theirs

    config = theirs.Config(str(folder))
    config.clear_providers()
    generator = _generator(theirs, theirs.Model(config))
    generator.append_tokens(np.array(PROMPT, np.int32))
    tokens, logits = [], []
    for _ in range(1 + STEPS):
        logits.append(np.array(generator.get_logits(), np.float64).reshape(-1))
        generator.generate_next_token()
        tokens.append(int(generator.get_next_tokens()[0]))
    return tokens, logits


def transformers_logits(source: Path, tokens: list[int]) -> list[np.ndarray]:
    """The same positions by transformers in float32, of the checkpoint that the folder was built from."""
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32, attn_implementation="eager")
    with torch.no_grad():
        found = model(torch.tensor([[*PROMPT, *tokens]])).logits[0].double().numpy()
    return [found[at] for at in range(len(PROMPT) - 1, len(PROMPT) + STEPS)]


def found(folder: Path, device: str, tokens: list[int]) -> tuple[list[np.ndarray], list[str]]:
    """Our logits behind the same tokens, and the operators that ran on the host. Without tokens, our own follow."""
    import dml.frontends.genai as ours

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ours.Model(str(folder), device=device or None)
        generator = _generator(ours, model)
        logits = []
        generator.append_tokens(PROMPT)
        for at in range(1 + STEPS):
            logits.append(generator.get_logits().reshape(-1).astype(np.float64))
            if not tokens:
                generator.generate_next_token()
            elif at < STEPS:
                generator.append_tokens([tokens[at]])
    if not tokens:
        tokens += [int(one) for one in generator.get_sequence(0)[len(PROMPT) :]]
    prepared = model.decoder.prepared
    on_host = sorted({node.op_type for part in prepared.parts if part.on_host for node in part.nodes})
    return logits, on_host


def compare(folder: Path, source: Path, precision: str, device: str) -> dict[str, Any]:
    """What a row of the table says: judge, error, whether tokens agree, operators on the host."""
    tokens: list[int] = []
    logits: list[np.ndarray] = []
    refused = ""
    try:
        with tempfile.TemporaryDirectory() as scratch:
            tokens, logits = expected(_exact(folder, Path(scratch)))
    except Exception as error:  # (it raises Exception's own kin for what its CPU provider has not)
        refused = f"{type(error).__name__}: {str(error)[:200]}"
    judge = "onnxruntime-genai" if logits else "transformers"
    ours, on_host = found(folder, device, tokens)
    if not logits:
        logits = transformers_logits(source, tokens)
    error = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(ours, logits, strict=True))
    same = sum(int(a.argmax() == b.argmax()) for a, b in zip(ours, logits, strict=True))
    return {"judge": judge, "refused": refused, "error": error, "same": same, "on_host": on_host,
            "right": bool(np.isfinite(error) and error <= TOLERANCES[precision])}  # fmt: skip


if __name__ == "__main__":
    _, place, origin, kind, chosen = sys.argv
    print(json.dumps(compare(Path(place), Path(origin), kind, chosen)))
