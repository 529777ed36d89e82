"""Cases for the observation with drawn rates, round trips, buffers, controllers and places.

These cases test the stated certainty of estimates. The cases of one seed were seen during the development, those of
another were not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from checks.observed_cases import Case

__all__ = ["DEVELOPED_ON", "JUDGED_ON", "drawn"]

#: Seeds of the tuning set and of the test set.
DEVELOPED_ON, JUDGED_ON = 1, 2

#: Approximate largest number of packets of a capture.
_PACKETS = 120_000
#: Share of each controller among the draws: those that the observation names, and others that must be "unknown".
_CONTROLLERS: Mapping[str, float] = {
    "newreno": 0.28,
    "cubic": 0.34,
    "bbr": 0.23,
    "bbr3": 0.06,
    "scalable": 0.03,
    "htcp": 0.02,
    "westwood": 0.02,
    "illinois": 0.02,
}
_QUEUES: Mapping[str, float] = {"droptail": 0.65, "codel": 0.1, "fq_codel": 0.1, "red": 0.08, "pie": 0.07}
_PLACES: Mapping[str, float] = {"departures": 0.5, "arrivals": 0.25, "both": 0.25}


def drawn(count: int, seed: int) -> dict[str, Case]:
    """`count` cases of a seed, by names that describe them."""
    found = {}
    for number in range(count):
        draws = np.random.default_rng((seed, number))
        name, case = _case(draws, 1000 * seed + number)
        found[f"drawn {seed}.{number}: {name}"] = case
    return found


def _case(draws: np.random.Generator, seed: int) -> tuple[str, Case]:
    rate = _between(draws, 4e6, 2e9)
    seconds = float(np.clip(_PACKETS * 12_000 / rate, 0.5, 60.0))
    # Fifty round trips at least, some with a queue.
    rtt = _between(draws, 0.004, min(0.2, seconds / 80))
    per_flow = _between(draws, 3.0, 400.0)
    flows = int(np.clip(round(rate * rtt / 12_000 / per_flow), 1, 80))
    kinds = 1 if flows == 1 or draws.random() < 0.6 else 2
    parts = [flows] if kinds == 1 else [flows // 2, flows - flows // 2]
    groups = [_group(draws, part, rtt, index) for index, part in enumerate(parts)]
    if draws.random() < 0.15:
        groups.append(_transfers(draws, rtt))
    buffer = _between(draws, 0.1, 3.0)
    queue = _one_of(draws, _QUEUES)
    place = _one_of(draws, _PLACES)
    warmup = float(np.clip(40 * rtt, 0.2, 5.0))
    tables: dict[str, Any] = {
        "link": {
            "rate": f"{rate / 1e6:.4g}Mbps",
            "buffer": f"{max(buffer, 10 * 12_000 / rate / rtt):.3g}BDP",
            "queue": queue,
        },
        "flows": groups,
        "run": {"warmup": f"{warmup:.4g}s", "measure": f"{seconds:.4g}s", "seed": seed},
        "trace": {
            "record": ["packets", "transfers"],
            "capture": place,
            "acknowledgments": True,
            "from": f"{warmup:.4g}s",
        },
    }
    text = " + ".join(f"{group['count']} {group['cca']}" for group in groups if "count" in group)
    name = f"{text}, {rate / 1e6:.3g} Mb/s, {1e3 * rtt:.3g} ms, {buffer:.2g} BDP, {queue}, {place}"
    whole = all(group["workload"] == "persistent" for group in groups)
    return name, Case(tables, flows if whole else None, buffer=place == "both" and queue == "droptail")


def _group(draws: np.random.Generator, count: int, rtt: float, index: int) -> dict[str, Any]:
    controller = _one_of(draws, _CONTROLLERS)
    spread = draws.random() < 0.5
    trips = rtt * draws.uniform(0.6, 1.6, count) if spread else np.full(count, rtt * draws.uniform(0.7, 1.3))
    trips = np.maximum(trips, 1e-3)
    packet = _one_of(draws, {"1500B": 0.85, "600B": 0.08, "1000B": 0.07})
    stack = "rfc" if controller == "newreno" and draws.random() < 0.2 else "linux"
    return {
        "name": f"{controller}{index}",
        "cca": controller,
        "count": count,
        "rtt": [f"{1e3 * trip:.4g}ms" for trip in trips],
        "stack": stack,
        "packet": packet,
        "workload": "persistent",
        "start": {"uniform": ["0s", f"{10 * rtt:.4g}s"]},
    }


def _transfers(draws: np.random.Generator, rtt: float) -> dict[str, Any]:
    size = {"lognormal": {"median": f"{_between(draws, 8, 60):.3g}kB", "sigma": 1.2}}
    workload = {"open_loop": {"load": round(float(draws.uniform(0.05, 0.35)), 3), "size": size}}
    usual = {"cca": "cubic", "stack": "linux", "packet": "1500B"}
    return {"name": "web", **usual, "rtt": f"{1e3 * rtt:.4g}ms", "workload": workload}


def _between(draws: np.random.Generator, least: float, most: float) -> float:
    """Between two numbers, their logarithms uniform."""
    return float(np.exp(draws.uniform(np.log(least), np.log(most))))


def _one_of(draws: np.random.Generator, shares: Mapping[str, float]) -> str:
    names = list(shares)
    weights = np.array([shares[name] for name in names])
    return names[int(draws.choice(len(names), p=weights / weights.sum()))]
