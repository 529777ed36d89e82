"""Every engine and every rule on one scenario, and why they differ."""
