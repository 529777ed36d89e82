"""Deprecated names of results: an attribute of Python warns, and the JSON has both names with one value.

A class of results declares each deprecated name in its body. `to_jsonable` adds the deprecated keys.
`docs/reference/versions.md` lists them; a test compares the list with the classes.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

__all__ = ["DeprecatedName", "deprecated_names", "with_deprecated_keys"]


class DeprecatedName:
    """A deprecated attribute: its value is that of another attribute, and it warns.

    Parameters
    ----------
    name : str
        The present name of the attribute and of the JSON key.

    Examples
    --------
    >>> class Answer:
    ...     infeasible_intervals = ()
    ...     gaps = DeprecatedName("infeasible_intervals")
    >>> with_deprecated_keys(Answer, {"infeasible_intervals": []})
    {'infeasible_intervals': [], 'gaps': []}
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._deprecated = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self._deprecated = name

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        place = type(instance).__name__
        text = f"`{place}.{self._deprecated}` is deprecated; use `{place}.{self.name}`"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return getattr(instance, self.name)


@cache
def deprecated_names(cls: type) -> dict[str, str]:
    """The present name of each deprecated attribute of a class."""
    members = {name: value for base in reversed(cls.__mro__) for name, value in vars(base).items()}
    return {name: value.name for name, value in members.items() if isinstance(value, DeprecatedName)}


def with_deprecated_keys(cls: type, data: dict[str, Any]) -> dict[str, Any]:
    """The JSON of a result with the deprecated keys of its class after the others.

    Parameters
    ----------
    cls : type
        The class of the result.
    data : dict
        Its JSON with the present keys. A deprecated key is added if its present key is there.
    """
    return data | {old: data[new] for old, new in deprecated_names(cls).items() if new in data}
