"""Generate tokens in its own process: python -m tools.language_speed.generate WHO FOLDER PROMPT TOKENS.

The script prints JSON. WHO: dml or onnxruntime. FOLDER: a model with its genai_config.json.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any

import numpy as np

from tools.memory_of_models.run import cpu_seconds, peak_bytes

_MODULES = {"dml": "dml.frontends.genai", "onnxruntime": "onnxruntime_genai"}


def main() -> None:
    who, folder, prompt, tokens = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    og = importlib.import_module(_MODULES[who])
    model = og.Model(folder)
    ids = (300 + np.arange(prompt) * 7919 % 1000).astype(np.int32)
    _generate(og, model, ids, tokens, 2)
    print(json.dumps({**_generate(og, model, ids, tokens, tokens), "peak": peak_bytes()}))


def _generate(og: Any, model: Any, ids: np.ndarray, most: int, tokens: int) -> dict[str, dict[str, float]]:
    """Return the seconds of the prompt with its first token, and of each of ``tokens`` further tokens.

    most: number of further tokens that the generator has room for. The first generation with a number also makes the
    plans for that length.
    """
    params = og.GeneratorParams(model)
    params.set_search_options(max_length=len(ids) + most + 1, min_length=len(ids) + most + 1, do_sample=False)
    generator = og.Generator(model, params)
    steps = [_now()]
    generator.append_tokens(ids)
    for _ in range(tokens + 1):
        generator.generate_next_token()
        steps.append(_now())
    return {"prompt": _between(steps[0], steps[1], 1), "token": _between(steps[1], steps[-1], tokens)}


def _now() -> tuple[float, float]:
    return cpu_seconds(), time.perf_counter()


def _between(start: tuple[float, float], end: tuple[float, float], steps: int) -> dict[str, float]:
    return {"cpu": (end[0] - start[0]) / steps, "wall": (end[1] - start[1]) / steps}


if __name__ == "__main__":
    main()
