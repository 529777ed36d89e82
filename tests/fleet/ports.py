"""Small inventories for the tests of `fleet`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from forebay.fleets.inventory import Inventory, read_inventory
from forebay.fleets.profiles import Profiles, load_profiles
from tests.support.scenarios import PROFILE

__all__ = ["inventory", "profiles"]


def inventory(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Inventory:
    """An inventory with these ports; each has a device, a port and 2 Mb/s unless it says more."""
    path = folder / "ports.csv"
    full = [{"device": "d", "port": f"eth{number}", "rate_bps": 2_000_000, **row} for number, row in enumerate(rows)]
    pl.DataFrame(full, infer_schema_length=None).write_csv(path)
    return read_inventory(path)


def profiles(folder: Path, text: str = PROFILE) -> Profiles:
    """A folder with one profile."""
    place = folder / "profiles"
    place.mkdir(exist_ok=True)
    (place / "small.toml").write_text(text, encoding="utf-8")
    return load_profiles(place)
