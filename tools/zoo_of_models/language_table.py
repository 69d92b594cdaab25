"""tools/zoo --language: build families of language models, generate with them and compare; a table row each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import onnx

from dml.files import write_text
from tools.zoo_of_models.families import FAMILIES, PRECISIONS, PROVIDERS, build, checkpoint

RIGHT, WRONG, REFUSED, NOT_BUILT, NOT_JUDGED = "right", "wrong", "refused", "not built", "not judged"
#: Verdict where dml and onnxruntime-genai both refuse the folder.
BOTH = "refused by both"
#: Verdicts that blame the builder or the judge.
NOT_OURS = (NOT_BUILT, NOT_JUDGED, BOTH)
#: All precisions and providers except fp16 on CPUs, which the builder lacks.
PAIRS = [
    (precision, provider)
    for precision in PRECISIONS
    for provider in PROVIDERS
    if (precision, provider) != ("fp16", "cpu")
]
#: Timeout for one model, in seconds.
_PATIENCE = 300


@dataclass
class LanguageRow:
    """A folder's result. error: the largest difference of logits relative to the largest logit, over nine positions.

    judge: the implementation to compare with. same: positions with the same likeliest token.
    """

    family: str
    precision: str
    provider: str
    verdict: str = NOT_BUILT
    why: str = ""
    judge: str = ""
    error: float = 0.0
    same: int = 0
    on_host: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.family}-{self.precision}-{self.provider}"


def run_family(row: LanguageRow, place: Path, device: str) -> None:
    """Build a folder if missing, and compare it in a separate process."""
    source, folder = place / "src" / row.family, place / row.name
    try:
        if not (source / "config.json").exists():
            checkpoint(row.family, source)
        if not (folder / "genai_config.json").exists():
            build(source, folder, row.precision, row.provider, place / "cache")
    except Exception as error:  # builders raise any exception
        row.why = _one_line(f"{type(error).__name__}: {error}".replace(str(place), "FOLDER"))
        return
    unmade = _unmade(folder)
    if unmade:
        row.why = f"no node computes {unmade[0]} in the builder's file"
        return
    command = [sys.executable, "-m", "tools.zoo_of_models.generating", str(folder), str(source), row.precision, device]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        row.verdict, row.why = REFUSED, f"took more than {_PATIENCE} s"
        return
    if done.returncode:
        row.verdict, row.why = REFUSED, _one_line((done.stderr.strip().splitlines() or ["ended without a message"])[-1])
        return
    found = json.loads(done.stdout.splitlines()[-1])
    if found.get("both"):
        row.verdict, row.why = BOTH, _one_line(found["refused"].replace(str(place), "FOLDER"))
        return
    row.verdict = RIGHT if found["right"] else WRONG if found["judge"] else NOT_JUDGED
    row.why = "" if found["judge"] else _one_line(found["refused"])
    row.judge, row.error, row.same, row.on_host = (found[name] for name in ("judge", "error", "same", "on_host"))


def _unmade(folder: Path) -> list[str]:
    """Return the models' outputs that no node computes: such a file is not valid ONNX."""
    graphs = [onnx.load(path, load_external_data=False).graph for path in sorted(folder.glob("*.onnx"))]
    return [
        output.name
        for graph in graphs
        for output in graph.output
        if not any(output.name in node.output for node in graph.node)
    ]


def language_rows(only: Sequence[str], place: Path, device: str) -> list[LanguageRow]:
    """Return rows of the families whose names contain one of ``only``; of all families if ``only`` is empty."""
    rows = []
    for family in FAMILIES:
        for precision, provider in PAIRS:
            row = LanguageRow(family, precision, provider)
            if only and not any(part in row.name for part in only):
                continue
            run_family(row, place, device)
            print(f"{row.name}: {row.verdict} {row.why or f'{row.error:.1e}'}", file=sys.stderr, flush=True)
            rows.append(row)
    return rows


def language_markdown(rows: Sequence[LanguageRow]) -> str:
    """Return a Markdown table with a row per family and a column per precision and provider. Cells hold the error, or
    the verdict where outputs were not compared."""
    kinds = list(dict.fromkeys((row.precision, row.provider) for row in rows))
    found = {(row.family, row.precision, row.provider): row for row in rows}
    heads = ["family", *(f"{precision} {provider}" for precision, provider in kinds), "on the host"]
    lines = [heads, ["---"] * len(heads)]
    for family in dict.fromkeys(row.family for row in rows):
        own = [row for row in rows if row.family == family]
        cells = [_cell(found.get((family, *kind))) for kind in kinds]
        on_host = sorted({name for row in own for name in row.on_host})
        lines.append([family, *cells, ", ".join(on_host) or ("nothing" if any(row.judge for row in own) else "")])
    text = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if row.why:
            reasons.setdefault(f"{row.verdict}: {row.why}", []).append(row.name)
    notes = "".join(f"- {', '.join(names)}: {why}\n" for why, names in reasons.items())
    built = [row for row in rows if row.verdict not in NOT_OURS]
    right = sum(row.verdict == RIGHT for row in built)
    return f"{text}\n{right} of {len(built)} folders are right.\n\n{notes}"


def language_json(rows: Sequence[LanguageRow], path: Path) -> None:
    write_text(path, json.dumps([asdict(row) for row in rows], indent=1))


def _cell(row: LanguageRow | None) -> str:
    if row is None:
        return ""
    if not row.judge:
        return row.verdict
    marked = "" if row.verdict == RIGHT else f"{row.verdict}, "
    return f"{marked}{row.error:.0e}{' (transformers)' if row.judge == 'transformers' else ''}"


def _one_line(text: str) -> str:
    return " ".join(text.split())[:200].replace("|", "\\|")
