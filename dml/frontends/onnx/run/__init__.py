"""Prepared models: parts on the device and on the host, planned per set of input shapes."""
