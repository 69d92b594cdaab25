"""The cross-vendor suite: every operator on a device, against NumPy references that share nothing with the compiler.

`families` describes what is tried of each operator, `references` says in NumPy what must come out, and the modules here
turn that into cases, run them, and report.
"""
