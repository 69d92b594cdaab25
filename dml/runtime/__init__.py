"""Kompute: devices and their limits, buffers, pipelines and recordings. Knows no operator."""
