"""Kinds of traffic in which an algorithm of a user is compared with a built-in one."""

from __future__ import annotations

import json
from typing import Any

from forebay import Scenario

__all__ = ["TRAFFIC", "numbers"]

LINK: dict[str, Any] = {"rate": "20Mbps", "buffer": "60p"}
RUN: dict[str, Any] = {"warmup": "1s", "measure": "6s", "replications": 2}
TRAFFIC: dict[str, dict[str, Any]] = {
    "long": {"count": 3, "rtt": {"uniform": ["10ms", "60ms"]}},
    "timeouts": {"count": 8, "rtt": {"uniform": ["5ms", "20ms"]}, "stack": "linux"},
    "pauses": {
        "rtt": "20ms",
        "workload": {"closed_loop": {"users": 4, "size": {"exponential": "80kB"}, "think": {"exponential": "300ms"}}},
    },
    "marks": {"count": 3, "rtt": "30ms", "ecn": True, "stack": "linux"},
}


def numbers(cca: Any, traffic: str, queue: Any = "droptail") -> str:
    """Everything that a report says but the names, the digest and the cost."""
    link = LINK | {"queue": queue}
    if traffic == "timeouts":
        link["buffer"] = "6p"
    group = {"name": "flows"} | TRAFFIC[traffic] | {"cca": cca}
    scenario = Scenario.of({"link": link, "flows": [group], "run": RUN}, allow_code=True)
    plain = json.loads(scenario.run("packet").core.json())
    return json.dumps({key: plain[key] for key in ("metrics", "groups", "warnings")}, sort_keys=True)
