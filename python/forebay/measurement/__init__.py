"""Tools around single runs: precision, warm-up, run time, traces, clusters and emulation.

Searches, sweeps and comparisons run their jobs through them. None of them knows a search.
"""
