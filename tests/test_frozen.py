"""What was found is a fact: nothing that the search answers with can be changed afterwards."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import pytest

import forebay.search
from forebay.search.smallest import Outcome


def test_answers_cannot_be_changed() -> None:
    """What was found is a fact; only a search that still runs notes things down."""
    frozen = 0
    for module in pkgutil.iter_modules(forebay.search.__path__, "forebay.search."):
        for made in vars(importlib.import_module(module.name)).values():
            if isinstance(made, type) and made.__module__ == module.name and dataclasses.is_dataclass(made):
                frozen += 1
                if made is Outcome:
                    continue
                for field in dataclasses.fields(made):
                    with pytest.raises(dataclasses.FrozenInstanceError):
                        setattr(made.__new__(made), field.name, None)
    assert frozen > 20
