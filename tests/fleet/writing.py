"""Writes inventories for tests."""

from __future__ import annotations

from pathlib import Path

from forebay.fleets.inventory import Inventory, read_inventory

HEADER = "device,port,rate,platform,buffer,queue,goals,utilization,mtu"


def inventory(folder: Path, text: str | bytes, name: str = "ports.csv") -> Inventory:
    """The inventory of one file."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_inventory(path)


def folder_of(folder: Path, files: dict[str, str]) -> Inventory:
    """The inventory of a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return read_inventory(folder)


def reasons(found: Inventory) -> list[tuple[int | None, str]]:
    """Line and reason of each rejected row."""
    return [(line, reason) for _, line, reason in found.rejected.iter_rows()]
