"""Convolutions of floats and of integers."""
