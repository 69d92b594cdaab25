"""What validation messages and debuggers call our pipelines, buffers and dispatches (VK_EXT_debug_utils)."""

from __future__ import annotations

import hashlib
import os
import re

from dml.compiler.program import Dispatch
from dml.glslang import wants_debug_information

#: The folder that kernels are written to (see ``dump``); nothing is written where it is not set.
DUMP_VARIABLE = "DML_DUMP"

#: Variables that load a layer which shows names: a validation layer, or RenderDoc.
LAYER_VARIABLES = ("VK_INSTANCE_LAYERS", "VK_LOADER_LAYERS_ENABLE", "ENABLE_VULKAN_RENDERDOC_CAPTURE")


def are_wanted() -> bool:
    """Whether somebody looks: shaders are dumped or carry debug information, or a layer is asked for."""
    return wants_debug_information() or any(os.environ.get(name) for name in (DUMP_VARIABLE, *LAYER_VARIABLES))


def of_kernel(dispatch: Dispatch, spirv: bytes) -> str:
    """Of a kernel with its constants: its path under ``shaders/`` and a hash. Its dumped files have this name too."""
    path = re.sub(r"[^\w.]+", "-", dispatch.label.removesuffix(".comp"))
    return f"{path}-{hashlib.sha256(spirv).hexdigest()[:8]}"


def of_dispatch(dispatch: Dispatch) -> str:
    """Of a dispatch and its descriptor set: the kernel, and the graph's nodes that it computes."""
    return f"{dispatch.label} for {dispatch.node}" if dispatch.node else dispatch.label
