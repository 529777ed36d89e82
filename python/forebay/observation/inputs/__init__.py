"""Readers of `observe`: a file for each kind of input, a line in the registry, and what is known but not read.

A `Reader` has a name, a test that recognizes an input, and what it yields. An input that is known and not read is a
line in `unread`. The names of columns are in `flow_records.names` and `counter_files.names`.
"""
