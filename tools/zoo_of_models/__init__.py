"""tools/zoo: compare architectures with random weights, exported by common tools, with onnxruntime."""
