"""Which variants of the heavy kernels are fastest on a device, found by running them: what `dml tune` does."""
