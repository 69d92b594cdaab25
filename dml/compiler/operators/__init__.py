"""Lowerings: one module or package per family of operators, from descriptors to dispatches.

A module registers its lowerings when imported; dml/compiler/lowering.py imports a whole family when one of its
operators is first needed.
"""
