"""Answers as plain dictionaries and lists, in the order of their fields, for their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["plain"]


def plain(value: Any) -> Any:
    """Turn a value and what is in it into dictionaries, lists, numbers and texts.

    Parameters
    ----------
    value
        An object with a `to_dict` method, a dataclass, a mapping, a sequence, or a plain value.
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return str(value) if isinstance(value, str) else value
