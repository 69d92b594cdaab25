"""The runtime: devices and their limits, buffers, pipelines and recordings, through Kompute. It knows no operator."""
