"""How we know it is right, and how fast it is: what `make reference`, `make checks` and `make bench` run."""
