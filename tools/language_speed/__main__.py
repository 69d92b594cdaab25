"""Compare a 4-bit language model with llama.cpp on the same Vulkan device: tools/bench --language."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

import dml
from dml.words import bytes_text
from tools.language_speed.gguf_file import write_gguf
from tools.language_speed.node import AbsentError, installed
from tools.memory_of_models.models import llama, llama_shape

LLAMA_CPP = Path(__file__).with_name("llama_cpp.mjs")
#: Largest allowed ratios of ours to llama.cpp's. On CPU drivers, seconds are the CPU time of all cores.
GOALS = {"token": 0.6, "prompt": 0.3, "peak": 1.0}
GPU_GOALS = {"token": 1.0, "prompt": 1 / 0.7, "peak": 1.0}


class _Run(NamedTuple):
    """A contender's job: the folder with the model's files, the device, and the numbers of prompt and new tokens."""

    folder: Path
    device: dml.Device
    prompt: int
    tokens: int


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="tools/bench --language",
        description="Measure a 4-bit Llama with random weights: time of a prompt and of each token, peak memory. "
        "Compare it with llama.cpp's Vulkan back end on the same device, and print onnxruntime-genai's figures on the "
        "CPU. Each runs in its own process and generates once before it is measured.",
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="scale of the width and the layers; 1 has 1.1 billion parameters"
    )
    parser.add_argument("--prompt", type=int, default=256, help="tokens of the prompt (default: %(default)s)")
    parser.add_argument("--tokens", type=int, default=32, help="tokens generated (default: %(default)s)")
    parser.add_argument("--peers", default=",".join(_CONTENDERS), help="default: %(default)s")
    parser.add_argument("--device", help="part of the device's name, or its index")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to this file")
    options = parser.parse_args()
    if options.prompt < 1 or options.tokens < 1:
        parser.error("--prompt and --tokens must be at least 1")
    for name in options.peers.split(","):
        if name not in _CONTENDERS:
            parser.error(f"there is no peer {name!r}; there are {', '.join(_CONTENDERS)}")
    wanted = [name for name in _CONTENDERS if name in options.peers.split(",")]
    device = dml.create_device(options.device)
    shape = llama_shape(options.scale)
    with tempfile.TemporaryDirectory() as folder:
        run = _Run(Path(folder), device, options.prompt, options.tokens)
        try:
            made = llama(run.folder, shape, zeros=False)
            if "llama.cpp" in wanted:
                installed()
                write_gguf(run.folder / "llama.gguf", shape)
            answers = {name: _CONTENDERS[name](run) for name in wanted}
        except (AbsentError, ImportError) as error:
            print(f"tools/bench --language: {error}", file=sys.stderr)
            return 125
    found = {
        "device": device.vulkan.name,
        "driver": device.vulkan.driver,
        "weights": made.bytes,
        "prompt": options.prompt,
        "tokens": options.tokens,
        "measure": "cpu" if device.vulkan.target.is_cpu else "wall",
        "answers": answers,
    }
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    _show(found)
    return 0


def _show(found: Mapping[str, Any]) -> None:
    measure = found["measure"]
    unit = f"{'CPU' if measure == 'cpu' else 'wall'} s"
    about = f"{bytes_text(found['weights'])} of weights, a prompt of {found['prompt']} and {found['tokens']} tokens"
    console = Console()
    console.print(f"{found['device']} ({found['driver']}); {about}")
    table = Table("", f"prompt, {unit}", f"a token, {unit}", "peak of the process")
    for name, one in found["answers"].items():
        table.add_row(name, f"{one['prompt'][measure]:.2f}", f"{one['token'][measure]:.3f}", bytes_text(one["peak"]))
    console.print(table)
    ratios = ratios_of(found)
    for name, goal in (GOALS if measure == "cpu" else GPU_GOALS).items():
        if name in ratios:
            verdict = "met" if ratios[name] <= goal else "missed"
            console.print(f"{name}: {ratios[name]:.2f} of llama.cpp's; the goal of {goal:.2f} is {verdict}")


def ratios_of(found: Mapping[str, Any]) -> dict[str, float]:
    """Return our figures divided by llama.cpp's; empty unless both were measured."""
    ours, theirs = (found["answers"].get(name) for name in ("dml", "llama.cpp"))
    if not (ours and theirs):
        return {}
    measure = found["measure"]
    ratios = {name: ours[name][measure] / theirs[name][measure] for name in ("prompt", "token")}
    return {**ratios, "peak": ours["peak"] / theirs["peak"]}


def _answer(command: list[str], run: _Run, cwd: Path | None = None) -> Any:
    """Run a contender and return the JSON that it prints last. Raises SystemExit if it fails."""
    index = str(run.device.vulkan.index)
    environment = {**os.environ, "DML_VULKAN_DEVICE": index, "GGML_VK_VISIBLE_DEVICES": index}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd)
    if ran.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{ran.stderr or ran.stdout}")
    return json.loads(ran.stdout.splitlines()[-1])


def _genai(who: str, run: _Run) -> Any:
    arguments = [who, str(run.folder), str(run.prompt), str(run.tokens)]
    return _answer([sys.executable, "-m", "tools.language_speed.generate", *arguments], run)


def _onnxruntime(run: _Run) -> Any:
    import onnxruntime_genai  # noqa: F401

    return _genai("onnxruntime", run)


def _llama_cpp(run: _Run) -> Any:
    arguments = [str(run.folder / "llama.gguf"), str(run.prompt), str(run.tokens), "vulkan"]
    return _answer(["node", str(LLAMA_CPP), *arguments], run, cwd=installed())


_CONTENDERS: dict[str, Callable[[_Run], Any]] = {
    "dml": lambda run: _genai("dml", run),
    "llama.cpp": _llama_cpp,
    "onnxruntime": _onnxruntime,
}

if __name__ == "__main__":
    sys.exit(main())
