"""Matrix products of floats and of integers, which recurrences, attention and convolutions use."""
