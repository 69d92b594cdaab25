"""Operators that move elements: slices, joins, gathers, scatters, padding, folds; and views that move nothing."""
