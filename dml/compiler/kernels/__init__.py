"""Kernel text: the sources, the generated prelude of each, and expressions as GLSL."""
