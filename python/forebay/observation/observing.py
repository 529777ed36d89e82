"""The entry of `forebay observe`: inputs of any kind in, a finding out, in stages of a fixed order.

The verb and `forebay.observe` call it. Views read the finding.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from forebay.errors import InputError
from forebay.observation.busy_hour import BUSY_HOUR, Window
from forebay.observation.finding import Finding, without_addresses
from forebay.observation.inputs.input import File, Options
from forebay.observation.inputs.recognition import find_inputs
from forebay.observation.inputs.sockets import SOCKETS
from forebay.observation.line_reader import Progress
from forebay.observation.load import load_of
from forebay.observation.memory import DEFAULT_MEMORY, check_memory, limited_memory
from forebay.text.formatting import counted

__all__ = ["observe"]


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
    r"""Read inputs of one kind and make their finding.

    Parameters
    ----------
    paths : sequence of Path
        Captures, flow records, counters of one port, or dumps of sockets.
    rate_bps : float, optional
        Rate of the link in bits per second, if the user knows it.
    sockets : bool
        Whether the user says that they are dumps of sockets.
    port : str, optional
        The port that is meant: its name in counters of several ports, the number of the output interface in flow
        records.
    sampling : int, optional
        The sampling interval N: one packet in N was seen, unless flow records state it themselves.
    window : Window, optional
        The described part of counters or flow records; the busy hour by default.
    memory : int
        Bytes that the answer may take beyond what the process holds. An input that takes more is refused.
    progress : callable, optional
        Function that receives the number of bytes read and their total.

    Raises
    ------
    InputError
        Names the file, what was found and what is allowed.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "counters.csv")
    ...     rows = [f"{300 * poll},{3_000_000 * poll}" for poll in range(12)]
    ...     _ = file.write_text("\n".join(["time,out_octets", *rows]))
    ...     finding = forebay.observe([file], rate_bps=1e6)
    >>> finding.load.mean.value
    80000.0
    """
    if sockets and len(paths) > 1:
        raise InputError(
            f"found sockets and {counted(len(paths) - 1, 'other input')}; allowed: only sockets: observe sockets "
            "and other inputs one at a time",
            "ss",
        )
    files = [File(path, SOCKETS) for path in paths] if sockets else find_inputs(paths)
    first = files[0].input
    for option, value, found, allowed in (
        ("port", port, port, "counters and flow records"),
        ("sampling", sampling, sampling, "flow records"),
        ("window", window, "it", "counters and flow records"),
    ):
        if value is not None and option not in first.options:
            raise InputError(f"found {found} with {first.kind.value}; allowed: with {allowed}", option)
    options = Options(rate_bps, port, sampling or 1, window or BUSY_HOUR, progress)
    with limited_memory(memory):
        reading = first.read(files, options)
        series = reading.load_series
        load = None
        if series is not None:
            load = load_of(
                series.bytes,
                series.bin_s,
                rate=reading.rate,
                source=series.source,
                packet_bytes=series.packet_bytes,
                tick_s=series.tick_s,
            )
        finding = first.finding(reading, load)
        check_memory(str(paths[0]))
    return without_addresses(finding)
