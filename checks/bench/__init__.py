"""Speed of the engines on fixed scenarios: `make bench`."""
