"""Rules for settings that are no buffers: what papers and standards say of a queue's or a sender's parameter.

Each is a value in the base unit of its key, with its formula and source, and whether what it was made for is there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.rules import rules
from forebay.scenario import Scenario
from forebay.search.range_variable import RangeVariable, at_key
from forebay.text.formatting import bandwidth, duration

__all__ = ["ParameterRule", "parameter_rules"]

CODEL = frozenset({"codel", "fq_codel", "cobalt", "cake"})
RED = frozenset({"red", "choke"})
PIE = frozenset({"pie", "fq_pie"})
QUANTA = frozenset({"fq_codel", "fq_pie", "cake"})
#: Controllers that answer to the share of marks.
SCALABLE = frozenset({"dctcp", "prague"})
#: RED in automatic mode: the delay that half of it is for, and packets at least.
AUTOMATIC_S, LEAST = 0.005, 5.0


@dataclass(frozen=True, slots=True)
class ParameterRule:
    """The value of a rule for a key.

    Attributes
    ----------
    name : str
        Short name, for tables.
    value : float
        Value in the base unit of the key.
    formula : str
        The formula, with its source.
    against : str
        The conditions of the rule that the scenario lacks; empty if it has all.
    share : float
        Share of the flows that it fits.
    """

    name: str
    value: float
    formula: str
    against: str = ""
    share: float = 1.0

    @property
    def applies(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.against


def parameter_rules(variable: RangeVariable) -> list[ParameterRule]:
    """Rules for the key that is varied, in the order of their sources.

    Parameters
    ----------
    variable : RangeVariable
        The key, the unit of its values, and the scenario with its own value.
    """
    table_key, _, parameter = variable.key.rpartition(".")
    scenario = variable.scenario
    if variable.key == "link.buffer":
        return list(_buffers(variable))
    if parameter == "initial_window":
        return list(_initial_windows(scenario, table_key))
    tables = [table for table in at_key(scenario.resolved, table_key) if isinstance(table, Mapping)]
    kinds = {str(table.get("kind")) for table in tables}
    if len(kinds) != 1:
        return []
    place = _Place(variable, tables[0])
    return [
        rule
        for (family, name), rules_there in RULES.items()
        if name == parameter and kinds <= family
        for rule in rules_there(place)
        if math.isfinite(rule.value) and rule.value > 0
    ]


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of a parameter: the variable, and the table of the parameter."""

    variable: RangeVariable
    table: Mapping[str, Any]

    @property
    def scenario(self) -> Scenario:
        """The scenario with the parameter's own value."""
        return self.variable.scenario

    @property
    def rate_bps(self) -> float:
        """The value of the link that the key names, otherwise of the target link."""
        parts = self.variable.key.split(".")
        names = list(at_key(self.scenario.resolved, ".".join([*parts[:2], "name"]))) if parts[0] == "links" else []
        links = [link["name"] for link in self.scenario.resolved["links"]]
        core = self.scenario.core
        return core.rates_bps[links.index(names[0])] if names else core.rate_bps

    @property
    def packets_per_s(self) -> float:
        """Packets per second of the mean size at the link's rate."""
        return self.rate_bps / (8 * self.scenario.core.packet_bytes)

    @property
    def rtt_s(self) -> float:
        """The mean round trip; not a number where nothing has one."""
        core = self.scenario.core
        return math.nan if core.bdp_packets is None else core.bdp_packets * core.packet_bytes * 8 / core.rate_bps

    @property
    def bdp(self) -> float:
        """Packets of a bandwidth-delay product there."""
        return self.packets_per_s * self.rtt_s

    def queue(self, packets: float) -> float:
        """The buffer, given in packets, in the base unit of the key."""
        seconds = packets / self.packets_per_s
        units = {"packets": packets, "s": seconds, "bytes": packets * self.scenario.core.packet_bytes}
        return units.get(self.variable.base, packets / self.bdp if self.variable.base == "BDP" else math.nan)

    def waiting(self, key: str) -> float | None:
        """The packets that a threshold of the same table stands for; None where it is automatic, or a share."""
        text = self.table.get(key)
        if text is None:
            return None
        packets_per = {"packets": 1.0, "bytes": 1 / self.scenario.core.packet_bytes, "time": self.packets_per_s}
        for dimension, factor in packets_per.items():
            try:
                return _core.parse_quantity(str(text), dimension) * factor  # type: ignore[arg-type]
            except InputError:
                continue
        return None

    def scalable(self) -> float:
        """The share of the flows that react whose controller answers to the share of marks, as DCTCP does."""
        kinds = {group["name"]: group["cca"]["kind"] for group in self.scenario.resolved["flows"] if "cca" in group}
        reacting = [(count, kinds.get(name)) for name, count, _, responsive in self.scenario.core.groups if responsive]
        every = sum(count for count, _ in reacting)
        return sum(count for count, kind in reacting if kind in SCALABLE) / every if every else 0.0


def _thresholds(place: _Place) -> Iterator[ParameterRule]:
    """K of a switch that marks."""
    share = place.scalable()
    few = "" if share > 0.5 else f"{100 * share:.0f} % of the flows that react answer to the share of marks"
    text = "C × RTT / 7, above which a link of DCTCP flows does not run empty (Alizadeh et al., SIGCOMM 2010, eq. 13)"
    yield ParameterRule("dctcp-seventh", place.queue(place.bdp / 7), text, few, share)
    for name, packets, rate in (("dctcp-1g", 20.0, 1e9), ("dctcp-10g", 65.0, 1e10)):
        text = f"{packets:.0f} packets at {rate / 1e9:.0f} Gb/s (Alizadeh et al., SIGCOMM 2010, section 4)"
        other = "" if 0.5 < place.rate_bps / rate < 2 else f"made for {rate / 1e9:.0f} Gb/s"
        yield ParameterRule(name, place.queue(packets), text, "; ".join(filter(None, (other, few))), share)
    most = "" if share < 0.5 else f"{100 * share:.0f} % of the flows that react do not halve at a mark"
    text = "C × RTT, for flows that halve at a mark (Bai et al., NSDI 2016, eq. 1)"
    yield ParameterRule("ecn-bdp", place.queue(place.bdp), text, most, 1 - share)


def _automatic(place: _Place) -> float:
    return max(LEAST, place.packets_per_s * AUTOMATIC_S / 2)


def _red_min(place: _Place) -> Iterator[ParameterRule]:
    text = "5 packets (Floyd, RED: Discussions of setting parameters, 1997)"
    yield ParameterRule("red-1997", place.queue(LEAST), text)
    text = "half of what the link sends in 5 ms, at least 5 packets (Floyd, Gummadi and Shenker 2001, section 4)"
    yield ParameterRule("adaptive-red", place.queue(_automatic(place)), text)


def _red_max(place: _Place) -> Iterator[ParameterRule]:
    lower = place.waiting("min")
    packets = _automatic(place) if lower is None else lower
    text = f"three times min, here {packets:.3g} packets (Floyd, RED: Discussions of setting parameters, 1997)"
    yield ParameterRule("three-to-one", place.queue(3 * packets), text)


def _red_max_p(place: _Place) -> Iterator[ParameterRule]:
    adaptive = "" if not place.table.get("adaptive") else "where RED is adaptive it is only where it begins"
    yield ParameterRule("red-1993", 0.02, "1/50 (Floyd and Jacobson 1993, section 6)", adaptive)
    yield ParameterRule("red-1997", 0.1, "1/10 (Floyd, RED: Discussions of setting parameters, 1997)", adaptive)


def _red_weight(place: _Place) -> Iterator[ParameterRule]:
    yield ParameterRule("red-1997", 0.002, "0.002 (Floyd, RED: Discussions of setting parameters, 1997)")
    text = "1 − exp(−1/C), C in packets per second (Floyd, Gummadi and Shenker 2001, section 4)"
    yield ParameterRule("adaptive-red", -math.expm1(-1 / place.packets_per_s), text)


def _codel_target(place: _Place) -> Iterator[ParameterRule]:
    packet = 1 / place.packets_per_s
    slow = "" if packet <= 0.005 else f"a packet alone takes {duration(packet)} on the link"
    yield ParameterRule("rfc-8289", 0.005, "5 ms (RFC 8289, section 4.3)", slow)
    interval = _core.parse_quantity(str(place.table["interval"]), "time")
    text = f"a twentieth of the interval of {duration(interval)} (RFC 8289, section 4.3)"
    yield ParameterRule(
        "codel-share", interval / 20, text, "" if packet <= interval / 20 else "a packet alone takes longer"
    )


def _codel_interval(place: _Place) -> Iterator[ParameterRule]:
    longest = place.scenario.core.longest_rtt_s
    beyond = "" if longest is None or 0.01 <= longest <= 1 else f"made for 10 ms to 1 s, not for {duration(longest)}"
    yield ParameterRule("rfc-8289", 0.1, "100 ms, for round trips of 10 ms to 1 s (RFC 8289, section 4.3)", beyond)
    if longest is not None:
        yield ParameterRule("longest-rtt", longest, "the largest expected round trip (RFC 8289, section 4.3)")


def _pie_target(_place: _Place) -> Iterator[ParameterRule]:
    yield ParameterRule("rfc-8033", 0.015, "15 ms (RFC 8033, section 5.1)")


def _pie_update(_place: _Place) -> Iterator[ParameterRule]:
    yield ParameterRule("rfc-8033", 0.015, "15 ms (RFC 8033, section 5.1)")


def _dual_target(_place: _Place) -> Iterator[ParameterRule]:
    yield ParameterRule("rfc-9332", 0.015, "15 ms (RFC 9332, appendix A.1)")


def _dual_step(_place: _Place) -> Iterator[ParameterRule]:
    yield ParameterRule("rfc-9332", 0.001, "1 ms (RFC 9332, appendix A.1)")


def _quantum(place: _Place) -> Iterator[ParameterRule]:
    text = "1514 bytes, an Ethernet frame (RFC 8290, section 5.2.3)"
    slow = "" if place.rate_bps >= 1e6 else f"at {bandwidth(place.rate_bps)} a turn takes longer than 12 ms"
    yield ParameterRule("rfc-8290", 1514.0, text, slow)


def _gain(place: _Place) -> Iterator[ParameterRule]:
    yield ParameterRule("rfc-8257", 1 / 16, "1/16 (RFC 8257, section 4.2)")
    threshold = next(iter(at_key(place.scenario.resolved, "link.queue.threshold")), None)
    if threshold is None:
        return
    marking = _Place(place.variable, {"threshold": threshold}).waiting("threshold")
    if marking is not None:
        gain = 1.386 / math.sqrt(2 * (place.bdp + marking))
        text = "1.386 / √(2 (C × RTT + K)) at most (Alizadeh et al., SIGCOMM 2010, eq. 15)"
        yield ParameterRule("dctcp-gain", gain, text)


def _initial_windows(scenario: Scenario, key: str) -> Iterator[ParameterRule]:
    """Packets of the size that the groups have, where they have one."""
    groups = [group for group in at_key(scenario.resolved, key) if isinstance(group, Mapping)]
    sizes = {(group["packet"], group["header"]) for group in groups if isinstance(group.get("packet"), str)}
    yield ParameterRule("rfc-6928", 10.0, "10 packets (RFC 6928)")
    if len(sizes) == 1:
        packet, header = (_core.parse_quantity(text, "bytes") for text in sizes.pop())
        segment = packet - header
        most = min(4 * segment, max(2 * segment, 4380.0))
        yield ParameterRule(
            "rfc-3390", float(math.floor(most / segment)), "4,380 bytes, two to four packets (RFC 3390)"
        )


def _buffers(variable: RangeVariable) -> Iterator[ParameterRule]:
    """The buffers of sizing rules, in the unit of the range."""
    for rule in rules(variable.scenario.core):
        if rule.packets is None:
            continue
        size = variable.scenario.with_packets(max(1, round(rule.packets))).buffer
        units = {"packets": size.packets, "bytes": size.bytes, "s": size.seconds, "BDP": size.bdp or math.nan}
        yield ParameterRule(rule.name, units[variable.base], rule.name, "" if rule.applies else rule.why, rule.share)


#: By the disciplines or controllers that have it, and the parameter.
RULES: Mapping[tuple[frozenset[str], str], Callable[[_Place], Iterator[ParameterRule]]] = {
    (frozenset({"step"}), "threshold"): _thresholds,
    (RED, "min"): _red_min,
    (RED, "max"): _red_max,
    (RED, "max_p"): _red_max_p,
    (RED, "weight"): _red_weight,
    (CODEL, "target"): _codel_target,
    (CODEL, "interval"): _codel_interval,
    (PIE, "target"): _pie_target,
    (PIE, "update"): _pie_update,
    (frozenset({"dualpi2"}), "target"): _dual_target,
    (frozenset({"dualpi2"}), "step"): _dual_step,
    (QUANTA, "quantum"): _quantum,
    (SCALABLE, "gain"): _gain,
}
