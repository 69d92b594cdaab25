"""Compile the kernels with vendors' compilers and record the results."""
