"""The token buckets of a scenario in the words of tc-tbf(8) and tc-htb(8).

A tbf keeps its bucket in bytes and adds the `overhead` to it; an htb keeps it in ticks of 64 ns, of whole microseconds
that tc has counted (iproute2, tc/tc_core.c, `tc_calc_xmittime`; Linux 6.6, net/sched/sch_htb.c).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

from forebay.configuration.platforms.linux.units import LARGEST, rate_word
from forebay.configuration.port import Port, Shaper
from forebay.errors import UnsupportedError

__all__ = ["configured_bucket", "fitted", "lines", "reasons"]

#: The kernel's clock of packets: ticks a microsecond, and how long one is (include/net/pkt_sched.h, PSCHED_SHIFT).
TICKS, TICK = 15.625, 64e-9
#: Seconds of tokens that the kernel gives an htb at once at most (net/sched/sch_htb.c, `mbuffer`).
MOST = 60
#: Bytes of its own packets that a class may send in turn, of which there is only one.
QUANTUM = 1514


def fitted(port: Port) -> Shaper:
    """The shaper nearest to a port's that tc can express."""
    requested = _shaper(port)
    if requested.peak is not None and requested.peak_burst is None:
        raise UnsupportedError("linux does not support a peak without a `peak_burst` where packets vary")
    changed = dataclasses.replace(
        requested,
        rate=_integer_rate(requested.rate),
        peak=None if requested.peak is None else _integer_rate(requested.peak),
    )
    if changed.kind == "htb":
        changed = dataclasses.replace(changed, burst=_in_ticks(changed.burst, changed.rate))
        if changed.peak is not None and changed.peak_burst is not None:
            changed = dataclasses.replace(changed, peak_burst=_in_ticks(changed.peak_burst, changed.peak))
    elif changed.peak is not None and changed.peak_burst is not None and changed.peak <= changed.rate:
        changed = dataclasses.replace(changed, burst=min(changed.burst, changed.peak_burst), peak=None, peak_burst=None)
    most = max(changed.burst, changed.peak_burst or 0)
    if most > LARGEST:
        raise UnsupportedError(f"linux does not support a bucket of {most:,} bytes; allowed: up to 4 GiB")
    return changed


def reasons(kind: str) -> dict[str, str]:
    """Why what `fitted` gives may differ."""
    found = dict.fromkeys(("shaper.rate", "shaper.peak"), "tc keeps whole bytes per second")
    if kind == "htb":
        return found | dict.fromkeys(("shaper.burst", "shaper.peak_burst"), "tc counts htb's buckets in microseconds")
    same = "tbf takes no peak at the rate, where the smaller bucket alone is the same"
    return found | dict.fromkeys(("shaper.peak", "shaper.burst", "shaper.peak_burst"), same)


def lines(port: Port, limit: int, beneath: str) -> Iterator[str]:
    """Commands for a shaper that was fitted, with a class 1:1 for what is beneath it."""
    shaper = _shaper(port)
    root = f"tc qdisc replace dev eth0 root handle 1: {beneath}"
    overhead = f" overhead {port.framing}" if port.framing else ""
    if shaper.kind == "tbf":
        words = f"tbf rate {rate_word(shaper.rate)} burst {shaper.burst - port.framing}"
        if shaper.peak is not None and shaper.peak_burst is not None:
            words += f" peakrate {rate_word(shaper.peak)} mtu {shaper.peak_burst - port.framing}"
        yield f"{root} {words} limit {limit}{overhead}"
        return
    # Without a ceiling and a bucket of its own a class has one at its rate, for hardly more than a packet.
    peak = shaper.rate if shaper.peak is None else shaper.peak
    peak_burst = shaper.burst if shaper.peak_burst is None else shaper.peak_burst
    buckets = f"burst {_word(shaper.burst, shaper.rate)} ceil {rate_word(peak)} cburst {_word(peak_burst, peak)}"
    yield f"{root} htb default 1"
    begin = "tc class replace dev eth0 parent 1: classid 1:1 htb"
    yield f"{begin} rate {rate_word(shaper.rate)} {buckets} quantum {QUANTUM}{overhead}"


def configured_bucket(word: int, rate: int) -> float:
    """Size in bytes of the bucket that an htb has after it is configured with `word` bytes."""
    ticks = math.floor(math.floor(word / (rate / 8) * 1e6) * TICKS)
    return ticks * TICK * rate / 8


def _word(burst: int, rate: int) -> int:
    """The smallest burst to configure so that an htb has a bucket of at least `burst` bytes."""
    least = math.floor(burst * 8e6 / rate)
    for microseconds in range(least, least + 4):
        for word in (burst, math.ceil(microseconds * rate / 8e6), math.ceil(microseconds * rate / 8e6) + 1):
            if word >= burst and configured_bucket(word, rate) >= burst:
                return word
    raise AssertionError(f"{burst} bytes at {rate} b/s")


def _in_ticks(burst: int, rate: int) -> int:
    """Size in bytes of an htb's bucket of at least `burst` bytes, stable under a second fit."""
    if burst * 8 > MOST * rate:
        found = f"an htb with a bucket of {burst * 8 / rate:.0f} s"
        raise UnsupportedError(f"linux does not support {found}; allowed: up to {MOST}, as tokens come at once")
    return math.floor(configured_bucket(_word(burst, rate), rate))


def _integer_rate(rate: int) -> int:
    return max(8, rate // 8 * 8)


def _shaper(port: Port) -> Shaper:
    assert port.shaper is not None, "a port with a shaper"
    return port.shaper
