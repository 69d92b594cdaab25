"""A device that only plans: graphs become Programs for a target, and nothing can run.

It answers questions about a model before any work is spent on it, on machines with and without a device.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dml.capability import LATEST
from dml.compiler.program import Program
from dml.compiler.target import DeviceClass, Target
from dml.descriptors.base import OperatorDesc
from dml.enums import DML_FEATURE_LEVEL
from dml.errors import HRESULT, DMLError
from dml.graph.compile import compile_graph
from dml.graph.model import Graph
from dml.runtime.advice import NoVulkanDevice
from dml.runtime.devices import choose
from dml.runtime.needs import MemoryNeeds, memory_needs
from dml.validator import validate


class PlannedOperator:
    """A validated description."""

    def __init__(self, desc: OperatorDesc) -> None:
        self.desc = desc


class PlannedGraph:
    """A graph's Program, and the memory that it needs on the device."""

    def __init__(self, program: Program, fields: Sequence[Any]) -> None:
        self.program = program
        self.input_fields = list(fields)
        #: A planner keeps no buffers on a device.
        self.kept: Mapping[object, int] = {}
        self.kept_kernels: Collection[object] = ()

    def dispatch(self, inputs: Mapping[Any, Any], **_: Any) -> dict[Any, Any]:
        """Raise DMLError (E_NOTIMPL): a plan that depends on values that the model computes needs a device."""
        raise DMLError("the plan depends on values that only a device computes", HRESULT.E_NOTIMPL)

    def needs(self) -> MemoryNeeds:
        """Return the memory that it needs on the device while it runs."""
        return memory_needs(self.program)


class Planner:
    """Replaces a Device where graphs are built and compiled. target: the device to plan for."""

    def __init__(self, target: Target, feature_level: DML_FEATURE_LEVEL = LATEST) -> None:
        self.target = target
        self.feature_level = feature_level

    def create_operator(self, desc: Any) -> PlannedOperator:
        validate(desc, self.feature_level)
        return PlannedOperator(desc)

    def _compile_graph(self, graph: Graph, *_: Any, optimize: bool = True, **__: Any) -> PlannedGraph:
        return PlannedGraph(compile_graph(graph, self.target, optimize=optimize), graph.input_fields)


def planner(device: int | str | None = None) -> tuple[Planner, str]:
    """Return a planner for a device, which is not opened, and the device's name; a discrete GPU if there is none.

    Raises DMLError if a named device does not exist.
    """
    try:
        found = choose(device)
    except NoVulkanDevice:
        if device is not None:
            raise
        return Planner(Target(DeviceClass.DISCRETE)), "a discrete GPU with Vulkan's smallest limits"
    return Planner(found.target), found.name
