"""The operations of MLGraphBuilder, by family: each checks as the specification's algorithm does, and says how DirectML
computes it."""
