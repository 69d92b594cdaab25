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
from onnx import helper, numpy_helper

STEPS = 8
PROMPT = (1, 141, 59, 26, 53, 58, 97, 93, 238, 46, 264, 300)
#: Largest differences of logits, by the largest logit. int4 has activations of FLOAT16 for GPUs.
TOLERANCES = {"int4": 2e-2, "fp16": 2e-2, "fp32": 1e-4}


def _generator(api: Any, model: Any) -> Any:
    params = api.GeneratorParams(model)
    params.set_search_options(max_length=64, min_length=64)
    return api.Generator(model, params)


def _exact(folder: Path, scratch: Path) -> Path:
    """The folder as onnxruntime's CPU provider computes it right.

    Its products of 4 bits round activations unless they are told not to, and its GroupQueryAttention passes over norms
    of query and key: here they are nodes before it.
    """
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    _norms_apart(model.graph)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "accuracy_level":
                attribute.i = 1
    for path in folder.iterdir():
        if path.name != "model.onnx":
            shutil.copy(path, scratch / path.name)
    onnx.save(model, scratch / "model.onnx")
    return scratch


def _norms_apart(graph: onnx.GraphProto) -> None:
    """Write the norms of query and key that GroupQueryAttention has as inputs as nodes of their own."""
    sizes = {one.name: one.dims for one in graph.initializer}
    nodes = []
    for node in graph.node:
        if node.op_type == "GroupQueryAttention" and len(node.input) > 14 and node.input[14]:
            (epsilon,) = [a.f for a in node.attribute if a.name == "qk_norm_epsilon"] or [1e-6]
            for at, scale in enumerate(node.input[14:16]):
                name = f"{node.name}/apart/{at}"
                for what, numbers in (("split", [0, 0, -1, sizes[scale][0]]), ("joined", [0, 0, -1])):
                    shape = numpy_helper.from_array(np.array(numbers, np.int64), f"{name}/{what}/shape")
                    graph.initializer.append(shape)
                nodes += [
                    helper.make_node("Reshape", [node.input[at], f"{name}/split/shape"], [f"{name}/split"]),
                    helper.make_node(
                        "SimplifiedLayerNormalization", [f"{name}/split", scale], [f"{name}/norm"], epsilon=epsilon
                    ),
                    helper.make_node("Reshape", [f"{name}/norm", f"{name}/joined/shape"], [f"{name}/joined"]),
                ]
                node.input[at] = f"{name}/joined"
            del node.input[14:]
        nodes.append(node)
    made = onnx.GraphProto(node=nodes)
    del graph.node[:]
    graph.node.extend(made.node)


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
    if not logits and precision == "int4":  # (transformers has the weights before they were rounded)
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
