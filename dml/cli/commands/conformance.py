"""`dml conformance`: the cross-vendor suite."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from ...conformance.command import app as conformance
from ..app import EXAMPLES, app, write_examples

EXAMPLES["conformance"] = (
    "dml conformance --quick --html report.html",
    "dml conformance --device NVIDIA --as plain --as minimum --json report.json",
    "dml conformance --filter GRU --filter LSTM --full",
    "dml conformance --full --shard 2/8 --json 2.json",
    "dml conformance --full --resume run.jsonl",
    "dml conformance --case GRU:type=FLOAT16 --dump folder",
    "dml conformance show report.json --types",
    "dml conformance merge 1.json 2.json -o all.json",
    "dml conformance compare before.json after.json",
)


class GroupWithExamples(TyperGroup):
    """A group of commands whose help ends with examples."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        write_examples(str(self.name), formatter)


app.add_typer(conformance, name="conformance", cls=GroupWithExamples)
