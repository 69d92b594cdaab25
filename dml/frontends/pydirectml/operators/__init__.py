"""PyDirectML's operator functions, under its names, parameters and defaults; one module per family.

Output sizes are inferred as DirectMLX infers them. Inputs do not broadcast by themselves: scripts do it with strides.
"""
