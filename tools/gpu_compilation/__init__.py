"""What vendors' compilers make of the kernels."""
