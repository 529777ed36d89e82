"""The functions of `forebay` on routers' configurations: a scenario's link as lines, and lines read back."""

from __future__ import annotations

from forebay import _core
from forebay.configuration import configuring
from forebay.configuration.access import asked_access
from forebay.configuration.configuring import Configuration, Translation
from forebay.configuration.platforms.platform import Assumed
from forebay.configuration.platforms.registry import platform as platform_of
from forebay.configuration.port import Direction, Port
from forebay.errors import InputError, naming
from forebay.scenario import Scenario

__all__ = ["Configuration", "Translation", "configure", "translate"]


def configure(
    scenario: Scenario,
    platform: str,
    *,
    access: str | None = None,
    download: str | None = None,
    upload: str | None = None,
) -> Configuration:
    """Write the target link of a scenario, as it is, in the words of a router.

    Parameters
    ----------
    scenario : Scenario
        Its target link has the buffer and the discipline to configure; nothing is simulated.
    platform : str
        Such as "linux", "openwrt", "junos" or "ios-xr".
    access : str, optional
        The access line that the target link is, such as "docsis" or "pppoe-ptm+vlan".
    download, upload : str, optional
        Rate of the access line in the direction that the scenario does not have, as in "250Mbps".

    Returns
    -------
    Configuration
        The lines, and notes on what differs from the scenario; without lines a note says why.

    Raises
    ------
    InputError
        For a platform or an access line that there is none of.
    UnsupportedError
        Where the platform lacks the discipline.

    Examples
    --------
    >>> told = forebay.configure(scenario, "openwrt", access="docsis", download="250Mbps")
    >>> lines, notes = told.lines, told.notes
    """
    (system,) = configuring.check([platform], scenario)
    return configuring.configure(system, Port.of(scenario), asked_access(access, download, upload))


def translate(
    text: str,
    platform: str,
    *,
    rate: str | None = None,
    packet: str = "1500B",
    direction: Direction | None = None,
) -> Translation:
    """Read a router's configuration, or what the router prints.

    Parameters
    ----------
    text : str
        The whole configuration, a part of it, or one line.
    platform : str
        Such as "linux", "openwrt", "junos" or "ios-xr".
    rate : str, optional
        Rate of the link where nothing in the text shapes it, as in "10Gbps".
    packet : str
        Size of a full packet, where something counts packets.
    direction : str, optional
        The direction of an access line, where the text shapes both: "upload" or "download". Without it the upload, or
        the only one.

    Returns
    -------
    Translation
        The port, with what was skipped and what stays unknown.

    Raises
    ------
    InputError
        Names the line and the word that is not understood.

    Examples
    --------
    >>> forebay.translate("bfifo limit 200kb", "linux", rate="100Mbps").seconds
    0.016384
    """
    system = platform_of(platform)
    if direction not in (None, "upload", "download"):
        raise InputError(f"found `{direction}`; allowed: upload, download", "direction")
    with naming("rate"):
        bits = None if rate is None else round(_core.parse_quantity(rate, "rate"))
    with naming("packet"):
        size = round(_core.parse_quantity(packet, "bytes"))
    if not 64 <= size <= 65_535:
        raise InputError(f"found `{packet}`; allowed: 64B to 65535B", "packet")
    return configuring.translate(text, system.name, Assumed(bits, size, direction))
