"""`translate`: read back a router's configuration or the output of its commands, and audit a switch's buffers."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from forebay.commands.options import AS_JSON
from forebay.commands.sources import standard_input
from forebay.commands.streams import say, say_json, say_lines
from forebay.commands.values import PLATFORM, Readable, amount
from forebay.commands.verb import verb

if TYPE_CHECKING:
    from forebay.configuration.configuring import Translation

__all__ = ["translate"]


@verb(
    ("translate 'buffer-size temporal 20000' --for junos --link 10Gbps", "Read a line of Junos:"),
    ("translate qos.txt --for linux --toml", "Make the [link] table of a scenario from a file:"),
    ("translate config_db.json", "Audit the buffers of a SONiC switch:"),
    ("translate config_db.json --port Ethernet0 --toml", "Make the [link] table of a port of a SONiC switch:"),
    refusal="The audit of a switch's buffers found an error.",
)
@click.argument("setting")
@click.option(
    "--for",
    "platform",
    type=PLATFORM,
    metavar="PLATFORM",
    help="Platform of the text, such as linux, junos or ios-xr. Without it, the buffers of a SONiC switch are audited.",
)
@click.option("--port", metavar="NAME", help="Port of a SONiC switch to read, such as Ethernet0.")
@click.option(
    "--table",
    type=Readable("a pg_profile_lookup.ini"),
    metavar="FILE",
    help="Headroom table for the audit. By default the pg_profile_lookup.ini beside the file.",
)
@click.option("--link", "rate", metavar="RATE", help="Rate of the port, as in 10Gbps, if the text has no shaper.")
@click.option("--rtt", metavar="TIME", help="Also print the buffer in bandwidth-delay products of this round trip.")
@click.option("--packet", default="1500B", show_default=True, metavar="SIZE", help="Size of a packet.")
@click.option(
    "--direction",
    type=click.Choice(["upload", "download"]),
    metavar="WAY",
    help="Direction to read, if the text shapes upload and download; by default upload.",
)
@click.option("--toml", "as_toml", is_flag=True, help="Print only the [link] table of a scenario.")
@AS_JSON
def translate(
    setting: str,
    platform: str | None,
    port: str | None,
    table: Path | None,
    rate: str | None,
    rtt: str | None,
    packet: str,
    direction: Literal["upload", "download"] | None,
    *,
    as_toml: bool,
    as_json: bool,
) -> None:
    """Read the buffer, rate and discipline of a router's configuration.

    SETTING is a file, - for standard input, or the text itself: the output of `recommend --for`, a line of it, or the
    output of the device. The answer lists skipped lines, values that the text leaves to the hardware (unknown), and
    settings that a scenario does not have (not simulated).

    Without a platform, SETTING is the config_db.json or the pg_profile_lookup.ini of a SONiC switch. The answer lists
    what is wrong in its buffers, a line for each finding, and what is left for lossy traffic.
    """
    if platform is None and port is None:
        _audit(setting, table, as_toml=as_toml, as_json=as_json)
        return
    if table is not None:
        raise click.UsageError("--table is for an audit, which has no --for and no --port")
    platform = platform or "sonic"
    from forebay.configuration.configuring import link_table
    from forebay.configuration.configuring import translate as read
    from forebay.configuration.platforms.platform import Assumed

    rtt_s = None if rtt is None else amount("rtt", rtt, "time", 1e-12, 1e6)
    rate_bps = None if rate is None else round(amount("rate", rate, "rate", 1e3, 1e14))
    size = round(amount("packet", packet, "bytes", 64, 65535))
    found = read(_text(setting), platform, Assumed(rate_bps, size, direction, port))
    if as_toml:
        say_lines(link_table(found.port, found.unknown, found.unsimulated))
        return
    multiple = found.seconds / rtt_s if rtt_s and found.seconds is not None else None
    if as_json:
        say_json(json.dumps(_data(found, multiple)))
        return
    for line in _lines(found, multiple, rtt):
        say(line)


def _audit(setting: str, table: Path | None, *, as_toml: bool, as_json: bool) -> None:
    """Print the audit of a switch's buffers; exit code 1 if it has errors."""
    from forebay.commands.terminal import width
    from forebay.fabric.lookup_table import read_table
    from forebay.fabric.switch_audit import audit, audit_text
    from forebay.views.audit_text import audit_lines

    is_file = setting != "-" and _is_name(setting)
    if as_toml or not (is_file or setting == "-" or setting.lstrip().startswith("{")):
        raise click.MissingParameter(param_type="option", param_hint="'--for'")
    if is_file:
        found = audit(setting, table=table)
    else:
        text = _text(setting)
        found = audit_text(text, "<stdin>" if setting == "-" else "text", None if table is None else read_table(table))
    if as_json:
        say_json(found.to_json(indent=2))
    else:
        say_lines("\n".join(audit_lines(found, width())))
    if found.errors:
        sys.exit(1)


#: Maximum number of skipped lines that are printed.
MOST_SKIPPED = 20
#: Endings by which a text is recognized as the name of a file.
_SUFFIXES = (".json", ".ini", ".txt", ".conf", ".cfg", ".log", ".sh", ".rsc")


def _text(setting: str) -> str:
    """The configuration as text, from standard input, a file, or the argument itself."""
    from forebay.scenario import read

    if setting == "-":
        return _lines_of(standard_input())
    if "\n" in setting or len(setting) > 1000:
        return setting
    path = Path(setting)
    try:
        there = path.exists()
    except OSError:  # a name is too long for the file system
        there = False
    return _lines_of(read(path)) if there or _is_name(setting) else setting


def _is_name(setting: str) -> bool:
    """Whether a text is the name of a file, existing or not: no configuration is one word with an ending or a slash."""
    if Path(setting).suffix in _SUFFIXES:
        return True
    return not set(' "{[') & set(setting) and re.search(r"/|\.[A-Za-z][\w-]*$", setting) is not None


def _lines_of(text: str) -> str:
    """The text with Unix line ends, because consoles of routers write other ones."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _data(found: Translation, multiple: float | None) -> dict[str, Any]:
    from forebay.configuration.configuring import link_table
    from forebay.configuration.port import as_json

    return {
        "bytes": found.bytes,
        "seconds": found.seconds,
        "bdp": multiple,
        "derivation": "; ".join(found.derivation),
        "how": "; ".join(found.derivation),
        "skipped": list(found.skipped),
        "unknown": list(found.unknown),
        "unsimulated": list(found.unsimulated),
        "source": found.system.source,
        "quirks": list(found.system.quirks),
        "rate_bps": found.port.rate,
        "queue": found.port.kind,
        "port": as_json(found.port),
        "toml": link_table(found.port, found.unknown, found.unsimulated),
    }


def _lines(found: Translation, multiple: float | None, rtt: str | None) -> list[str]:
    from forebay.configuration.configuring import link_table
    from forebay.text import formatting

    text = "buffer unknown" if found.bytes is None else formatting.size(found.bytes)
    if found.seconds is not None:
        text += f", {formatting.duration(found.seconds)}"
    if multiple is not None:
        text += f", {multiple:.3g} BDP at {rtt}"
    derivation = "; ".join(found.derivation)
    more = len(found.skipped) - MOST_SKIPPED
    return [
        f"{text} ({derivation})" if derivation else text,
        *link_table(found.port).splitlines(),
        *(f"unknown: {text}" for text in found.unknown),
        *(f"not simulated: {text}" for text in found.unsimulated),
        *(f"skipped: {text}" for text in found.skipped[:MOST_SKIPPED]),
        *([f"skipped: {more} more lines (--json lists them)"] if more > 0 else []),
        *(f"note: {quirk}" for quirk in found.system.quirks),
        f"source: {found.system.source}",
    ]
