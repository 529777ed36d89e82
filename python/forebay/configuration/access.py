"""Access lines of homes: what each adds to a packet, and the shaper in front of it.

The figures are those of iproute2's tc/q_cake.c and tc-cake(8), version 7.1.0. The share of the line's rate is that of
the OpenWrt wiki, "SQM (Smart Queue Management)": 90 % of what was measured.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from forebay import _core
from forebay.errors import InputError, naming

__all__ = ["ACCESSES", "PTM", "SHARE", "SOURCE", "VLAN", "Access", "Framing", "access", "framing", "requested_access"]

Cells = Literal["none", "atm", "ptm"]

#: The part of the access line's rate that the shaper in front of the line uses.
SHARE = Fraction(9, 10)
#: The payload share of PTM's 64b/65b coding, for shapers that cannot count the coding (tc-cake(8)).
PTM = Fraction(64, 65)
SOURCE = "iproute2 7.1.0, tc/q_cake.c; OpenWrt wiki, 'SQM (Smart Queue Management)': 90 % of the measured rate"
#: Bytes of an 802.1Q tag, as `ether-vlan` of q_cake.c adds them.
VLAN = 4


@dataclass(frozen=True, slots=True)
class Framing:
    """The framing that a line adds to every IP packet.

    Attributes
    ----------
    overhead : int
        Bytes per packet in addition to the IP packet.
    least : int
        Smallest size of a packet in bytes, with its framing (`mpu`).
    cells : str
        "atm": cells of 53 bytes with 48 bytes of a packet each; "ptm": 65 bytes for each 64; "none": neither.
    """

    overhead: int
    least: int = 0
    cells: Cells = "none"

    def on_wire(self, packet: int) -> int:
        """Size on the line of an IP packet of `packet` bytes, in bytes."""
        size = max(self.least, packet + self.overhead)
        if self.cells == "atm":
            return 53 * math.ceil(size / 48)
        return size + math.ceil(size / 64) if self.cells == "ptm" else size

    def __str__(self) -> str:
        cells = {"atm": ", in ATM cells", "ptm": ", in PTM's 64b/65b code", "none": ""}[self.cells]
        least = f", at least {self.least} bytes" if self.least else ""
        return f"{self.overhead} bytes of framing per packet{least}{cells}"


@dataclass(frozen=True, slots=True)
class Access:
    """An access line.

    Attributes
    ----------
    name : str
        Name of the line, as in `--access`.
    framing : Framing
        Framing that the line adds to a packet.
    other : int or None
        Rate of the line in the direction that was not simulated, in bits per second.
    direction : str
        The direction that was simulated: "upload" or "download".
    """

    name: str
    framing: Framing
    other: int | None = None
    direction: Literal["upload", "download"] = "upload"


#: Framings by the keywords of q_cake.c.
ACCESSES: Mapping[str, Framing] = {
    "docsis": Framing(18, 64),
    "ethernet": Framing(38, 84),
    "pppoe-ptm": Framing(30, cells="ptm"),
    "bridged-ptm": Framing(22, cells="ptm"),
    "pppoa-vcmux": Framing(10, cells="atm"),
    "pppoa-llc": Framing(14, cells="atm"),
    "pppoe-vcmux": Framing(32, cells="atm"),
    "pppoe-llcsnap": Framing(40, cells="atm"),
    "bridged-vcmux": Framing(24, cells="atm"),
    "bridged-llcsnap": Framing(32, cells="atm"),
    "ipoa-vcmux": Framing(8, cells="atm"),
    "ipoa-llcsnap": Framing(16, cells="atm"),
    "conservative": Framing(48, cells="atm"),
}
#: The maximum number of VLAN tags; no access line uses more than two.
MOST_TAGS = 2


def access(text: str, *, download: int | None = None, upload: int | None = None) -> Access:
    """Read an access line: "docsis", or "pppoe-ptm+vlan" with a VLAN tag.

    Parameters
    ----------
    text : str
        A keyword of `ACCESSES`, with "+vlan" once or twice.
    download, upload : int, optional
        Rate of the line in the direction that was not simulated, in bits per second: one of both.
    """
    name, *tags = text.split("+")
    if name not in ACCESSES:
        raise InputError(_core.unknown("access", name, list(ACCESSES), []), "access")
    if any(tag != "vlan" for tag in tags) or len(tags) > MOST_TAGS:
        raise InputError(f"found `{text}`; allowed: {name}, {name}+vlan, {name}+vlan+vlan", "access")
    if download is not None and upload is not None:
        allowed = "the rate of the direction that the scenario does not have; the scenario has the other one"
        raise InputError(f"found download and upload; allowed: {allowed}", "upload")
    line = ACCESSES[name]
    line = dataclasses.replace(line, overhead=line.overhead + VLAN * len(tags))
    return Access(text, line, download or upload, "upload" if upload is None else "download")


def requested_access(name: str | None, download: str | None, upload: str | None) -> Access | None:
    """The access line of an option or a call; raises `InputError` if a rate is given without a line."""
    given = {"download": download, "upload": upload}
    rates = {way: None if text is None else _rate(way, text) for way, text in given.items()}
    if name is None:
        for way, text in given.items():
            if text is not None:
                raise InputError(
                    f"found `{text}` without an access line; allowed: together with --access, as in --access docsis",
                    way,
                )
        return None
    return access(name, **rates)


def _rate(name: str, text: str) -> int:
    with naming(name):
        found = _core.parse_quantity(text, "rate")
    if not 1e3 <= found <= 1e12:
        raise InputError(f"found `{text}`; allowed: 1kbps to 1Tbps", name)
    return round(found)


def framing(words: list[str]) -> Framing | None:
    """The framing that keywords of cake add up to, in their order; None if no keyword is about framing."""
    overhead, least, found = 0, 0, False
    cells: Cells = "none"
    for word in words:
        name, _, value = word.partition("=")
        if name in ("atm", "ptm"):
            cells = "atm" if name == "atm" else "ptm"
        elif name == "noatm":
            cells = "none"
            continue
        elif name == "ether-vlan":
            overhead += VLAN
        elif name == "conservative":
            overhead, cells = ACCESSES[name].overhead, "atm"
        elif name == "overhead":
            overhead = int(value)
        elif name == "mpu":
            least = int(value)
        elif name in ACCESSES:
            line = ACCESSES[name]
            overhead, cells = overhead + line.overhead, line.cells if name != "ethernet" else cells
            least = line.least or least
        else:
            continue
        found = True
    return Framing(overhead, least, cells) if found else None
