"""Flow records: what exporters and collectors write, read as one table, and flows made of their pieces."""
