"""The text of kernels: where their sources lie, the prelude that is generated for each, and expressions as GLSL."""
