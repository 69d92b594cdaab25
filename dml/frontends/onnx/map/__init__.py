"""Nodes mapped to DirectML operators while a model is walked with its input shapes known."""
