"""Drawings of this paper's figures; everything else is in `paper.toml`."""
