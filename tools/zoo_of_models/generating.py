"""Compare a language model's folder with onnxruntime-genai's CPU provider: prompt and eight steps."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from dml.errors import DMLError
from tools.zoo_of_models.families import FRAMES, MELS, WHISPER, auto_class

STEPS = 8
ENCODER = "encoder.onnx"
PROMPT = (1, 141, 59, 26, 53, 58, 97, 93, 238, 46, 264, 300)
#: Largest allowed differences of logits, relative to the largest logit. int4 for GPUs has FLOAT16 activations.
TOLERANCES = {"int4": 2e-2, "fp16": 2e-2, "fp32": 1e-4}


def _begun(api: Any, model: Any, folder: Path) -> Any:
    """Return a generator that has processed the prompt and, for a speech model, audio features."""
    params = api.GeneratorParams(model)
    params.set_search_options(max_length=64, min_length=64)
    generator = api.Generator(model, params)
    prompt = np.array(PROMPT, np.int32)
    if (folder / ENCODER).exists():
        inputs = api.NamedTensors()
        entry = onnx.load(folder / ENCODER, load_external_data=False).graph.input[0]
        inputs[entry.name] = features().astype(helper.tensor_dtype_to_np_dtype(entry.type.tensor_type.elem_type))
        inputs["input_ids"] = prompt[None]
        generator.set_inputs(inputs)
    else:
        generator.append_tokens(prompt)
    return generator


def features() -> np.ndarray:
    """Return the audio features for a speech model."""
    return np.random.default_rng(5).uniform(-1, 1, (1, MELS, FRAMES)).astype(np.float32)


def _exact(folder: Path, scratch: Path) -> Path:
    """Copy the folder in a form that onnxruntime's CPU provider computes exactly.

    The provider's 4-bit products round activations unless accuracy_level forbids it, and its GroupQueryAttention
    ignores the norms of query and key, which become separate nodes. Provider options are removed.
    """
    settings = json.loads((folder / "genai_config.json").read_text(encoding="utf-8"))
    for part in settings["model"].values():
        if isinstance(part, dict):
            part.get("session_options", {}).pop("provider_options", None)
    (scratch / "genai_config.json").write_text(json.dumps(settings), encoding="utf-8")
    for path in folder.iterdir():
        if path.suffix == ".onnx":
            onnx.save(_exact_model(path), scratch / path.name)
        elif path.name != "genai_config.json":
            shutil.copy(path, scratch / path.name)
    return scratch


def _exact_model(path: Path) -> onnx.ModelProto:
    model = onnx.load(path, load_external_data=False)
    _norms_apart(model.graph)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "accuracy_level":
                attribute.i = 1
    return model


def _norms_apart(graph: onnx.GraphProto) -> None:
    """Replace GroupQueryAttention's inputs for query and key norms by separate nodes before it."""
    sizes = {one.name: one.dims for one in graph.initializer}
    nodes = []
    for node in graph.node:
        if node.op_type == "GroupQueryAttention" and len(node.input) > 14 and node.input[14]:
            (epsilon,) = [a.f for a in node.attribute if a.name == "qk_norm_epsilon"] or [1e-6]
            for index, scale in enumerate(node.input[14:16]):
                name = f"{node.name}/apart/{index}"
                for what, numbers in (("split", [0, 0, -1, sizes[scale][0]]), ("joined", [0, 0, -1])):
                    shape = numpy_helper.from_array(np.array(numbers, np.int64), f"{name}/{what}/shape")
                    graph.initializer.append(shape)
                nodes += [
                    helper.make_node("Reshape", [node.input[index], f"{name}/split/shape"], [f"{name}/split"]),
                    helper.make_node(
                        "SimplifiedLayerNormalization", [f"{name}/split", scale], [f"{name}/norm"], epsilon=epsilon
                    ),
                    helper.make_node("Reshape", [f"{name}/norm", f"{name}/joined/shape"], [f"{name}/joined"]),
                ]
                node.input[index] = f"{name}/joined"
            del node.input[14:]
        nodes.append(node)
    made = onnx.GraphProto(node=nodes)
    del graph.node[:]
    graph.node.extend(made.node)


def expected(folder: Path) -> tuple[list[int], list[np.ndarray]]:
    """Return onnxruntime-genai's tokens and logits. Raises its errors."""
    import onnxruntime_genai as theirs

    generator = _begun(theirs, theirs.Model(str(folder)), folder)
    tokens, logits = [], []
    for _ in range(1 + STEPS):
        logits.append(np.array(generator.get_logits(), np.float64).reshape(-1))
        generator.generate_next_token()
        tokens.append(int(generator.get_next_tokens()[0]))
    return tokens, logits


def _without_places(text: str) -> str:
    """Return a message without this machine's paths."""
    for place in (sys.prefix, tempfile.gettempdir()):
        text = re.sub(rf"{re.escape(place)}\S*/", "", text)
    return text


def transformers_logits(source: Path, tokens: list[int]) -> list[np.ndarray]:
    """Return transformers' float32 logits at the same positions, from the checkpoint that the folder was built from."""
    import torch

    kind = auto_class(source.name)
    model = kind.from_pretrained(source, dtype=torch.float32, attn_implementation="eager")
    ids = torch.tensor([[*PROMPT, *tokens]])
    given = {"input_ids": ids}
    if source.name == WHISPER:
        given = {"input_features": torch.from_numpy(features()), "decoder_input_ids": ids}
    with torch.no_grad():
        found = model(**given).logits[0].double().numpy()
    return [found[index] for index in range(len(PROMPT) - 1, len(PROMPT) + STEPS)]


def found(folder: Path, device: str, tokens: list[int]) -> tuple[list[np.ndarray], list[str]]:
    """Return our logits after the same tokens, and the operators on the host. Fills an empty ``tokens`` with our
    own."""
    import dml.frontends.genai as ours

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = ours.Model(str(folder), device=device or None)
        generator = _begun(ours, model, folder)
        logits = []
        for index in range(1 + STEPS):
            logits.append(generator.get_logits().reshape(-1).astype(np.float64))
            if not tokens:
                generator.generate_next_token()
            elif index < STEPS:
                generator.append_tokens([tokens[index]])
    if not tokens:
        tokens += [int(one) for one in generator.get_sequence(0)[len(PROMPT) :]]
    models = [model.decoder.prepared, *([model.encoder.prepared] if model.encoder else [])]
    parts = [part for prepared in models for part in prepared.parts]
    on_host = sorted({node.op_type for part in parts if part.on_host for node in part.nodes})
    return logits, on_host


def compare(folder: Path, source: Path, precision: str, device: str) -> dict[str, Any]:
    """Return the contents of a table row: judge, error, number of equal tokens, operators on the host."""
    tokens: list[int] = []
    logits: list[np.ndarray] = []
    refused = ""
    try:
        with tempfile.TemporaryDirectory() as scratch:
            tokens, logits = expected(_exact(folder, Path(scratch)))
    except Exception as error:  # raised unchanged if its CPU provider lacks an operator
        refused = f"{type(error).__name__}: {_without_places(str(error))[:200]}"
    judge = "onnxruntime-genai" if logits else "transformers"
    try:
        ours, on_host = found(folder, device, tokens)
    except DMLError as error:
        if refused:
            return {"judge": "", "refused": f"{error.message}; {refused}", "both": True}
        raise
    if not logits and precision == "int4":  # transformers' weights are not quantized, so there is no reference
        return {"judge": "", "refused": refused, "error": 0.0, "same": 0, "on_host": on_host, "right": False}
    if not logits:
        logits = transformers_logits(source, tokens)
    error = max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(ours, logits, strict=True))
    same = sum(int(a.argmax() == b.argmax()) for a, b in zip(ours, logits, strict=True))
    return {"judge": judge, "refused": refused, "error": error, "same": same, "on_host": on_host,
            "right": bool(np.isfinite(error) and error <= TOLERANCES[precision])}  # fmt: skip


if __name__ == "__main__":
    _, place, origin, kind, chosen = sys.argv
    print(json.dumps(compare(Path(place), Path(origin), kind, chosen)))
