"""The random states of a search: those that a scenario declares, and how far transfers with drawn starts overlap.

`strata.py` takes the values of both. Transfers are harmless one by one and decide a goal if several come together. The
engines know the drawn starts before a run, but the duration of a transfer only afterwards. A second scenario therefore
has a source of constant rate in place of each transfer, which sends for about as long as the transfer takes. It draws
the same starts and counts, because the draws depend on the seed and on the names and order of the groups. Its
overload, which the engines compute without packets, is the overlap.

One such scenario has sources that fill the link alone, the next has sources of half its rate, and so on. Their overload
is the time in which at least two, three or four transfers are active. The durations are estimates. Strata of wrong
durations have the right probabilities, too, and only hold less of what decides.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["States"]

#: Transfers at the same time that make a state, beyond one: two, three, and four.
AT_ONCE = (1, 2, 3)
#: A source in place of transfers has a little less than its share, so that roundings are no overload.
SHARE = 0.999
#: Load of other sources at most, as a transfer's share of the link counts it.
MOST_LOAD = 0.9
#: Bursts count as transfers if a source's rate is this part of the link's at least.
LARGE = 0.25
#: Time after which a source would send again: never.
NEVER = "1000000s"
#: The rate of sources in place of groups without a part in the overlap, which keep the groups' numbers.
NEXT_TO_NOTHING = "1bps"


class States:
    """The sampled states of a scenario and the overlaps of its transfers.

    Parameters
    ----------
    core : forebay._core.Scenario
        With its seed.

    Attributes
    ----------
    listed : list of RandomState
        The states, in the order of the columns of `values`.
    """

    def __init__(self, core: _core.Scenario) -> None:
        self.core = core
        self.listed = [state for state in core.random_states() if state["sampled"]]
        self._declared = len(self.listed)
        #: Scenarios of sources, with the column of their overload.
        self._overlaps: list[tuple[_core.Scenario, int]] = []
        for sources, key in _of_sources(core):
            sampled = [state for state in sources.random_states() if state["sampled"]]
            if sampled and sampled[-1]["kind"] == "overload":
                self._overlaps.append((sources, len(sampled) - 1))
                # The cycle tells how much there is to draw: a start and a duration of each flow.
                draws = 2 * sum(count for _, count, _, _ in sources.groups)
                self.listed.append({**sampled[-1], "key": key, "cycle_s": sum(core.duration_s) / draws})

    def values(self, seed: int, replications: Sequence[int]) -> NDArray[np.float64]:
        """Value of each state in each replication.

        Parameters
        ----------
        seed : int
            Seed of the replications.
        replications : sequence of int
            Their numbers.

        Returns
        -------
        array
            Values of the shape (replications, states).
        """
        columns = [np.asarray(self.core.state_values(seed, replications), dtype=np.float64)] if self._declared else []
        for sources, column in self._overlaps:
            values = np.asarray(sources.state_values(seed, replications), dtype=np.float64)
            columns.append(values[:, [column]])
        return np.hstack(columns)


def _of_sources(core: _core.Scenario) -> Iterator[tuple[_core.Scenario, str]]:
    """Scenarios with sources in place of transfers, and the key of the drawn starts."""
    tables: dict[str, Any] = json.loads(core.canonical_json())
    target = next(link for link in tables["links"] if link.get("target", len(tables["links"]) == 1))
    groups = [group for group in tables["flows"] if target["name"] in group.get("path", ())]
    transfers = {group["name"] for group in groups if _is_transfer(group)}
    drawn = [group["name"] for group in groups if group["name"] in transfers and isinstance(group["start"], dict)]
    if not drawn:
        return
    key = f"flows.{drawn[0] if len(drawn) == 1 else '*'}.start"
    tables["links"] = [
        {"name": link["name"], "rate": f"{rate:.0f}bps", "buffer": "1p", "target": link is target}
        for link, rate in zip(tables["links"], core.rates_bps, strict=True)
    ]
    means, rate = _Means(core, tables, transfers), core.rate_bps
    left = rate * (1 - min(core.background_load, MOST_LOAD))
    for others in AT_ONCE:
        peak = f"{SHARE * rate / others:.0f}bps"
        share_bps = left / (others + core.persistent_flows)
        flows = []
        for group in tables["flows"]:
            if group["name"] in transfers:
                on = f"{means.duration_s(group, share_bps):.9f}s"
                flows.append(_source(group, {"on_off": {"peak": peak, "on": on, "off": NEVER}}))
            elif _peak_bps(group) >= LARGE * rate:
                flows.append({**group, "workload": {"on_off": {**group["workload"]["on_off"], "peak": peak}}})
            else:
                flows.append(_source(group, {"cbr": {"rate": NEXT_TO_NOTHING}}, ("name", "path")))
        yield _parsed({**tables, "flows": flows}), key


def _is_transfer(group: Mapping[str, Any]) -> bool:
    """Whether each flow of a group is one transfer."""
    return "finite" in group["workload"]


def _peak_bps(group: Mapping[str, Any]) -> float:
    """Rate of each source of an on-off group in a burst, in bits per second; zero of other groups."""
    sources = group["workload"].get("on_off") if isinstance(group["workload"], dict) else None
    return 0.0 if sources is None else _core.parse_quantity(sources["peak"], "rate")


def _source(
    group: Mapping[str, Any],
    workload: Mapping[str, Any],
    keys: Sequence[str] = ("name", "count", "packet", "start", "stop", "path"),
) -> dict[str, Any]:
    """A group of sources with these keys of another group."""
    return {**{key: group[key] for key in keys if key in group}, "workload": workload}


def _parsed(tables: Mapping[str, Any]) -> _core.Scenario:
    retained = {key: tables[key] for key in ("links", "flows", "run")}
    return _core.Scenario.parse(json.dumps(retained), "json", "<sources>", ())


class _Means:
    """Mean sizes and round-trip times of transfers, as the engines compute them from the distributions."""

    def __init__(self, core: _core.Scenario, tables: Mapping[str, Any], transfers: set[str]) -> None:
        self._core = core
        self._rates = dict(zip((link["name"] for link in tables["links"]), core.rates_bps, strict=True))
        times, sizes = [], []
        for group in tables["flows"]:
            if group["name"] in transfers:
                rtt = group["rtt"]["common"] if "common" in group["rtt"] else group["rtt"]
                peak = {"peak": "1Mbps", "on": _scattered(rtt), "off": NEVER}
                times.append({**_source(group, {"on_off": peak}, ("name", "path")), "start": "0s"})
                periodic = {"every": NEVER, "size": _scattered(group["workload"]["finite"]["size"])}
                sizes.append({**_source(group, {"periodic": periodic}, ("name", "path")), "rtt": "1s"})
        self._rtts_s: dict[str, float] = _durations({**tables, "flows": times})
        self._least_s: dict[str, float] = _durations({**tables, "flows": sizes})

    def duration_s(self, group: Mapping[str, Any], share_bps: float) -> float:
        """Seconds that a transfer takes on average with this share of the target link: slow start and the rest."""
        # Distributions may have no mean.
        most_s: float = sum(self._core.duration_s)
        name, rtt_s = group["name"], min(most_s, self._rtts_s[group["name"]])
        slowest = min(self._rates[link] for link in group["path"])
        rates = [slowest, share_bps]
        if "access" in group:
            rates.append(_core.parse_quantity(group["access"]["rate"], "rate"))
        packet_bits = 8 * self._core.packet_bytes
        if "receive_window" in group:
            rates.append(_core.parse_quantity(group["receive_window"], "packets") * packet_bits / rtt_s)
        bits = self._least_s[name] * slowest
        first = _core.parse_quantity(group["initial_window"], "packets") * packet_bits
        mean_s: float = bits / min(rates) + rtt_s * (1 + math.log2(1 + bits / first))
        return min(most_s, mean_s)


def _scattered(law: Any) -> Any:
    """A distribution with the same mean that needs no order of flows."""
    if isinstance(law, list):
        return {"choice": law}
    return {"uniform": law["linspace"]} if isinstance(law, dict) and "linspace" in law else law


def _durations(tables: Mapping[str, Any]) -> dict[str, float]:
    """Mean lengths of bursts, in seconds, by the name of the group."""
    states = [state for state in _parsed(tables).random_states() if state["key"].startswith("flows.")]
    return {state["key"].split(".")[1]: state["duration_s"] or 0.0 for state in states}
