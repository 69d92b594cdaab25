"""The operations of MLGraphBuilder, by family: each checks its operands by the specification's algorithm, and defines
the DirectML operators that compute it."""
