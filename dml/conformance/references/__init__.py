"""What operators compute, in NumPy and float64 (or exact integers): nothing here knows the compiler or its kernels."""
