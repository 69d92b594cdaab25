"""Operators whose output elements depend on the inputs' elements at the same position."""
