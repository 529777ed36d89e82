"""Checks of correctness and of speed, which `make reference`, `make checks` and `make bench` run."""
