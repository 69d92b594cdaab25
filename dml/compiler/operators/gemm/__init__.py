"""Products of matrices, of floats and of integers, on which recurrences, attention and convolutions build."""
