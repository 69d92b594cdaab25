"""onnxruntime's names: sessions, options, values and the functions of its module."""
