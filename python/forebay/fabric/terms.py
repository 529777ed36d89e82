"""Terms of lossless Ethernet for `forebay explain`: each with its meaning, where forebay prints it, and its source."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TERMS", "FabricTerm"]


@dataclass(frozen=True, slots=True)
class FabricTerm:
    """A term: its name, other names, meaning, place in forebay and source."""

    name: str
    aliases: tuple[str, ...]
    title: str
    usage: str
    source: str


TERMS = (
    FabricTerm(
        "headroom",
        ("pg_headroom",),
        "The memory of a lossless priority group, in bytes, for frames that arrive after the port has sent a pause "
        "frame. It holds the cable in both directions, two frames, and the response of the peer.",
        "`forebay headroom` computes it; SONiC calls it xoff",
        "IEEE 802.1Q, clause 36",
    ),
    FabricTerm(
        "pfc",
        ("priority_flow_control", "802.1qbb"),
        "Priority flow control: a port stops one class of its peer by a pause frame, so that no frame of the class is "
        "lost. The other classes go on.",
        "`forebay headroom` sizes the memory that it needs",
        "IEEE 802.1Qbb-2011, now IEEE 802.1Q, clause 36",
    ),
    FabricTerm(
        "priority_group",
        ("pg",),
        "A part of the ingress memory of a port, for one or several priorities. A lossless group has headroom.",
        "`forebay translate config_db.json` audits the groups of a switch",
        "SONiC, sonic-buffer-pg.yang",
    ),
    FabricTerm(
        "shared_headroom_pool",
        ("shp", "over_subscribe_ratio"),
        "Memory of a switch, in bytes, from which all lossless priority groups take their headroom. It may be smaller "
        "than the sum of what the groups need.",
        "printed by `forebay translate config_db.json`; `--shared-pool` of `forebay headroom`",
        "SONiC, sonic-buffer-pool.yang, xoff",
    ),
    FabricTerm(
        "xon",
        (),
        "The occupancy of a priority group at which the peer may resume, in bytes. In a table, `xon_offset` counts "
        "downwards from the pause threshold instead.",
        "printed by `forebay headroom`; column of pg_profile_lookup.ini",
        "SONiC, sonic-buffer-profile.yang",
    ),
    FabricTerm(
        "xoff",
        (),
        "The headroom of a priority group in SONiC, in bytes: the memory beyond the occupancy at which the port sends "
        "a pause frame.",
        "printed by `forebay headroom`; column of pg_profile_lookup.ini",
        "SONiC, sonic-buffer-profile.yang",
    ),
)
