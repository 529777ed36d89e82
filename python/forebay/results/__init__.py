"""Results of engines: reports, metrics, warnings and statistics of replications."""
