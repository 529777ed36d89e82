"""The functions of `forebay` on routers' configurations: a scenario's link as lines, and lines read back."""

from __future__ import annotations

from forebay import _core
from forebay.configuration import configuring
from forebay.configuration.access import requested_access
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
    """Write the target link of a scenario as a router's configuration.

    Parameters
    ----------
    scenario : Scenario
        Scenario whose target link has the buffer and the discipline to configure; nothing is simulated.
    platform : str
        Name of the platform, such as "linux", "openwrt", "junos" or "ios-xr".
    access : str, optional
        The access line that the target link is, such as "docsis" or "pppoe-ptm+vlan".
    download, upload : str, optional
        Rate of the access line in the direction that the scenario lacks, as in "250Mbps".

    Returns
    -------
    Configuration
        The lines, and notes on differences from the scenario; if there are no lines, a note states the reason.

    Raises
    ------
    InputError
        If the platform or the access line is unknown.
    UnsupportedError
        If the platform lacks the discipline.

    Examples
    --------
    >>> configuration = forebay.configure(forebay.Scenario.load("@dsl-access"), "linux")
    >>> configuration.lines[-1]
    'tc qdisc replace dev eth0 parent 1:1 pfifo limit 64'
    """
    (system,) = configuring.check([platform], scenario)
    return configuring.configure(system, Port.of(scenario), requested_access(access, download, upload))


def translate(
    text: str,
    platform: str,
    *,
    rate: str | None = None,
    packet: str = "1500B",
    direction: Direction | None = None,
    port: str | None = None,
) -> Translation:
    """Read a router's configuration, or what the router prints.

    Parameters
    ----------
    text : str
        The whole configuration, a part of it, or one line.
    platform : str
        Name of the platform, such as "linux", "openwrt", "junos" or "ios-xr".
    rate : str, optional
        Rate of the link if nothing in the text shapes it, as in "10Gbps".
    packet : str
        Size of a full packet, for settings that count packets.
    direction : str, optional
        Direction of an access line if the text shapes both: "upload" or "download". By default the upload, or the only
        one.
    port : str, optional
        Port of a SONiC switch, such as "Ethernet0". By default the first one.

    Returns
    -------
    Translation
        The port, with the skipped lines and the unknown settings.

    Raises
    ------
    InputError
        If a word cannot be read; the error names the line and the word.

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
    return configuring.translate(text, system.name, Assumed(bits, size, direction, port))
