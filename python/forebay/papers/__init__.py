"""One folder per paper: scenarios, runs and claims as data (`paper.toml`), and how each figure is drawn."""
