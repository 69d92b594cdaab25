"""Tuning: measure which variants of the heavy kernels are fastest on a device, for `dml tune`."""
