"""PyDirectML's operator functions, with its names, parameters and defaults; one module per family.

Output sizes are inferred as in DirectMLX. Inputs do not broadcast automatically: scripts broadcast with strides.
"""
