"""Mappings of ONNX operators, one module per family; importing a module registers them."""
