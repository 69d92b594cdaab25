"""The meaning of operations that formats share and DirectML has no operator for.

Each module is one subject, in functions of graph tensors or of plain numbers. Formats call them with their own names,
defaults and errors; nothing here knows a format.
"""
