"""The rows that a sweep finds in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from forebay.sweeps.batches import Batches
from forebay.sweeps.grid import Grid
from forebay.sweeps.jobs import Row
from forebay.sweeps.sweeping import Work

__all__ = ["stored_rows"]


def stored_rows(grid: Grid, folder: Path, damaged: Callable[[Path, str], object]) -> dict[str, Row]:
    """The accepted rows of the jobs of a grid by key; `damaged` is called for each damaged file."""
    batches = Batches(folder)
    work = Work(grid, batches, lambda *_: None)
    batches.read(work.accept, damaged)
    numbers = np.flatnonzero(work.lines >= 0).tolist()
    texts = batches.texts(work.lines[numbers].tolist())
    return {grid.key(number): json.loads(text) for number, text in zip(numbers, texts, strict=True)}
