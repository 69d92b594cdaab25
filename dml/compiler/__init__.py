"""From a descriptor to a Program: plain data that says which shaders run on which regions. Knows no Kompute."""
