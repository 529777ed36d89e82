"""Adds one port of a configuration: its rate by what is stated and by its name, and its queue by `translate`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from forebay.configuration.configuring import translate
from forebay.configuration.platforms.platform import Assumed
from forebay.errors import ForebayError
from forebay.fleets.importers.importer import Collector
from forebay.fleets.settings import Setting, setting_of

__all__ = ["ConfiguredPort", "add_port", "nominal_rate", "translated"]

#: Rates that the names of interfaces state: Junos (ge, xe), IOS, IOS XE and IOS XR. A name such as et or Ethernet
#: has several rates.
_NAMED = (
    (r"(?:fe-|fastethernet)", "100Mbps"),
    (r"(?:ge-|gigabitethernet|gige)", "1Gbps"),
    (r"(?:twogigabitethernet)", "2.5Gbps"),
    (r"(?:fivegigabitethernet)", "5Gbps"),
    (r"(?:xe-|tengigabitethernet|tengige)", "10Gbps"),
    (r"(?:twentyfivegige|twentyfivegigabitethernet)", "25Gbps"),
    (r"(?:fortygige|fortygigabitethernet)", "40Gbps"),
    (r"(?:fiftygige)", "50Gbps"),
    (r"(?:hundredgige|hundredgigabitethernet)", "100Gbps"),
    (r"(?:twohundredgige)", "200Gbps"),
    (r"(?:fourhundredgige)", "400Gbps"),
)


@dataclass(frozen=True, slots=True)
class ConfiguredPort:
    """A port of a configuration.

    Attributes
    ----------
    device, port, platform : str
    line : int or None
        Line where the port begins.
    speed : str or None
        The stated rate with its unit.
    mtu : str or None
    text : str
        The lines of the queue, for `translate`; empty if the configuration leaves the queue to the device.
    shown : str
        The lines of the port, for the reader of a change set.
    name : str or None
        Name of the port in `text`, where this has several.
    """

    device: str
    port: str
    platform: str
    line: int | None
    speed: str | None = None
    mtu: str | None = None
    text: str = ""
    shown: str = ""
    name: str | None = None


def nominal_rate(port: str) -> str | None:
    """The rate that the name of an interface states; None if it states none."""
    return next((rate for name, rate in _NAMED if re.match(rf"{name}[ 0-9]", port, re.IGNORECASE)), None)


@lru_cache(maxsize=10_000)
def translated(text: str, platform: str, bits: int | None, packet: int, name: str | None) -> Setting | str:
    """The queue of a text, or the reason why it cannot be read."""
    try:
        return setting_of(translate(text, platform, Assumed(bits, packet, interface=name)))
    except ForebayError as error:
        return str(error).removeprefix("translate: ")


def add_port(port: ConfiguredPort, found: Collector) -> None:
    """Add a port, or the reason why its queue cannot be read."""
    nominal = nominal_rate(port.port)
    setting: Setting | str = Setting(None, None, None, None)
    if port.text:
        setting = translated(port.text, port.platform, _bits(port.speed or nominal), 1500, port.name)
    if isinstance(setting, str):
        found.reject(port.line, f"{port.device} {port.port}: its queue: {setting}")
        return
    found.add(
        port.line,
        device=port.device,
        port=port.port,
        platform=port.platform,
        rate=port.speed,
        nominal=nominal,
        shaper=None if setting.rate is None else f"{setting.rate}bps",
        # The size in bytes is exact; packets of some platforms have a size of their own.
        buffer=setting.buffer if setting.bytes is None or port.platform != "ios-xr" else f"{setting.bytes}B",
        queue=setting.queue,
        mtu=port.mtu,
        config=port.shown or None,
    )


def _bits(text: str | None) -> int | None:
    found = re.fullmatch(r"([0-9.]+)([kMGT]?)bps", text or "")
    factors = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    return None if found is None else round(float(found[1]) * factors[found[2]])
