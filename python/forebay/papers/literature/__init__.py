"""Published claims outside the five papers: runs, claims with their sources, and pictures of both values.

A claim is a `[[figure.claim]]` with `source` and `seen`, and its run, in a TOML file of this folder.
"""
