"""A probe inside of a user's class: a subclass that writes down the smallest window that the class returned.

The engine uses one packet if a window is smaller, so no trace shows the window that the class returned. The probe is
text behind the text of the file, because the class runs in a process of its own. `module_probe` does the same for
WebAssembly.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["least_window", "probed"]

CLASS = "ForebayProbe"
TEXT = '''

class ForebayProbe({name}):
    """Writes down each window that is smaller than all before it."""

    def window(self):
        found = super().window()
        if float(found) < _forebay["least"]:
            _forebay["least"] = float(found)
            with open({path!r}, "w", encoding="ascii") as file:
                file.write(repr(float(found)))
        return found

_forebay = {{"least": float("inf")}}
'''


def probed(table: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """A controller's table with the probe in place of the class.

    Parameters
    ----------
    table : mapping
        `python`, `source` and the parameters.
    path : Path
        The file to which the probe writes.
    """
    file, _, name = str(table["python"]).rpartition(":")
    source = str(table["source"]) + TEXT.format(name=name, path=str(path))
    return {**table, "python": f"{file}:{CLASS}", "source": source}


def least_window(path: Path) -> float | None:
    """The smallest window that a probe wrote down, in packets; None if it wrote none."""
    return float(path.read_text(encoding="ascii")) if path.exists() else None
