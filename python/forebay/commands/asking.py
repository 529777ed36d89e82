"""The questions of `new` on a terminal; every answer is checked as soon as it is given."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import click

from forebay.configuration import drafting
from forebay.errors import InputError
from forebay.text.formatting import share

__all__ = ["answers"]

#: Options that describe the traffic on the link.
TRAFFIC = ("long", "web", "background", "video")


def answers(given: Mapping[str, Any]) -> dict[str, Any]:
    """Complete the options: ask on a terminal, or use the defaults where there is no terminal.

    Parameters
    ----------
    given : mapping
        The options that were set, of `rate`, `rtt`, `long`, `cca`, `web`, `background` and `video`.

    Returns
    -------
    dict
        Arguments of `drafting.Wishes`, the shares as numbers.

    Raises
    ------
    InputError
        If the rate or the round trip is missing and there is no terminal, or if a share is invalid.
    """
    values = dict(given)
    enough = "rate" in values and "rtt" in values and any(name in values for name in TRAFFIC)
    if not enough and sys.stdin.isatty():
        values = {name: values[name] if name in values else ask() for name, ask in QUESTIONS.items()}
    for name in ("rate", "rtt"):
        if name not in values:
            raise InputError(f"found no --{name}; allowed: --{name} with a value, or a terminal for questions")
    for name in ("web", "background"):
        if name in values:
            values[name] = share_of_rate(name, values[name])
    return values


def share_of_rate(argument: str, text: str) -> float:
    """Read a share of the link's rate: "30%" or "0.3"."""
    value = share(argument, text)
    if value > 2:
        raise InputError(f"found `{text}`; allowed: up to 200% of the link's rate", argument)
    return value


def _text(question: str, default: str, check: Callable[[str], object]) -> Callable[[], str]:
    def checked(answer: str) -> str:
        try:
            check(answer)
        except InputError as error:
            raise click.UsageError(error.text) from None
        return answer

    return lambda: str(click.prompt(question, default=default, value_proc=checked, err=True))


def _number(question: str, default: int) -> Callable[[], int]:
    return lambda: int(click.prompt(question, default=default, type=click.IntRange(0, 1_000_000), err=True))


def _round_trips(text: str) -> None:
    for part in text.split("..", 1):
        drafting.round_trip_s(part)


QUESTIONS: Mapping[str, Callable[[], Any]] = {
    "rate": _text("Rate of the link", "100Mbps", drafting.rate_bps),
    "rtt": _text("Round-trip time without queueing, or its range", "20ms..80ms", _round_trips),
    "long": _number("Number of long transfers", 8),
    "cca": _text("Their congestion control", "cubic", drafting.check_controller),
    "web": _text("Load of short transfers, as a share of the rate", "20%", lambda text: share_of_rate("web", text)),
    "background": _text(
        "Load of unresponsive traffic, as a share of the rate", "10%", lambda text: share_of_rate("background", text)
    ),
    "video": _number("Number of video streams of 5 Mb/s", 0),
}
