"""The lowest feature level that supports a description, a graph, or the operators of a model."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from dml.api.device import create_device
from dml.capability import enumerator_introduced, short_name
from dml.descriptors.base import DML_OPERATOR_DESC, OperatorDesc, unwrap
from dml.descriptors.graph import DML_GRAPH_DESC, DML_OPERATOR_GRAPH_NODE_DESC
from dml.enums import DML_FEATURE_LEVEL, DML_GRAPH_NODE_TYPE
from dml.errors import HRESULT, DMLError
from dml.files import reading
from dml.frontends.summary import Explanation
from dml.validator import needed_level as level_of_operator

_LOWEST = DML_FEATURE_LEVEL.DML_FEATURE_LEVEL_1_0


class NeededLevel(NamedTuple):
    """A feature level and the cause: an operator, a node with its operators, or a constant node."""

    what: str
    level: DML_FEATURE_LEVEL


def needed_level(what: OperatorDesc | DML_OPERATOR_DESC | DML_GRAPH_DESC | str | os.PathLike[str]) -> DML_FEATURE_LEVEL:
    """Return the lowest feature level that supports all operators of a description, a graph or a model's file.

    Files are DxDispatch's JSON, serialized graphs, ONNX models and OpenVINO's; nodes that run on the host are ignored.
    Needs no device. Raises DMLError for operators that no level supports, and for a file that cannot be read.
    """
    return max((level.level for level in needed_levels(what)), default=_LOWEST)


def needed_levels(
    what: OperatorDesc | DML_OPERATOR_DESC | DML_GRAPH_DESC | str | os.PathLike[str],
) -> list[NeededLevel]:
    """Return the level of each operator or node, as ``needed_level`` computes it."""
    if isinstance(what, OperatorDesc | DML_OPERATOR_DESC):
        return [_of(unwrap(what))]
    if isinstance(what, DML_GRAPH_DESC):
        return [_of_node(node.Desc) for node in what.Nodes]
    if not isinstance(what, str | os.PathLike):
        raise DMLError(
            f"needed_level: takes an operator's description, a DML_GRAPH_DESC or a path, found {type(what).__name__}"
        )
    path = Path(what)
    return _of_json(path) if path.suffix.lower() == ".json" else _of_model(path)


def _of(desc: OperatorDesc) -> NeededLevel:
    return NeededLevel(short_name(desc.OPERATOR_TYPE), level_of_operator(desc))


def _of_node(node: object) -> NeededLevel:
    if isinstance(node, DML_OPERATOR_GRAPH_NODE_DESC):
        return _of(node.Operator.desc)
    return NeededLevel("constant", enumerator_introduced(DML_GRAPH_NODE_TYPE.DML_GRAPH_NODE_TYPE_CONSTANT))


def _of_json(path: Path) -> list[NeededLevel]:
    from dml.frontends.dxdispatch.document import parse
    from dml.frontends.dxdispatch.model import is_file
    from dml.frontends.dxdispatch.operators import read_operator

    with reading(path):
        root = parse(path.read_bytes())
    dispatchables = root.get("dispatchables") if root.is_object else None
    values = [root] if dispatchables is None else [value for _, value in dispatchables.members()]
    found = []
    for value in values:
        if not is_file(value):
            desc, faults = read_operator(value)
            if desc is None:
                raise faults[0]
            found.append(_of(desc))
    return found


def _of_model(path: Path) -> list[NeededLevel]:
    from dml.planning.planner import planner

    try:
        found = _explained(path, planner(None)[0])
    except DMLError as error:
        if error.hresult != HRESULT.E_NOTIMPL:
            raise
        found = _explained(path, create_device())  # the plan depends on values that the model computes
    return [NeededLevel(f"{row.node}: {', '.join(row.operators)}", row.level) for row in found.rows if row.operators]


def _explained(path: Path, device: Any) -> Explanation:
    from dml.frontends.options import Options
    from dml.frontends.running import explain_file

    if path.suffix.lower() != ".onnx":
        return explain_file(path, device, Options())
    from dml.frontends.onnx.load.loading import load
    from dml.frontends.onnx.run.backend import PreparedModel
    from dml.frontends.onnx.run.command import explain

    return explain(PreparedModel(load(path), device, severity=4))


__all__ = ["NeededLevel", "needed_level", "needed_levels"]
