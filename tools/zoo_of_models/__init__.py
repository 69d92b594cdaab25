"""Whole architectures with random weights, exported by the tools that people use, beside onnxruntime: tools/zoo."""
