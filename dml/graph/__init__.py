"""Graphs of operators: DML_GRAPH_DESC, the passes over it, its program, and the Builder that makes one."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dml.graph.builder import Builder as Builder
    from dml.graph.builder import Tensor as Tensor
else:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from dml.graph import builder  # imported on request: a graph in C's terms does not need it

        return getattr(builder, name)


__all__ = ["Builder", "Tensor"]
