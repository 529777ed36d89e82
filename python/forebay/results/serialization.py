"""Answers as plain dictionaries and lists, in the order of their fields, for their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from forebay.results.deprecated_names import with_deprecated_keys

__all__ = ["to_jsonable"]


def to_jsonable(value: Any) -> Any:
    """Turn a value and what is in it into dictionaries, lists, numbers and texts.

    Parameters
    ----------
    value
        An object with a `to_dict` method, a dataclass, a mapping, a sequence, or a plain value. The keys of a dataclass
        include its deprecated names.
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        data = {field.name: to_jsonable(getattr(value, field.name)) for field in fields(value)}
        return with_deprecated_keys(type(value), data)
    if isinstance(value, Mapping):
        return {key: to_jsonable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [to_jsonable(each) for each in value]
    return str(value) if isinstance(value, str) else value
