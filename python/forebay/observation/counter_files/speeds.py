"""How fast a port is, by what is given and by what its files state; and contradictions between the two and the load."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from forebay.errors import InputError
from forebay.observation.counter_files.names import Quantity
from forebay.observation.counter_files.readings import Readings, Shaper
from forebay.observation.counter_files.unwrapping import is_per_interval
from forebay.observation.estimate import IntervalEstimate, exactly, given_rate
from forebay.storage.safe_io import clean
from forebay.text.formatting import bandwidth

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SATURATED", "LinkSpeed", "check_is_counter", "check_load", "link_speed"]

#: The fastest interface of which speeds are believed: 1.6 Tb/s Ethernet (IEEE 802.3dj), with room.
FASTEST = 1e13
#: The largest number of ifSpeed, which stands for any faster speed (RFC 2863).
SATURATED = 2**32 - 1
#: The share by which a load may seem to exceed the link's rate (rounding), the seconds by which polls may be late,
#: and the most that late polls may add.
MARGIN, LATE_S, MOST_LATE = 0.02, 10.0, 0.5
#: How much more than the interface's speed may be given.
ROUNDING = 0.01


@dataclass(frozen=True, slots=True)
class LinkSpeed:
    """The rate of a port's link.

    Attributes
    ----------
    rate : IntervalEstimate or None
        The rate, in bit/s.
    is_nominal : bool
        Whether it is that of the port's type.
    shaper : Shaper or None
        The shaper and queue that a host reports for the port.
    notes : tuple of str
    """

    rate: IntervalEstimate | None
    is_nominal: bool = False
    shaper: Shaper | None = None
    notes: tuple[str, ...] = ()


def link_speed(readings: Readings, port: str, rate_bps: float | None, where: str) -> LinkSpeed:
    """The rate of a port's link: as given, else a shaper's, else the interface's.

    Raises
    ------
    InputError
        Where the interface's speed changes, cannot be, or is less than the rate that is given.
    """
    shaper = readings.shapers.get(port)
    nominal = port in readings.nominal
    speed = _stated(readings, port, where, is_given=rate_bps is not None)
    if rate_bps is not None:
        if speed is not None and not nominal and rate_bps > speed.value * (1 + ROUNDING):
            raise InputError(
                f"found {bandwidth(rate_bps)}, and {where} states {bandwidth(speed.value)} ({speed.source}); "
                "allowed: at most the interface's speed",
                "rate",
            )
        below = speed is not None and rate_bps < speed.value * (1 - ROUNDING)
        all_notes = (f"the interface's speed is {bandwidth(speed.value)}; the rate that is given is a shaper's",) if (
            below and speed is not None
        ) else ()  # fmt: skip
        return LinkSpeed(given_rate(rate_bps), shaper=shaper, notes=all_notes)
    if shaper is not None and shaper.rate_bps:
        return LinkSpeed(exactly(shaper.rate_bps, "bit/s", "the shaper's rate", 1), shaper=shaper)
    if speed is not None and nominal:
        note = "the interface's speed is not stated: its type is taken, which may run slower"
        return LinkSpeed(speed, is_nominal=True, shaper=shaper, notes=(note,))
    return LinkSpeed(speed, shaper=shaper)


def _stated(readings: Readings, port: str, where: str, *, is_given: bool) -> IntervalEstimate | None:
    """The interface's speed; ifHighSpeed before ifSpeed, which cannot say more than 4.29 Gb/s.

    If there are several speeds, the fastest bounds a given rate.
    """
    found: dict[float, str] = {}
    for name, quantity, series in readings.of(port):
        if quantity.kind == "speed":
            for _, value in series:
                if value > 0 and not (quantity.scale == 1 and value == SATURATED):
                    found.setdefault(value * quantity.scale, name)
    exact = {value: name for value, name in found.items() if "ifspeed" not in name.lower()} or found
    if not exact:
        return None
    speed, name = max(exact.items())
    source = {"speed_bps": "the interface's speed", "speed_mbps": "the interface's speed"}.get(
        name, name.partition("{")[0]
    )
    if speed > FASTEST:
        raise InputError(f"{where}: found {bandwidth(speed)} for {clean(name)}; allowed: ifHighSpeed in Mb/s, ifSpeed "
                         "in bit/s, node_network_speed_bytes in bytes a second")  # fmt: skip
    if len(exact) > 1 and not is_given:
        speeds = ", ".join(bandwidth(each) for each in list(exact)[:3])
        raise InputError(f"{where}: found several speeds of one interface ({speeds}); allowed: one, or `--rate`")
    return exactly(speed, "bit/s", source, 1)


def check_is_counter(name: str, quantity: Quantity, series: Sequence[tuple[float, float]], where: str) -> None:
    """Refuse what is named as a counter and falls as often as it rises, or as amounts and has fractions.

    Raises
    ------
    InputError
        With the names that say what it is.
    """
    if quantity.kind not in ("bytes", "packets", "drops") or not is_per_interval(series):
        return
    values = [value for _, value in series]
    wraps = quantity.bits != 64 and max(values) >= 2**31
    if wraps:
        return
    fractions = any(value != int(value) for value in values)
    if quantity.is_generic and not fractions:
        return
    falls = sum(after < before for before, after in pairwise(values))
    what = f"fractions in {clean(name)}, which falls" if fractions else f"{clean(name)} falling"
    raise InputError(
        f"{where}: found {what} in {falls} of {len(values) - 1} rows, so that it is no counter; allowed: a rate named "
        "`bps` or `bytes per second`, amounts of each row named `bytes`, or a counter"
    )


def check_load(
    starts: NDArray[np.float64],
    seconds: NDArray[np.float64],
    rates: NDArray[np.float64],
    link: IntervalEstimate,
    where: str,
    allowed: str = "counters of this port in bytes",
    place: Callable[[float], str] | None = None,
) -> None:
    """Refuse a load that the link cannot carry: in one interval, with room for a late poll, or on average.

    `place` says where in the file a reading of an instant stands.

    Raises
    ------
    InputError
        Says how much was found and when.
    """
    if not rates.size:
        return
    most = link.value * (1 + MARGIN + np.minimum(LATE_S / seconds, MOST_LATE))
    over = np.flatnonzero(rates > most)
    mean = float((rates * seconds).sum() / seconds.sum())
    if not over.size and mean <= link.value * (1 + MARGIN):
        return
    at = int(over[np.argmax(rates[over])]) if over.size else int(np.argmax(rates))
    when = datetime.fromtimestamp(float(starts[at]), UTC).strftime("%Y-%m-%d %H:%M:%S") if starts[at] > 1e8 else (
        f"{starts[at]:g} s"
    )  # fmt: skip
    there = where if place is None else place(float(starts[at] + seconds[at]))
    raise InputError(
        f"{there}: found a load of {bandwidth(float(rates[at]))} at {when}, more than the link's "
        f"{bandwidth(link.value)} ({link.source}); allowed: {allowed}, and its own rate"
    )
