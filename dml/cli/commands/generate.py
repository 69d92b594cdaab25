"""`dml generate`: generates text with a language model."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from ...errors import HRESULT, DMLError
from ...words import bytes_text
from ..app import MISUSED, command, fail
from ..arguments import DeviceOption

if TYPE_CHECKING:
    from ...frontends.genai import Generator, Tokenizer

#: Default length of a chat in tokens; --max-length changes it.
_CHAT_LENGTH = 4096
_QUIT = ("/quit", "/exit")


@command(
    'dml generate folder --prompt "Once upon a time"',
    'dml generate folder --prompt "Hello" --tokens 64 --sample --temperature 0.7 --top-p 0.9 --seed 1',
    "dml generate folder --chat",
    'dml generate whisper --audio speech.wav --prompt "<|startoftranscript|><|en|><|transcribe|><|notimestamps|>"',
)
def generate(
    folder: Annotated[Path, typer.Argument(help="A folder with genai_config.json, as onnxruntime-genai writes it.")],
    prompt: Annotated[str | None, typer.Option(help="Text to continue.")] = None,
    audio: Annotated[Path | None, typer.Option(help="A WAV file of 16 kHz, for a speech model.")] = None,
    chat: Annotated[bool, typer.Option("--chat", help="Chat, with the folder's chat template; /quit ends.")] = False,
    system: Annotated[str | None, typer.Option(help="With --chat: the system message.")] = None,
    tokens: Annotated[int, typer.Option(min=1, help="Maximum new tokens of each answer.")] = 128,
    max_length: Annotated[int | None, typer.Option(min=1, help="Maximum tokens in the cache.")] = None,
    sample: Annotated[bool, typer.Option("--sample", help="Sample tokens by their probabilities.")] = False,
    temperature: Annotated[float | None, typer.Option(help="With --sample: below 1 favours likely tokens.")] = None,
    top_k: Annotated[int | None, typer.Option(help="With --sample: only the k most likely tokens; 0 for all.")] = None,
    top_p: Annotated[float | None, typer.Option(help="With --sample: the top tokens of this total share.")] = None,
    repetition_penalty: Annotated[float | None, typer.Option(help="Above 1: tokens repeat less often.")] = None,
    beams: Annotated[int | None, typer.Option(min=1, help="Number of beams; prints the text at the end.")] = None,
    seed: Annotated[int | None, typer.Option(help="With --sample: makes the text reproducible.")] = None,
    device: DeviceOption = "",
) -> None:
    """Generate text with a language model; report its speed and memory."""
    if (prompt is None) != chat:
        raise fail("generate: one of --prompt and --chat is needed", MISUSED)
    if chat and beams is not None and beams > 1:
        raise fail("generate: --chat and --beams exclude each other", MISUSED)
    if chat and audio is not None:
        raise fail("generate: --chat and --audio exclude each other", MISUSED)
    from ...frontends import genai

    began = time.perf_counter()
    model = genai.Model(folder, device=device or None)
    tokenizer = genai.Tokenizer(model)
    loaded = time.perf_counter() - began
    params = genai.GeneratorParams(model)
    chosen: dict[str, Any] = {
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "repetition_penalty": repetition_penalty,
        "num_beams": beams,
        "random_seed": seed,
    }
    given = {name: value for name, value in chosen.items() if value is not None}
    params.set_search_options(do_sample=sample, **given)
    if chat:
        params.set_search_options(max_length=max_length or min(model.context_length, _CHAT_LENGTH))
        figures = _converse(genai.Generator(model, params), tokenizer, system, tokens)
    else:
        heard = None
        if audio is not None:
            heard = model.create_multimodal_processor()(prompt or "", audios=genai.Audios.open(audio))
        ids = tokenizer.encode(prompt or "") if heard is None else np.asarray(heard.pop(model.decoder.ids))[0]
        params.set_search_options(max_length=max_length or min(model.context_length, len(ids) + tokens))
        generator = genai.Generator(model, params)
        if heard is not None:
            generator.set_inputs(heard)
        figures = _Figures()
        figures.answer(generator, tokenizer, ids, tokens, streams=(beams or 1) == 1)
    typer.echo(f"{model.device.vulkan.name}: loaded in {loaded:.1f} s, {figures.text()}", err=True)
    typer.echo(f"memory: {_memory(model.device.context.describe_memory())}", err=True)


def _converse(generator: Generator, tokenizer: Tokenizer, system: str | None, most: int) -> _Figures:
    """Answer questions from standard input until it ends."""
    figures = _Figures()
    messages = [{"role": "system", "content": system}] if system else []
    while True:
        try:
            question = input("> ")
        except EOFError:
            break
        if question.strip() in _QUIT:
            break
        if not question.strip():
            continue
        messages.append({"role": "user", "content": question})
        ids = tokenizer.encode(tokenizer.apply_chat_template(json.dumps(messages), add_generation_prompt=True))
        figures.answer(generator, tokenizer, ids, most)
        messages = []  # earlier messages are in the cache
    return figures


@dataclass
class _Figures:
    """Counts and seconds of all answers. first: seconds to the first token of each answer."""

    prompt: int = 0
    answered: int = 0
    steps: int = 0
    seconds: float = 0.0
    first: list[float] = field(default_factory=list)

    def answer(self, generator: Generator, tokenizer: Tokenizer, ids: Any, most: int, *, streams: bool = True) -> None:
        """Append a prompt and print the answer, token by token if ``streams``."""
        began = time.perf_counter()
        generator.append_tokens(ids)
        if generator.is_done():
            raise DMLError(
                f"the cache is full: the prompt takes all max_length = {generator.token_count()} tokens",
                HRESULT.E_OUTOFMEMORY,
            )
        self.prompt += len(ids)
        stream = tokenizer.create_stream()
        for count in range(most):
            generator.generate_next_token()
            if count == 0:
                self.first.append(time.perf_counter() - began)
                began = time.perf_counter()
            else:
                self.steps += 1
            if streams:
                typer.echo(stream.decode(int(generator.get_next_tokens()[0])), nl=False)
            self.answered += 1
            if generator.is_done():
                break
        self.seconds += time.perf_counter() - began
        typer.echo("" if streams else tokenizer.decode(generator.get_sequence(0)[len(ids) :]))

    def text(self) -> str:
        if not self.first:
            return "no tokens"
        speed = f", {self.steps / self.seconds:.1f} tokens a second" if self.steps and self.seconds else ""
        return f"{self.prompt} prompt tokens, first token after {self.first[-1]:.2f} s, {self.answered} tokens{speed}"


def _memory(device: str) -> str:
    """Return the device's memory, and the process's peak if the system reports it."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows has no such module
        return device
    import sys

    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return f"process {bytes_text(peak)} at most; on the device {device}"
