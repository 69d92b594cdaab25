"""Records the operators that the tests run, with data types and dimension counts, for tools/coverage."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

#: Names a folder in which each process of the suite writes one file.
VARIABLE = "DML_COVERAGE_DIR"


class Plugin:
    """Records every operator that is compiled, alone or in a graph."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.seen: set[tuple[str, str, str, int]] = set()

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        from dml.compiler import lowering
        from dml.graph import compile as graph_compile

        original = lowering.lower

        def lower(desc: Any, builder: Any) -> None:
            original(desc, builder)
            self.note(desc)

        lowering.lower = lower
        graph_compile.lower = lower  # type: ignore[attr-defined]

    def note(self, desc: Any) -> None:
        operator = desc.OPERATOR_TYPE.name.removeprefix("DML_OPERATOR_")
        for name, field in (*desc.inputs(), *desc.outputs()):
            for tensor in field if isinstance(field, tuple) else (field,):
                if tensor is not None:
                    kind = tensor.DataType.name.removeprefix("DML_TENSOR_DATA_TYPE_")
                    self.seen.add((operator, name, kind, tensor.rank))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{os.getpid()}.json").write_text(json.dumps(sorted(self.seen)))


def register(config: pytest.Config) -> None:
    if os.environ.get(VARIABLE):
        config.pluginmanager.register(Plugin(os.environ[VARIABLE]), "dml-coverage")
