"""Compilation of descriptors to Programs: plain data about shaders and the regions they bind. It knows no Kompute."""
