"""One module or package per family of operators: from their descriptors to dispatches.

Each module registers its lowerings when it is imported; dml/compiler/lowering.py imports all that lie here.
"""
