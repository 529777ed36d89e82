"""`translate`: a router's setting, read back."""

from __future__ import annotations

import json

import click

from forebay.commands.options import AS_JSON
from forebay.commands.values import PLATFORM
from forebay.commands.verb import verb

__all__ = ["translate"]


@verb(
    ("translate 'buffer-size temporal 20000' --for junos --link 10Gbps", "Read a line of Junos:"),
)
@click.argument("setting")
@click.option(
    "--for",
    "platform",
    type=PLATFORM,
    metavar="PLATFORM",
    required=True,
    help="Read it as a line for ios-xr, ios-xe, junos, eos, sr-os, sonic or linux.",
)
@click.option("--link", "rate", metavar="RATE", required=True, help="Count with this rate of the link, as in 10Gbps.")
@click.option(
    "--rtt", metavar="TIME", help="Give the multiple of the bandwidth-delay product for this round trip, too."
)
@AS_JSON
def translate(setting: str, platform: str, rate: str, rtt: str | None, as_json: bool) -> None:
    """Read a router's setting back, as bytes, time and bandwidth-delay products."""
    from forebay import formatting
    from forebay._core import parse_quantity
    from forebay.configuration.vendors import DIALECTS
    from forebay.configuration.vendors import translate as read
    from forebay.errors import naming

    with naming("rate"):
        rate_bps = parse_quantity(rate, "rate")
    with naming("rtt"):
        rtt_s = None if rtt is None else parse_quantity(rtt, "time")
    found = read(setting, platform, rate_bps)
    multiple = found.seconds / rtt_s if rtt_s else None
    if as_json:
        data = {"bytes": found.bytes, "seconds": found.seconds, "bdp": multiple, "how": found.how}
        click.echo(json.dumps({**data, "source": DIALECTS[platform].source, "quirks": list(DIALECTS[platform].quirks)}))
        return
    text = f"{formatting.size(found.bytes)}, {formatting.duration(found.seconds)}"
    if multiple is not None:
        text += f", {multiple:.3g} BDP at {rtt}"
    click.echo(f"{text} ({found.how})")
    for quirk in DIALECTS[platform].quirks:
        click.echo(f"note: {quirk}")
    click.echo(f"source: {DIALECTS[platform].source}")
