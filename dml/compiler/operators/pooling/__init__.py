"""Pooling over windows and over regions of interest, forwards and backwards."""
