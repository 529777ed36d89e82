"""Readers of `observe`: a file for each kind of input, a line in the registry, and what is known but not read."""
