"""The channel block size of models that onnxruntime optimized for a CPU (com.microsoft.nchwc).

Files do not state it. It is 8 or 16, depending on the vector width of the CPU that saved the model, and filters are
stored in blocks of this size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ..dtypes import Array

NCHWC = "com.microsoft.nchwc"


def with_blocks(opsets: Mapping[str, int], nodes: Iterable[Any], initial: Mapping[str, Array]) -> dict[str, int]:
    """Return the opsets with the block size as the version of com.microsoft.nchwc; mappings of its operators are
    registered from version 8 on.

    The domain has only one version. If the size is unknown, the version stays 1, and the nodes run on the host. nodes:
    NodeProtos of the graph. initial: its initializers by name.
    """
    own = [node for node in nodes if node.domain == NCHWC]
    size = (block_size(own, initial) or _of_this_machine()) if own else None
    return {**opsets, NCHWC: size} if size else dict(opsets)


def block_size(nodes: Iterable[Any], initial: Mapping[str, Array]) -> int | None:
    """Return the only size that the channel counts allow; None if both or neither are possible.

    Channels are padded to whole blocks, except for an input with fewer channels than a block.
    """
    possible = {8, 16}
    makers = {name: node for node in nodes for name in node.output}
    for node in makers.values():
        if node.op_type == "Conv":
            filters = initial.get(node.input[1])
            if filters is None or filters.ndim != 4:
                return None
            outputs, inputs = filters.shape[:2]
            if outputs % 16 or (inputs > 16 and inputs % 16) or (inputs == 8 and node.input[0] in makers):
                possible.discard(16)
            if 8 < inputs < 16:
                possible.discard(8)
        elif node.op_type == "ReorderOutput":
            before = makers.get(node.input[0])
            filters = initial.get(before.input[1]) if before is not None and before.op_type == "Conv" else None
            channels = next((item.i for item in node.attribute if item.name == "channels"), 0)
            if filters is not None and filters.shape[0] - channels >= 8:
                possible.discard(8)
    return possible.pop() if len(possible) == 1 else None


@cache
def _of_this_machine() -> int | None:
    """Return the block size that onnxruntime uses on this machine; None if it is not installed or uses no blocks."""
    try:
        import onnxruntime  # few models need it, so it is imported here
    except ImportError:
        return None
    filters = numpy_helper.from_array(np.ones((8, 3, 1, 1), np.float32), "w")
    entries = [helper.make_tensor_value_info(name, 1, [1, size, 2, 2]) for name, size in (("x", 3), ("y", 8))]
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"])], "g", entries[:1], entries[1:], [filters])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    with TemporaryDirectory() as folder:
        path = Path(folder) / "blocked.onnx"
        options.optimized_model_filepath = str(path)
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        saved = onnx.load(path).graph
    if not any(node.domain == NCHWC for node in saved.node):
        return None
    size = int(saved.initializer[0].dims[0])
    return size if size in (8, 16) else None
