"""One module or package per family of operators: from their descriptors to dispatches.

Each module registers its lowerings when it is imported; dml/compiler/lowering.py imports a family, all that lies in it,
when it is first asked for one of its operators.
"""
