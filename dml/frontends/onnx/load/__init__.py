"""Loading of untrusted ONNX files: they are read, repaired and checked; their weights stay in the file."""
