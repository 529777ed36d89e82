"""Scenarios in which `observe` left keys out: commands report these keys, or use the known bounds as their values."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from forebay.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forebay import _core
    from forebay.commands.sources import Source
    from forebay.inputs.observed_bounds import Bound
    from forebay.scenario import Scenario

__all__ = ["ASSUME_LOWER_BOUNDS", "with_bounds"]

ASSUME_LOWER_BOUNDS = click.option(
    "--assume-lower-bounds",
    is_flag=True,
    help="Use the bounds that `observe` wrote as the unknown values. The answer has no confidence.",
)


def with_bounds(
    given: Source, overrides: Sequence[_core.Change], *, assume: bool, varied: bool
) -> tuple[Scenario, tuple[Bound, ...], bool]:
    """The scenario, the bounds that replace missing values, and whether its buffer is only a starting point.

    Parameters
    ----------
    given : Source
        Source of the scenario's text.
    overrides : sequence of str
        Changes that the user asks for (`--set`).
    assume : bool
        Whether bounds are used as values.
    varied : bool
        Whether the command varies the target link's buffer, which then needs no value.

    Raises
    ------
    InputError
        If keys have no value; the message names them.
    """
    from forebay.inputs.observed_bounds import beginnings, bounds_of, missing, taken_for_values
    from forebay.scenario import TARGET

    bounds = bounds_of(given.text, given.kind)
    taken, changes = taken_for_values(bounds, overrides) if assume else ((), ())
    if varied:
        # The command varies the target's buffer, so its bound replaces no value.
        taken = tuple(bound for bound in taken if bound.key != TARGET)
    starts = beginnings(bounds, overrides) if varied else ((),)
    *others, last = starts
    left_out = missing(bounds, (*changes, *last, *overrides))
    if len(left_out) > 1:
        takes = "" if assume else "; `--assume-lower-bounds` takes the bounds"
        keys = ", ".join(f"{bound.key}{f' ({bound.known})' if bound.known else ''}" for bound in left_out)
        allowed = f"allowed: values in the file, or `--set KEY=VALUE` for each{takes}"
        raise InputError(f"{given.name}: found no values of {keys}; {allowed}")
    for beginning in others:
        # A scenario without responsive flows has no bandwidth-delay product.
        with suppress(InputError):
            return given.scenario((*changes, *beginning, *overrides)), taken, last != ()
    return given.scenario((*changes, *last, *overrides)), taken, last != ()
