"""Reductions along axes, cumulative sums and products, top k, coordinates of nonzero elements."""
