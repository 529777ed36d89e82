"""Adds one port of a configuration: its rate by what is stated and by its name, and the lines of its queue.

The lines are read in `forebay.fleets.validation`, because another file may state the rate.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from forebay.fleets.importers.importer import Collector

__all__ = ["ConfiguredPort", "add_port", "nominal_rate"]

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
    shaper : str or None
        The rate of a shaper that is not in `text`, with its unit.
    """

    device: str
    port: str
    platform: str
    line: int | None
    speed: str | None = None
    mtu: str | None = None
    text: str = ""
    shown: str = ""
    shaper: str | None = None


def nominal_rate(port: str) -> str | None:
    """The rate that the name of an interface states; None if it states none."""
    return next((rate for name, rate in _NAMED if re.match(rf"{name}[ 0-9]", port, re.IGNORECASE)), None)


def add_port(port: ConfiguredPort, found: Collector) -> None:
    """Add a port."""
    found.add(
        port.line,
        device=port.device,
        port=port.port,
        platform=port.platform,
        rate=port.speed,
        nominal=nominal_rate(port.port),
        shaper=port.shaper,
        lines=port.text or None,
        mtu=port.mtu,
        config=port.shown or None,
    )
