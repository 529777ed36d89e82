"""Tests that the answers of a search are immutable."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import pytest

import forebay.search
from forebay.search.plan import Outcome

#: Classes that record state while a search runs.
RUNNING = {Outcome.__name__, "ClassSteps", "PortSteps", "SizingSteps", "StepState"}


def test_answers_cannot_be_changed() -> None:
    """Every data class of the search is frozen, except the state of a running search."""
    frozen = 0
    for module in pkgutil.iter_modules(forebay.search.__path__, "forebay.search."):
        for made in vars(importlib.import_module(module.name)).values():
            if not isinstance(made, type) or made.__module__ != module.name or "__annotations__" not in vars(made):
                continue
            assert dataclasses.is_dataclass(made), "what declares fields is made of them"
            frozen += made.__name__ not in RUNNING
            for field in () if made.__name__ in RUNNING else dataclasses.fields(made):
                with pytest.raises(dataclasses.FrozenInstanceError):
                    setattr(made.__new__(made), field.name, None)
    assert frozen > 20
