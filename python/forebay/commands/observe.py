"""`observe`: make a scenario from measurements of a network."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from forebay.commands.options import AS_JSON
from forebay.commands.streams import print_note, say_json
from forebay.commands.terminal import progress_bar, show, writing
from forebay.commands.values import Readable, Size, amount
from forebay.commands.verb import verb

if TYPE_CHECKING:
    from forebay.observation.finding import Finding

__all__ = ["observe"]


@verb(
    ("observe port.pcapng --out branch.toml --report branch.html", "Make a scenario and a page from a capture:"),
    ("observe in.pcap out.pcap --rate 1Gbps", "Read captures of both sides of the queue:"),
    ("observe counters.csv --rate 10Gbps", "Read the counters of a port:"),
    ("observe --ss dump.txt", "Read the output of `ss -tin` on a server:"),
    groups={
        "Input": ("--rate", "--port", "--window", "--sampling", "--ss"),
        "Output": ("--out", "--report", "--json"),
    },
)
@click.argument("inputs", nargs=-1, type=Readable("a capture, flow records, counters or sockets"), metavar="INPUT...")
@click.option("--rate", metavar="RATE", help="Rate of the link, as in 1Gbps, instead of that of the input.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Write the commented scenario into this file."
)
@click.option(
    "--report", type=click.Path(path_type=Path), metavar="FILE", help="Write a page with all results into this file."
)
@click.option(
    "--ss", "sockets", type=Readable("what `ss -tin` prints"), metavar="FILE", help="File with the output of `ss -tin`."
)
@click.option(
    "--port",
    metavar="PORT",
    help="Port to describe: its name in counters, its interface number in flow records.",
)
@click.option(
    "--sampling",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="Sampling of flow records: one packet in N, if the records do not state it.",
)
@click.option(
    "--window",
    metavar="WINDOW",
    help="Part of counters or flow records to describe, instead of the busiest hour: a length such as 15min, "
    "2026-11-23T20:00..2026-11-23T22:00, times of each day such as 20:00..22:00 (UTC), or all.",
)
@click.option(
    "--memory",
    type=Size(),
    default="1GB",
    show_default=True,
    help="Limit the memory; an input that needs more is refused.",
)
@AS_JSON
def observe(
    inputs: tuple[Path, ...],
    rate: str | None,
    out: Path | None,
    report: Path | None,
    sockets: Path | None,
    port: str | None,
    sampling: int | None,
    window: str | None,
    memory: int,
    *,
    as_json: bool,
) -> None:
    """Make a scenario from captures, flow records or counters.

    INPUT is a capture (pcap or pcapng, also compressed by gzip or zstd), flow records (NetFlow, IPFIX, nfdump, Zeek,
    Suricata, SiLK), counters or rates of a port (SNMP, gNMI, Prometheus, Telegraf, sysstat, rrdtool, tc), or the output
    of `ss -tin`. Two captures of the same packets are read as both sides of a queue. Counters and flow records are
    described in their busiest hour. The output lists values that the input cannot show. It contains no addresses:
    flows are named by their roles.
    """
    from forebay.errors import InputError
    from forebay.observation.busy_hour import Window
    from forebay.observation.finding import finding_json, without_addresses
    from forebay.observation.memory import limited_memory
    from forebay.observation.observing import observe as read
    from forebay.storage.files import check_file, write_atomically

    paths = [*inputs, *([sockets] if sockets is not None else [])]
    if not paths:
        raise InputError("found no input; allowed: files, such as a capture, or --ss FILE", "inputs")
    rate_bps = None if rate is None else amount("rate", rate, "rate", 1e3, 1e14)
    for option, path in (("out", out), ("report", report)):
        if path is not None:
            check_file(path, option)
    with limited_memory(memory, held=0), progress_bar("reading, MB", quiet=False) as bar:

        def report_progress(done: int, size: int | None) -> None:
            if bar is not None:
                bar(done // 1_000_000, (size or 0) // 1_000_000)

        finding = read(
            paths,
            rate_bps=rate_bps,
            sockets=sockets is not None,
            port=port,
            sampling=sampling,
            window=None if window is None else Window.parse(window),
            progress=report_progress,
        )
    if out is not None:
        from forebay.observation.writing import scenario_text

        with writing(out):
            write_atomically(out, scenario_text(finding))
    if report is not None:
        from forebay._core import __version__
        from forebay.views.observation_page import observation_page

        # Names of input files may be addresses.
        page = observation_page(
            finding, command=without_addresses(shlex.join(["forebay", *sys.argv[1:]])), version=__version__
        )
        with writing(report):
            write_atomically(report, page)
    if as_json:
        say_json(json.dumps(finding_json(finding)))
        return
    _say(finding, out, report)


def _say(finding: Finding, out: Path | None, report: Path | None) -> None:
    from forebay.views.observation_text import observation_text

    show(observation_text(finding))
    for path, what in ((out, "scenario"), (report, "page")):
        if path is not None:
            print_note(f"{what}: {path}")
