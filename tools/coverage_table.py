"""Print a Markdown table of each operator's tensors: data types and dimension counts, tested and documented."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import dml
from dml.compiler.lowering import implemented


def main(folder: str) -> None:
    ran: dict[tuple[str, str], dict[str, set[int]]] = {}
    for file in Path(folder).glob("*.json"):
        for operator, name, kind, rank in json.loads(file.read_text()):
            ran.setdefault((operator, name), {}).setdefault(kind, set()).add(rank)
    classes = dml.operators()
    print(f"{len(implemented())} of {len(classes)} operators implemented.\n")
    print("| operator | tensor | data types ran / documented | not run | dimension counts ran / documented |")
    print("| --- | --- | --- | --- | --- |")
    for operator_type in classes:
        operator = operator_type.name.removeprefix("DML_OPERATOR_")
        support = dml.operator_support(operator_type, dml.DML_FEATURE_LEVEL_6_4) or {}
        for name, tensor in support.items():
            found = ran.get((operator, name), {})
            documented = {t.name.removeprefix("DML_TENSOR_DATA_TYPE_") for t in tensor.data_types}
            ranks = {rank for seen in found.values() for rank in seen}
            missing = ", ".join(sorted(documented - set(found))) or "-"
            counts = tensor.dimension_counts
            print(
                f"| {operator} | {name} | {len(documented & set(found))} / {len(documented)} | {missing} "
                f"| {', '.join(map(str, sorted(ranks))) or '-'} / {counts[0]} to {counts[-1]} |"
            )


if __name__ == "__main__":
    main(sys.argv[1])
