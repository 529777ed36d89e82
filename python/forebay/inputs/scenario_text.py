"""The tables of a scenario's text before the engines read it: `link_traces` and `code_files` look for files in them."""

from __future__ import annotations

import json
import tomllib
from typing import Any

__all__ = ["line_of", "tables_of"]


def tables_of(text: str, kind: str) -> Any:
    """The tables of a text; None if it cannot be parsed, which its next reader reports.

    Parameters
    ----------
    text : str
    kind : {"toml", "json"}
    """
    try:
        return tomllib.loads(text) if kind == "toml" else json.loads(text)
    except (ValueError, RecursionError):
        return None


def line_of(text: str, found: str) -> int:
    """The line in which a text first occurs, counted from 1."""
    return next((number for number, line in enumerate(text.splitlines(), 1) if found in line), 1)
