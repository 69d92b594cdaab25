"""Normalizations by mean and variance, over any axes, and local response normalization."""
