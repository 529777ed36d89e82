"""Readings of single stages of `forebay observe`, for tests of counters, flow records and captures."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from forebay import InputError
from forebay.observation.busy_hour import WHOLE, Window
from forebay.observation.capture_finding import capture_finding
from forebay.observation.capture_flows import Observed, observe_flows
from forebay.observation.capture_link import Seen, identify_link
from forebay.observation.counters import Counters
from forebay.observation.finding import Finding
from forebay.observation.inputs.counter_tables import TABLE, TELEMETRY
from forebay.observation.inputs.counters import CounterInput
from forebay.observation.inputs.flow_records import FlowInput
from forebay.observation.inputs.flow_tables import OBJECTS
from forebay.observation.inputs.flow_tables import TABLE as FLOW_TABLE
from forebay.observation.inputs.input import File, Input, Options
from forebay.observation.inputs.recognition import find_input
from forebay.observation.line_reader import Progress
from forebay.observation.load import load_of
from forebay.observation.records import FlowRecords


def _input_of(path: Path, kind: type[Input[Any]], objects: Input[Any], table: Input[Any]) -> Input[Any]:
    """The input that accepts a file; of another file the input of objects or tables, which says what is wrong."""
    with contextlib.suppress(InputError):
        found = find_input(path)
        if isinstance(found, kind):
            return found
    start = path.read_bytes()[:64].lstrip() if path.is_file() else b""
    return objects if start.startswith((b"{", b"[")) else table


def read_counters(path: Path | Sequence[Path], rate_bps: float | None = None, *, port: str | None = None) -> Counters:
    """The counters of one port."""
    paths = [path] if isinstance(path, Path) else path
    files = [File(each, _input_of(each, CounterInput, TELEMETRY, TABLE)) for each in paths]
    return TABLE.read(files, Options(rate_bps, port)).counters


def read_records(
    paths: Sequence[Path],
    *,
    rate_bps: float | None = None,
    sampling: int = 1,
    output: int | None = None,
    window: Window = WHOLE,
    progress: Progress | None = None,
) -> FlowRecords:
    """Flow records of one link."""
    files = [File(each, _input_of(each, FlowInput, OBJECTS, FLOW_TABLE)) for each in paths]
    port = None if output is None else str(output)
    return FLOW_TABLE.read(files, Options(rate_bps, port, sampling, window, progress)).records


def finding_of(seen: Seen, observed: Observed) -> Finding:
    """The finding of a capture."""
    series = seen.load_series
    assert series is not None
    load = load_of(series.bytes, series.bin_s, rate=observed.rate, source=series.source,
                   packet_bytes=series.packet_bytes, tick_s=series.tick_s)  # fmt: skip
    return capture_finding(seen, observed, load, ())


def interpret(seen: Seen, rate_bps: float | None = None) -> Observed:
    """The link and the flows of a capture."""
    return observe_flows(seen, identify_link(seen, rate_bps))
