"""Untrusted ONNX files read, mended and checked; their weights stay in the file."""
