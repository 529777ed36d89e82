"""Counters of a port in the files of those who poll them: tables, JSON of telemetry, and what Prometheus exports."""
