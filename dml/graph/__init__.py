"""Graphs of operators: reading DML_GRAPH_DESC, the passes over it, and its program."""
