"""Constants of the ASICs that SONiC's dynamic buffer model knows, and revisions of its published calculation.

`sonic_model.py` computes with them. Sources, read at these commits: sonic-net/sonic-buildimage 086b03bd,
platform/mellanox/asic_table.j2 and peripheral_table.j2, platform/barefoot/ likewise, and
platform/vs/docker-sonic-vs/asic_table.json; sonic-net/sonic-swss e6b0c5b5, cfgmgr/buffer_headroom_*.lua.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["ASICS", "DEVICES", "FIRST_BAREFOOT", "RELEASES", "REVISIONS", "Asic", "Gearbox", "Revision"]

_BUILDIMAGE = "sonic-buildimage 086b03bd"


@dataclass(frozen=True, slots=True)
class Asic:
    """Constants of one ASIC.

    Attributes
    ----------
    name : str
        Name for users, such as "spectrum-4".
    vendor : str
        Vendor of the plugin that reads the constants: "mellanox", "barefoot" or "vs".
    key : str
        Key of the ASIC in SONiC's ASIC_TABLE.
    generation : int
        Generation of Spectrum; 0 for others.
    cell : float
        Bytes of a memory cell.
    pipeline_latency_kib, mac_phy_delay_kib, peer_response_kib : float
        Delays, as bytes that arrive meanwhile, in KiB.
    source : str
        File of the constants.
    """

    name: str
    vendor: str
    key: str
    generation: int
    cell: float
    pipeline_latency_kib: float
    mac_phy_delay_kib: float
    peer_response_kib: float
    source: str


def _spectrum(generation: int, cell: int, latency: int) -> Asic:
    suffix = "" if generation == 1 else f"-{generation}"
    source = f"{_BUILDIMAGE}, platform/mellanox/asic_table.j2"
    key = f"MELLANOX-SPECTRUM{suffix}"
    return Asic(f"spectrum-{generation}", "mellanox", key, generation, cell, latency, 0.8, 3.8, source)


ASICS: Mapping[str, Asic] = MappingProxyType(
    {
        asic.name: asic
        for asic in (
            _spectrum(1, 96, 19),
            _spectrum(2, 144, 19),
            _spectrum(3, 144, 19),
            _spectrum(4, 192, 19),
            _spectrum(5, 192, 19),
            _spectrum(6, 256, 42),
            Asic(
                *("tofino-2", "barefoot", "BAREFOOT-TOFINO-2", 0, 176, 68, 0.8, 9),
                f"{_BUILDIMAGE}, platform/barefoot/asic_table.j2",
            ),
            Asic("vs", "vs", "VS-ASIC", 0, 128, 18, 0.8, 3.8, f"{_BUILDIMAGE}, docker-sonic-vs/asic_table.json"),
        )
    }
)


@dataclass(frozen=True, slots=True)
class Gearbox:
    """The ASIC of a device, and the delay of its gearbox in nanoseconds; 0 without a gearbox."""

    asic: str
    delay: float = 0.0


#: ASIC and gearbox of each device that has a dynamic buffer model.
DEVICES: Mapping[str, Gearbox] = MappingProxyType(
    {
        **dict.fromkeys(("msn2010", "msn2100", "msn2410", "msn2700", "msn2740", "sn2201"), Gearbox("spectrum-1")),
        **dict.fromkeys(("msn3420", "msn3700", "msn3700c"), Gearbox("spectrum-2")),
        "msn3800": Gearbox("spectrum-2", 400),
        **dict.fromkeys(("msn4410", "msn4600", "msn4600c", "msn4700", "sn4280", "sn4800"), Gearbox("spectrum-3")),
        **dict.fromkeys(("sn5400", "sn5600", "sn5610n"), Gearbox("spectrum-4")),
        "sn5640": Gearbox("spectrum-5"),
        **dict.fromkeys(("sn6600", "sn6810"), Gearbox("spectrum-6")),
        **dict.fromkeys(("as9516-32d", "as9516bf-32d"), Gearbox("tofino-2", 365)),
    }
)


@dataclass(frozen=True, slots=True)
class Revision:
    """A revision of SONiC's plugin for Spectrum: what it computes differently from the others.

    Attributes
    ----------
    date, commit : str
        Commit of sonic-net/sonic-swss.
    releases : tuple of str
        Branches of SONiC that have this revision at their tip.
    fastest_quanta : int
        Largest rate with pause quanta, in Mb/s; 0 if the response of the peer is the constant of the device.
    cable_divisor : int
        Divisor of the bytes on the cable: 1,000 bits in a kilobit, or 1,024.
    has_whole_factor : bool
        Whether the worst-case factor of cells is rounded up to a whole number.
    has_share_of_bytes : bool
        Whether the share of small packets counts packets, and is converted to a share of bytes.
    eight_lane_discount_kib : int
        KiB subtracted from the doubled pipeline latency of an 8-lane port.
    tile_generations : tuple of int
        Generations of Spectrum with bytes on the tile.
    compensation : int
        Bytes added without a shared headroom pool if the share of small packets is below 100 %.
    spectrum_6 : int
        Bytes added to xoff on Spectrum-6.
    """

    date: str
    commit: str
    releases: tuple[str, ...]
    fastest_quanta: int
    cable_divisor: int = 1024
    has_whole_factor: bool = False
    has_share_of_bytes: bool = False
    eight_lane_discount_kib: int = 1
    tile_generations: tuple[int, ...] = ()
    compensation: int = 0
    spectrum_6: int = 0


_OF_2020 = Revision("2021-06", "6c88e47a", ("202012", "202106"), 0)
_OF_2024 = Revision(
    "2024-09",
    "3943093d",
    ("202405", "202411", "202505", "202511"),
    800_000,
    cable_divisor=1000,
    has_whole_factor=True,
    has_share_of_bytes=True,
    eight_lane_discount_kib=0,
    tile_generations=(4, 5),
)
_OF_2026 = dataclasses.replace(
    _OF_2024,
    date="2026-07",
    commit="422271e7",
    releases=("202605", "master"),
    compensation=2 * 1024,
    spectrum_6=18 * 1024,
)
#: Revisions that a branch of SONiC has, the oldest first.
REVISIONS: tuple[Revision, ...] = (
    _OF_2020,
    Revision("2021-11", "f9462c49", ("202111", "202205"), 400_000),
    Revision("2023-08", "4957df86", ("202211", "202305", "202311"), 800_000),
    _OF_2024,
    _OF_2026,
)
#: Revision of each release of SONiC.
RELEASES: Mapping[str, Revision] = MappingProxyType(
    {release: revision for revision in REVISIONS for release in revision.releases}
)
#: First release with the plugin for Tofino, whose calculation has not changed since.
FIRST_BAREFOOT = "202211"
