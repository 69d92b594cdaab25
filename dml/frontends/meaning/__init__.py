"""Operations that several formats share and DirectML lacks.

Each module covers one subject, in functions of graph tensors or of plain numbers. Formats call them with their own
names, defaults and errors; no module here depends on a format.
"""
