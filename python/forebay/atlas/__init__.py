"""The atlas: smallest buffers for a utilization over rates, round trips, flows, controllers and background."""
