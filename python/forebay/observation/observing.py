"""The one way in: inputs of any kind, a finding out.

The function behind the verb and `forebay.observe`; views read the finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from forebay.errors import InputError
from forebay.observation.busy_hour import BUSY_HOUR, Window
from forebay.observation.capture_link import interpret
from forebay.observation.captures import capture_remarks, read_captures, seen_of
from forebay.observation.finding import Finding, without_addresses
from forebay.observation.inputs import Kind, one_kind
from forebay.observation.line_reader import Progress
from forebay.observation.memory import DEFAULT_MEMORY, check_memory, limited_memory
from forebay.text.formatting import counted

__all__ = ["observe"]

#: The largest number of an interface (RFC 2863: ifIndex).
MOST_INTERFACE = 2**31 - 1


def observe(
    paths: Sequence[Path],
    *,
    rate_bps: float | None = None,
    sockets: bool = False,
    port: str | None = None,
    sampling: int | None = None,
    window: Window | None = None,
    memory: int = DEFAULT_MEMORY,
    progress: Progress | None = None,
) -> Finding:
    """Read inputs of one kind and say what they tell.

    Parameters
    ----------
    paths : sequence of Path
        Captures, flow records, counters of one port, or dumps of sockets.
    rate_bps : float, optional
        Rate of the link in bits per second, where somebody knows it.
    sockets : bool
        Whether somebody says that they are dumps of sockets.
    port : str, optional
        Which port is meant: its name where there are counters of several, and of flow records the number of the
        interface that they left by.
    sampling : int, optional
        One packet in so many was seen, where flow records do not say so themselves.
    window : Window, optional
        Which part of counters or flow records is described; the busy hour by default.
    memory : int
        Bytes that the answer may take beyond what the process holds. An input that takes more is refused.
    progress : callable, optional
        Told bytes that were read, and of how many.

    Raises
    ------
    InputError
        Names the file, what was found and what is allowed.
    """
    if sockets and len(paths) > 1:
        raise InputError(
            f"found sockets beside {counted(len(paths) - 1, 'other input')}; allowed: sockets alone: observe sockets "
            "and other inputs one at a time",
            "ss",
        )
    kind = Kind.SOCKETS if sockets else one_kind(list(paths))
    if port is not None and kind not in (Kind.COUNTERS, Kind.RECORDS):
        raise InputError(f"found {port} beside {kind.value}; allowed: beside counters and flow records", "port")
    if sampling is not None and kind is not Kind.RECORDS:
        raise InputError(f"found {sampling} beside {kind.value}; allowed: beside flow records", "sampling")
    if window is not None and kind not in (Kind.COUNTERS, Kind.RECORDS):
        raise InputError(f"found it beside {kind.value}; allowed: beside counters and flow records", "window")
    with limited_memory(memory):
        found = _found(kind, paths, rate_bps, port, sampling, window or BUSY_HOUR, progress)
        check_memory(str(paths[0]))
    return without_addresses(found)


def _found(
    kind: Kind,
    paths: Sequence[Path],
    rate_bps: float | None,
    port: str | None,
    sampling: int | None,
    window: Window,
    progress: Progress | None,
) -> Finding:
    """What inputs of a kind tell."""
    if kind is Kind.CAPTURE:
        from forebay.observation.capture_finding import finding_of

        captured = read_captures(paths, progress)
        seen = seen_of(captured)
        return finding_of(seen, interpret(seen, rate_bps), capture_remarks(captured))
    if kind is Kind.RECORDS:
        from forebay.observation import records
        from forebay.observation.others import of_records

        return of_records(
            records.read(
                paths,
                rate_bps=rate_bps,
                sampling=sampling or 1,
                output=_interface(port),
                window=window,
                progress=progress,
            ),
            rate_bps,
        )
    return _single(kind, paths, rate_bps, port, window)


def _interface(port: str | None) -> int | None:
    """A port by its number (SNMP's ifIndex), which is what flow records have."""
    if port is None:
        return None
    if not port.isdecimal() or int(port) > MOST_INTERFACE:
        raise InputError(f"found {port}; allowed: the number of an output interface, as flow records have it", "port")
    return int(port)


def _single(kind: Kind, paths: Sequence[Path], rate_bps: float | None, port: str | None, window: Window) -> Finding:
    if kind is Kind.COUNTERS:
        from forebay.observation import counters
        from forebay.observation.others import of_counters

        return of_counters(counters.read(paths, rate_bps, port=port), window)
    if len(paths) > 1:
        raise InputError(f"found {len(paths)} files of {kind.value}; allowed: one", "inputs")
    from forebay.observation import sockets
    from forebay.observation.line_reader import read_text
    from forebay.observation.others import of_sockets

    text = read_text(paths[0], "the output of `ss -tin`")
    return of_sockets(sockets.read(text, str(paths[0])), rate_bps)
