"""The registry of platforms: one line each, in the order in which they are listed."""

from __future__ import annotations

from collections.abc import Mapping

from forebay import _core
from forebay.configuration.platforms.eos import EOS, EOS_TRIDENT
from forebay.configuration.platforms.ios_xe import IOS_XE
from forebay.configuration.platforms.ios_xr import IOS_XR
from forebay.configuration.platforms.junos import JUNOS
from forebay.configuration.platforms.linux.tc import LINUX
from forebay.configuration.platforms.nx_os import NX_OS
from forebay.configuration.platforms.openwrt import OPENWRT
from forebay.configuration.platforms.platform import Platform
from forebay.configuration.platforms.routeros import ROUTEROS
from forebay.configuration.platforms.sonic import SONIC
from forebay.configuration.platforms.sros import SROS
from forebay.errors import InputError

__all__ = ["ALIASES", "PLATFORMS", "platform"]

_ALL: tuple[Platform, ...] = (
    IOS_XR,
    IOS_XE,
    NX_OS,
    JUNOS,
    EOS,
    EOS_TRIDENT,
    SROS,
    SONIC,
    ROUTEROS,
    OPENWRT,
    LINUX,
)
PLATFORMS: Mapping[str, Platform] = {each.name: each for each in _ALL}

#: Other spellings of a name.
ALIASES: Mapping[str, str] = {"sr-os": "sros", "tc": "linux", "iosxr": "ios-xr", "iosxe": "ios-xe", "nxos": "nx-os"}


def platform(name: str) -> Platform:
    """The platform of a name; the `InputError` for an unknown name lists all platforms."""
    known = ALIASES.get(name.lower(), name.lower())
    if known not in PLATFORMS:
        raise InputError(_core.unknown("platform", name, list(PLATFORMS), list(ALIASES.items())), "platforms")
    return PLATFORMS[known]
