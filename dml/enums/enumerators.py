"""Every enumerator as a module-level name, as in C.

Type checkers and editors only see literal names: they read the stub next to this module, which ``python -m
tools.constructor_signatures`` writes.
"""

from enum import EnumMeta

from dml.enums import attributes, devices, operators, tensors

for _module in (attributes, devices, operators, tensors):
    for _enumeration in vars(_module).values():
        if isinstance(_enumeration, EnumMeta) and _enumeration.__module__ == _module.__name__:
            globals().update(_enumeration.__members__)
