"""Operators whose output element depends on the elements at the same place of their inputs."""
