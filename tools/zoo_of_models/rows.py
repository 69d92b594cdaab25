"""The models' results, and the tables that show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table

RIGHT, WRONG, REFUSED, LEFT_OUT = "right", "wrong", "refused", "left out"
#: Verdicts that blame the exporter or onnxruntime, not dml.
NOT_EXPORTED = "not exported"
VERDICTS = (RIGHT, WRONG, REFUSED, NOT_EXPORTED, LEFT_OUT)


@dataclass
class Row:
    """One model's result. error: as returned by ``compare``. theirs: onnxruntime's time. Times are CPU seconds."""

    name: str
    by: str
    opset: int
    precision: str
    verdict: str = LEFT_OUT
    why: str = ""
    nodes: int = 0
    error: float | None = None
    host_parts: int = 0
    host_nodes: Sequence[str] = ()
    cold: float | None = None
    warm: float | None = None
    steady: float | None = None
    theirs: float | None = None

    @property
    def ratio(self) -> float | None:
        return self.steady / self.theirs if self.steady is not None and self.theirs else None


HEADS = ("model", "exported by", "opset", "nodes", "", "error", "on the CPU", "cold", "warm", "steady", "ratio")


def _cells(row: Row) -> list[str]:
    def number(value: float | None, form: str = ".2f") -> str:
        return "" if value is None else format(value, form)

    off = number(row.error, ".1e" if row.precision != "quantized" else ".2g")
    error = off + (" steps" if off and row.precision == "quantized" else "")
    host = f"{row.host_parts}: {', '.join(row.host_nodes)}" if row.host_parts else ""
    times = [number(row.cold), number(row.warm), number(row.steady, ".3f"), number(row.ratio, ".1f")]
    return [row.name, row.by, str(row.opset), str(row.nodes), row.verdict, error, host, *times]


def _summary(rows: list[Row]) -> str:
    counts = {verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS}
    host = sum(row.host_parts > 0 for row in rows)
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + f"; {host} with parts on the CPU"


def table(rows: list[Row]) -> Table:
    made = Table(title=_summary(rows))
    for head in HEADS:
        made.add_column(head, overflow="fold")
    for row in rows:
        made.add_row(*_cells(row))
    return made


def markdown(rows: list[Row]) -> str:
    lines = [" | ".join(HEADS), " | ".join("---" for _ in HEADS), *(" | ".join(_cells(row)) for row in rows)]
    notes = "".join(f"\n- {row.name}: {row.why}" for row in rows if row.why)
    return "".join(f"| {line} |\n" for line in lines) + f"\n{_summary(rows)}.\n{notes}\n"
