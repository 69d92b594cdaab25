"""Convolutions, of floats and of integers, and their variants."""
