"""`make atlas`: the smallest buffer for a utilization over rates, round trips, flows, controllers and background."""
