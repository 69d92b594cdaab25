"""Reproducers for a driver's vendor: a failing case as a C program that needs only Vulkan, with its kernels and
data."""

from dml.conformance.reproducer.folder import check, write_reproducers

__all__ = ["check", "write_reproducers"]
