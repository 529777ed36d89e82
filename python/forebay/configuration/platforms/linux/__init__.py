"""Linux traffic control: the units of tc(8), its disciplines, its statements, and what it prints."""
