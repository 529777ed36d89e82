"""Formats of inventories: one module each, and the registry that chooses one by the content of a file."""
