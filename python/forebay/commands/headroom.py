"""`headroom`: print the memory that a lossless (PFC) priority group of a port needs."""

from __future__ import annotations

from pathlib import Path

import click

from forebay.commands.options import AS_JSON
from forebay.commands.streams import say_json, say_lines
from forebay.commands.values import ASIC, HEADROOM_MODEL, RELEASE, Readable
from forebay.commands.verb import verb

__all__ = ["headroom"]


@verb(
    ("headroom --rate 100Gbps --cable 300m --asic spectrum-4", "A port of a Spectrum-4 switch with SONiC:"),
    ("headroom --rate 100Gbps --cable 40m --table pg_profile_lookup.ini", "A row of a device's own table:"),
    ("headroom --rate 100Gbps --cable 300m --model ieee --mtu 9216B", "A port of an unknown device:"),
    ("headroom --rate 100Gbps --cable 300m --asic sn5600 --for sonic", "The tables of SONiC for a port:"),
    groups={
        "Port": ("--rate", "--cable", "--mtu", "--lossless-mtu", "--lanes"),
        "Model": (
            "--model",
            "--asic",
            "--release",
            "--table",
            "--small-packets",
            "--shared-pool",
            "--over-subscription",
        ),
        "Constants of the device": (
            *("--cell", "--pipeline-latency", "--mac-phy-delay", "--peer-response", "--gearbox-delay"),
        ),
    },
)
@click.option("--rate", required=True, metavar="RATE", help="Rate of the port, as in 100Gbps.")
@click.option("--cable", required=True, metavar="LENGTH", help="Length of the cable, as in 300m or 0.5km.")
@click.option("--mtu", default="9100B", show_default=True, metavar="SIZE", help="Largest frame of the port.")
@click.option(
    "--lossless-mtu", default="1024B", show_default=True, metavar="SIZE", help="Largest frame of the lossless class."
)
@click.option(
    "--model",
    type=HEADROOM_MODEL,
    metavar="MODEL",
    help="Published calculation: sonic-mellanox, sonic-barefoot, sonic-vs, mlx5 or ieee. By default that of the ASIC.",
)
@click.option("--asic", type=ASIC, metavar="NAME", help="ASIC or device, such as spectrum-4 or sn5600.")
@click.option(
    "--release",
    type=RELEASE,
    metavar="NAME",
    help="SONiC release whose calculation is used, such as 202305. By default the one that needs the most.",
)
@click.option(
    "--table", type=Readable("a pg_profile_lookup.ini"), metavar="FILE", help="Table of the device (SONiC's format)."
)
@click.option(
    "--small-packets", default="50%", show_default=True, metavar="SHARE", help="Small packets of the lossless traffic."
)
@click.option("--shared-pool", metavar="SIZE", help="Size of the shared headroom pool, which then holds xoff.")
@click.option("--over-subscription", metavar="N", help="Over-subscription ratio; above 0 a shared pool holds xoff.")
@click.option("--lanes", metavar="N", help="Lanes of the port: 8 doubles the pipeline latency on Spectrum.")
@click.option("--cell", metavar="SIZE", help="Memory cell, or the unit of the table.")
@click.option("--pipeline-latency", metavar="SIZE", help="Bytes that arrive during the latency of the pipeline.")
@click.option("--mac-phy-delay", metavar="SIZE", help="Bytes that arrive during the delay of MAC and PHY.")
@click.option("--peer-response", metavar="SIZE", help="Bytes that the peer sends before it stops.")
@click.option("--gearbox-delay", metavar="TIME", help="Delay of the gearbox, as in 400ns.")
@click.option(
    "--for",
    "platform",
    type=click.Choice(["sonic"]),
    metavar="PLATFORM",
    help="Print the tables of config_db.json for a port with this headroom: sonic.",
)
@AS_JSON
def headroom(
    rate: str,
    cable: str,
    mtu: str,
    lossless_mtu: str,
    model: str | None,
    asic: str | None,
    release: str | None,
    table: Path | None,
    small_packets: str,
    shared_pool: str | None,
    over_subscription: str | None,
    lanes: str | None,
    cell: str | None,
    pipeline_latency: str | None,
    mac_phy_delay: str | None,
    peer_response: str | None,
    gearbox_delay: str | None,
    platform: str | None,
    *,
    as_json: bool,
) -> None:
    """Compute the headroom of a lossless port: the bytes that arrive after it has sent a pause frame (PFC).

    The answer is the profile of a priority group: `xoff`, `xon` and `size`, with each part of the sum. With a table,
    its row is the answer. If the table has no row, the answer is an estimate, and says so.
    """
    from forebay.commands.terminal import width
    from forebay.fabric.headroom import headroom as compute
    from forebay.fabric.sonic_tables import headroom_tables
    from forebay.views.headroom_text import headroom_lines

    found = compute(
        rate,
        cable,
        mtu=mtu,
        lossless_mtu=lossless_mtu,
        model=model,
        asic=asic,
        release=release,
        small_packets=small_packets,
        lanes=lanes,
        gearbox_delay=gearbox_delay,
        shared_pool=shared_pool,
        over_subscription=over_subscription,
        cell=cell,
        pipeline_latency=pipeline_latency,
        mac_phy_delay=mac_phy_delay,
        peer_response=peer_response,
        table=table,
    )
    if platform is not None:
        say_lines("\n".join(headroom_tables(found)))
        return
    if as_json:
        say_json(found.to_json(indent=2))
        return
    say_lines("\n".join(headroom_lines(found, width())))
