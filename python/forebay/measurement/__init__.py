"""What surrounds a run: how long, how often, from when on, what it leaves, and what to beware of."""
