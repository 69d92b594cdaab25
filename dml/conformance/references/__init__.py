"""Reference results of operators in NumPy and float64 (or exact integers), independent of the compiler and its
kernels."""
