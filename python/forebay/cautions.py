"""What a reader of any packet run of a scenario must know before using the numbers."""

from __future__ import annotations

from forebay.scenario import Scenario

__all__ = ["phase_effects"]

#: Relative distance from a whole number that still counts as one: a part in a thousand of a packet time.
WITHIN = 1e-3


def phase_effects(scenario: Scenario, engine: str = "packet") -> list[str]:
    """Warn where round trips are whole multiples of the bottleneck's time for a packet.

    Packets of a sender without an access link then arrive at the very instants at which others leave, and find a full
    queue full: who loses is decided by the coincidence (Floyd and Jacobson, On traffic phase effects in packet-switched
    gateways, 1992). No network is so exact.

    Returns
    -------
    list of str
        One line for each group that is concerned; none for engines that know no packets.
    """
    tables = scenario.resolved
    if engine != "packet" or len(tables["links"]) > 1:
        return []
    found = []
    for group in tables["flows"]:
        if group["workload"] != "persistent" or "access" in group:
            continue
        multiple = _packet_times(scenario, group)
        if multiple is not None:
            found.append(
                f"group `{group['name']}`: its round trip is exactly {multiple} times the link's time for a packet and "
                "it has no `access` link: packets arrive just as others leave, and losses are those of the coincidence "
                '(a phase effect); give it access = { rate = "..." } or a jitter'
            )
    return found


def _packet_times(scenario: Scenario, group: dict[str, object]) -> int | None:
    """How many packet times the round trip of a group takes, where that is a whole number."""
    rtt, packet = group["rtt"], group["packet"]
    if not isinstance(rtt, str) or not isinstance(packet, str):
        return None
    alone = Scenario.of(
        {
            "link": {"rate": f"{scenario.core.rate_bps:.0f}bps", "buffer": "0p"},
            "flows": [{"rtt": rtt, "packet": packet}],
        }
    )
    multiple = alone.core.bdp_packets or 0.0
    whole = round(multiple)
    return whole if whole >= 1 and abs(multiple - whole) < WITHIN else None
