"""Read the data of an audit's page as its script does."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["DATA", "column", "data_of", "without_data"]

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def data_of(page: str) -> dict[str, Any]:
    """The data of the script."""
    (found,) = DATA.findall(page)
    data: dict[str, Any] = json.loads(found)
    return data


def without_data(page: str) -> str:
    """The page with empty data."""
    return DATA.sub("", page)


def column(data: dict[str, Any], name: str) -> list[str | None]:
    """The text of each port in a column; None for none."""
    (found,) = (each for each in data["columns"] if each["name"] == name)
    numbers = found["rows"] if "rows" in found else [found["answers"][answer] for answer in data["answer"]]
    texts = found["texts"]
    return [None if at < 0 else str(at) if texts is None else texts[at] for at in numbers]
