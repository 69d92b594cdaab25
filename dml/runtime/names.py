"""Names for pipelines, buffers and dispatches in validation messages and debuggers (VK_EXT_debug_utils)."""

from __future__ import annotations

import hashlib
import os
import re

from dml.compiler.program import Dispatch
from dml.glslang import wants_debug_information

#: Names a folder to write kernels to (see ``dump``).
DUMP_VARIABLE = "DML_DUMP"

#: Variables that load a layer which shows names: a validation layer, or RenderDoc.
LAYER_VARIABLES = ("VK_INSTANCE_LAYERS", "VK_LOADER_LAYERS_ENABLE", "ENABLE_VULKAN_RENDERDOC_CAPTURE")


def are_wanted() -> bool:
    """Whether names are useful: shaders are dumped, carry debug information, or a layer is requested."""
    return wants_debug_information() or any(os.environ.get(name) for name in (DUMP_VARIABLE, *LAYER_VARIABLES))


def of_kernel(dispatch: Dispatch, spirv: bytes) -> str:
    """Name a kernel with its constants: its path under ``shaders/`` and a hash, as in its dumped files."""
    path = re.sub(r"[^\w.]+", "-", dispatch.label.removesuffix(".comp"))
    return f"{path}-{hashlib.sha256(spirv).hexdigest()[:8]}"


def of_dispatch(dispatch: Dispatch) -> str:
    """Name a dispatch and its descriptor set: the kernel, and the graph nodes that it computes."""
    return f"{dispatch.label} for {dispatch.node}" if dispatch.node else dispatch.label
