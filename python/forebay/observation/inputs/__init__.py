"""Inputs of `observe`: a file for each tool, and a line in the registry for each of its forms.

An input has `accepts`, which recognizes the beginning of a file, `read`, and `finding`. Inputs of one kind share the
last two: `counters`, `flow_records`, `sockets` and `capture` have them. An input that is known and not read is a line
in `unread`. Names of columns are in `flow_records.names` and `counter_files.names`.
"""
