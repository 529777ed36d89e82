"""Folders and files of the project that tests read."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]

#: The laboratory's page, which is not built where npm or a compiler for WebAssembly is missing.
PAGE = ROOT / "python/forebay/laboratory/index.html"
