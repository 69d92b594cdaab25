"""The mappings of layers, one module per family. Each mapping implements the layer's page in OpenVINO's operation
sets."""
