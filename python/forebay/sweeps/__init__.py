"""Grids of scenarios: run, resumed, spread over a cluster, packed up and run again."""
