"""Tools around single runs: precision, warm-up, run time, traces, clusters and emulation."""
