"""The scenarios of the coverage study, in families of one kind of difficulty each.

Every scenario is small, so that a search costs less than a second and its true curve can be computed. For most
scenarios the smallest sufficient buffer is well inside the range. Some goals are impossible, and others are met by
every buffer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from forebay.scenario import Scenario

__all__ = ["CASES", "FAMILIES", "USEFUL", "Case"]

Table = Mapping[str, Any]

#: Every family, in the order of the tables.
FAMILIES = (
    "smooth",
    "heavy tails",
    "rare floods",
    "bimodal counts",
    "lock-step",
    "phase effects",
    "changing links",
    "few flows",
    "overload",
)
#: Families in which an answer has to be useful, too.
USEFUL = ("smooth", "heavy tails", "lock-step")


@dataclass(frozen=True, slots=True)
class Case:
    """One scenario of the study.

    Attributes
    ----------
    family : str
        One of `FAMILIES`.
    name : str
        Unique among all scenarios and systems.
    tables : mapping
        The keys of the scenario file.
    """

    family: str
    name: str
    tables: Table

    def scenario(self, seed: int) -> Scenario:
        """Return the scenario with a seed. Its hosts are exact, so that lock-step and phase effects occur."""
        return Scenario.of(self.tables, (f"run.seed={seed}", "flows.*.processing=0s"), name=self.name)


def _case(
    family: str,
    name: str,
    link: str | Table,
    flows: Sequence[Table],
    goal: Table,
    run: tuple[str, str] = ("1s", "5s"),
) -> Case:
    """Build a case of a link, which may be its rate alone, and of the warm-up and the measured time."""
    tables = {
        "link": {"buffer": "20p", **({"rate": link} if isinstance(link, str) else link)},
        "flows": [{"packet": "1000B", **group} for group in flows],
        "run": {"warmup": run[0], "measure": run[1]},
        "goal": dict(goal),
    }
    return Case(family, name, tables)


def _poisson(rate: str, name: str = "background") -> Table:
    return {"name": name, "workload": {"poisson": {"rate": rate}}}


def _bulk(count: Any, rtt: Any, **more: Any) -> Table:
    return {"name": "bulk", "cca": "newreno", "count": count, "rtt": rtt, "start": {"uniform": ["0s", "1s"]}, **more}


def _web(workload: Table, rtt: Any = "40ms") -> Table:
    return {"name": "web", "rtt": rtt, "workload": workload}


_SMOOTH = (
    _case("smooth", "poisson-loss", "2Mbps", [_poisson("1.6Mbps")], {"loss_rate": "<= 0.5%"}),
    _case(
        "smooth",
        "poisson-loss-and-delay",
        "2Mbps",
        [_poisson("1.7Mbps")],
        {"loss_rate": "<= 2%", "queue_delay_p99": "<= 60ms"},
    ),
    _case(
        "smooth",
        "web-exponential-sizes",
        "5Mbps",
        [_web({"open_loop": {"load": 0.6, "size": {"exponential": "20kB"}}})],
        {"web.loss_rate": "<= 2%"},
    ),
    _case(
        "smooth",
        "many-flows-utilization",
        "5Mbps",
        [_bulk(8, {"uniform": ["40ms", "120ms"]})],
        {"utilization": ">= 93%"},
        ("3s", "8s"),
    ),
    _case("smooth", "poisson-every-buffer", "2Mbps", [_poisson("800kbps")], {"loss_rate": "<= 30%"}),
    _case(
        "smooth",
        "poisson-impossible",
        "2Mbps",
        [_poisson("1.8Mbps")],
        {"loss_rate": "<= 0.2%", "queue_delay_p99": "<= 20ms"},
    ),
)

_HEAVY_TAILS = (
    _case(
        "heavy tails",
        "pareto-web",
        "5Mbps",
        [
            _web(
                {
                    "open_loop": {
                        "rate": "2.5Mbps",
                        "size": {"pareto": {"shape": 1.3, "minimum": "5kB", "maximum": "1MB"}},
                    }
                }
            )
        ],
        {"web.loss_rate": "<= 2%"},
    ),
    _case(
        "heavy tails",
        "pareto-on-off",
        "5Mbps",
        [
            {
                "name": "sources",
                "count": 15,
                "workload": {
                    "on_off": {
                        "peak": "1Mbps",
                        "on": {"pareto": {"shape": 1.5, "mean": "100ms"}},
                        "off": {"exponential": "250ms"},
                    }
                },
            }
        ],
        {"loss_rate": "<= 5%"},
    ),
    _case(
        "heavy tails",
        "lognormal-transfers",
        "5Mbps",
        [_web({"open_loop": {"rate": "2.5Mbps", "size": {"lognormal": {"median": "8kB", "sigma": 1.6}}}})],
        {"web.loss_rate": "<= 7%", "queue_delay_p99": "<= 150ms"},
    ),
    _case(
        "heavy tails",
        "pareto-users",
        "5Mbps",
        [
            _web(
                {
                    "closed_loop": {
                        "users": 20,
                        "think": {"exponential": "300ms"},
                        "size": {"pareto": {"shape": 1.2, "minimum": "5kB", "maximum": "2MB"}},
                    }
                },
                {"uniform": ["20ms", "80ms"]},
            )
        ],
        {"utilization": ">= 90%"},
        ("2s", "6s"),
    ),
)

_RARE_FLOODS = (
    # A tenth of the rates of the scenario that readers reported.
    _case(
        "rare floods",
        "rare-burst-delay",
        "1Mbps",
        [
            {"name": "steady", "workload": {"poisson": {"rate": "600kbps"}}},
            {
                "name": "burst",
                "workload": {"on_off": {"peak": "2Mbps", "on": {"exponential": "1s"}, "off": {"exponential": "300s"}}},
            },
        ],
        {"loss_rate": "<= 0.5%", "queue_delay_p99": "<= 400ms"},
        ("5s", "20s"),
    ),
    _case(
        "rare floods",
        "rare-burst-loss",
        "2Mbps",
        [
            _poisson("1.2Mbps"),
            {
                "name": "burst",
                "workload": {
                    "on_off": {"peak": "6Mbps", "on": {"exponential": "300ms"}, "off": {"exponential": "100s"}}
                },
            },
        ],
        {"loss_rate": "<= 0.5%"},
    ),
    _case(
        "rare floods",
        "flood-one-day-in-twenty",
        "2Mbps",
        [
            _poisson("1.2Mbps"),
            {
                "name": "flood",
                "workload": {"cbr": {"rate": "5Mbps"}},
                "start": {"choice": ["2s", *["1000s"] * 19]},
                "stop": "2300ms",
            },
        ],
        {"loss_rate": "<= 0.4%"},
    ),
    _case(
        "rare floods",
        "flood-one-day-in-fifty",
        "2Mbps",
        [
            _poisson("1Mbps"),
            {
                "name": "flood",
                "workload": {"cbr": {"rate": "10Mbps"}},
                "start": {"choice": ["2s", *["1000s"] * 49]},
                "stop": "2500ms",
            },
        ],
        {"loss_rate": "<= 0.5%"},
    ),
    # The mean of all other runs is far from the goal: only the probability of the state decides.
    _case(
        "rare floods",
        "flood-one-run-in-400",
        "2Mbps",
        [
            _poisson("1Mbps"),
            {
                "name": "flood",
                "workload": {"cbr": {"rate": "10Mbps"}},
                "start": {"choice": ["2s", *["1000s"] * 399]},
                "stop": "2500ms",
            },
        ],
        {"loss_rate": "<= 0.05%"},
    ),
    _case(
        "rare floods",
        "two-sources-seldom-together",
        "2Mbps",
        [
            _poisson("1Mbps"),
            *(
                {
                    "name": name,
                    "workload": {"poisson": {"rate": "900kbps"}},
                    "start": {"choice": ["2s", *["1000s"] * 19]},
                    "stop": "5s",
                }
                for name in ("left", "right")
            ),
        ],
        {"loss_rate": "<= 0.02%"},
    ),
)

_BIMODAL = (
    # A quarter of the rate of the scenario that readers reported.
    _case(
        "bimodal counts",
        "one-or-thirty-flows",
        "5Mbps",
        [
            _bulk(
                {"choice": [1, 1, 1, 1, 1, 1, 1, 1, 1, 30]},
                {"uniform": ["40ms", "120ms"]},
                start={"uniform": ["0s", "3s"]},
            )
        ],
        {"loss_rate": "<= 0.5%", "utilization": ">= 80%"},
        ("5s", "10s"),
    ),
    _case(
        "bimodal counts",
        "two-or-sixteen-flows",
        "4Mbps",
        [_bulk({"choice": [2, 16]}, {"uniform": ["30ms", "90ms"]})],
        {"loss_rate": "<= 2.5%"},
        ("2s", "6s"),
    ),
    _case(
        "bimodal counts",
        "few-or-many-calls",
        "2Mbps",
        [
            {
                "name": "calls",
                "count": {"choice": [10, 10, 10, 10, 40]},
                "workload": {
                    "on_off": {
                        "peak": "100kbps",
                        "on": {"exponential": "400ms"},
                        "off": {"exponential": "600ms"},
                    }
                },
            }
        ],
        {"loss_rate": "<= 0.4%"},
    ),
    _case(
        "bimodal counts",
        "five-or-fifty-users",
        "4Mbps",
        [
            _web(
                {
                    "closed_loop": {
                        "users": {"choice": [5, 5, 5, 50]},
                        "think": {"exponential": "500ms"},
                        "size": {"exponential": "15kB"},
                    }
                }
            )
        ],
        {"web.loss_rate": "<= 3%", "queue_delay_p99": "<= 150ms"},
        ("2s", "5s"),
    ),
)

_LOCK_STEP = (
    # A tenth of the rates of the scenario that readers reported.
    _case(
        "lock-step",
        "cameras-and-web",
        "10Mbps",
        [
            {
                "name": "cameras",
                "count": 20,
                "rtt": {"uniform": ["2ms", "10ms"]},
                "start": "0s",
                "workload": {"periodic": {"every": "1s", "size": "6kB"}},
            },
            {"name": "web", "rtt": "30ms", "workload": {"open_loop": {"load": 0.2, "size": {"exponential": "20kB"}}}},
        ],
        {"web.loss_rate": "<= 1.5%", "cameras.loss_rate": "<= 4%"},
        ("1s", "8s"),
    ),
    _case(
        "lock-step",
        "senders-that-start-together",
        "2Mbps",
        [
            {
                "name": "senders",
                "count": 12,
                "start": "0s",
                "workload": {"on_off": {"peak": "800kbps", "on": "40ms", "off": "460ms"}},
            }
        ],
        {"loss_rate": "<= 10%"},
        ("1s", "3s"),
    ),
    _case(
        "lock-step",
        "sensors-in-step-over-poisson",
        "2Mbps",
        [
            {
                "name": "sensors",
                "count": 12,
                "start": "0s",
                "workload": {"on_off": {"peak": "800kbps", "on": "40ms", "off": "460ms"}},
            },
            _poisson("800kbps"),
        ],
        {"loss_rate": "<= 2%"},
    ),
    _case(
        "lock-step",
        "incast",
        "10Mbps",
        [
            {
                "name": "servers",
                "rtt": "4ms",
                "workload": {"incast": {"servers": 12, "pause": {"exponential": "100ms"}, "size": "8kB"}},
            }
        ],
        {"loss_rate": "<= 15%"},
        ("1s", "5s"),
    ),
)

_PHASE = (
    _case(
        "phase effects",
        "two-equal-round-trips",
        "2Mbps",
        [_bulk(2, "60ms", start="0s")],
        {"utilization": ">= 90%"},
        ("3s", "10s"),
    ),
    _case(
        "phase effects",
        "one-flow-over-even-packets",
        "2Mbps",
        [_bulk(1, "48ms", start="0s"), {"name": "even", "workload": {"cbr": {"rate": "500kbps"}}}],
        {"utilization": ">= 92%", "even.loss_rate": "<= 3%"},
        ("3s", "10s"),
    ),
    _case(
        "phase effects",
        "even-packets-of-two-rates",
        "2Mbps",
        [
            {"name": "one", "count": 3, "workload": {"cbr": {"rate": "1.2Mbps"}}},
            {"name": "other", "count": 2, "workload": {"cbr": {"rate": "820kbps"}}},
        ],
        {"loss_rate": "<= 0.2%"},
        ("1s", "5s"),
    ),
    _case(
        "phase effects",
        "four-nearly-equal-round-trips",
        "4Mbps",
        [_bulk(4, ["40ms", "40ms", "41ms", "42ms"], start={"uniform": ["0s", "10ms"]})],
        {"utilization": ">= 95%", "loss_rate": "<= 3%"},
        ("3s", "8s"),
    ),
)

_CHANGING = (
    _case(
        "changing links",
        "steps-under-poisson",
        {"rate": {"steps": [["0s", "4Mbps"], ["2s", "1Mbps"]], "repeat": "2500ms"}},
        [_poisson("1.5Mbps")],
        {"loss_rate": "<= 2%"},
        ("1s", "5s"),
    ),
    _case(
        "changing links",
        "two-rates-by-chance",
        {"rate": {"markov": [{"rate": "4Mbps", "mean_time": "1s"}, {"rate": "1Mbps", "mean_time": "200ms"}]}},
        [_poisson("2Mbps")],
        {"loss_rate": "<= 4%"},
        ("1s", "8s"),
    ),
    _case(
        "changing links",
        "outages-by-chance",
        {"rate": "4Mbps", "outages": {"between": {"exponential": "10s"}, "lasting": "200ms"}},
        [_poisson("2Mbps")],
        {"loss_rate": "<= 0.4%"},
        ("1s", "8s"),
    ),
    _case(
        "changing links",
        "steps-under-flows",
        {"rate": {"steps": [["0s", "5Mbps"], ["1s", "2Mbps"]], "repeat": "2s"}},
        [_bulk(4, {"uniform": ["30ms", "80ms"]})],
        {"utilization": ">= 92%"},
        ("2s", "6s"),
    ),
)

_FEW = (
    _case(
        "few flows",
        "one-newreno",
        "5Mbps",
        [_bulk(1, {"uniform": ["40ms", "80ms"]})],
        {"utilization": ">= 92%"},
        ("4s", "10s"),
    ),
    _case(
        "few flows",
        "two-cubic",
        "5Mbps",
        [_bulk(2, {"uniform": ["30ms", "90ms"]}, cca="cubic")],
        {"utilization": ">= 96%", "queue_delay_p99": "<= 80ms"},
        ("4s", "10s"),
    ),
    _case(
        "few flows",
        "three-over-poisson",
        "4Mbps",
        [_bulk(3, {"uniform": ["30ms", "90ms"]}), _poisson("1Mbps")],
        {"background.loss_rate": "<= 2.5%"},
        ("2s", "8s"),
    ),
    _case(
        "few flows",
        "one-bbr",
        "5Mbps",
        [_bulk(1, {"uniform": ["30ms", "60ms"]}, cca="bbr")],
        {"loss_rate": "<= 1%"},
        ("2s", "8s"),
    ),
)

_OVERLOAD = (
    _case("overload", "poisson-above-the-rate", "2Mbps", [_poisson("2.2Mbps")], {"loss_rate": "<= 12%"}),
    _case(
        "overload",
        "poisson-impossible-overload",
        "2Mbps",
        [_poisson("2.4Mbps")],
        {"loss_rate": "<= 12%", "queue_delay_p99": "<= 300ms"},
    ),
    _case(
        "overload",
        "many-flows-few-packets-each",
        "2Mbps",
        [_bulk(20, {"uniform": ["40ms", "120ms"]})],
        {"utilization": ">= 97%", "queue_delay_p99": "<= 120ms"},
        ("2s", "6s"),
    ),
    _case(
        "overload",
        "peaks-above-the-rate",
        "2Mbps",
        [
            {
                "name": "peaks",
                "count": 8,
                "workload": {
                    "on_off": {"peak": "600kbps", "on": {"exponential": "300ms"}, "off": {"exponential": "500ms"}}
                },
            }
        ],
        {"loss_rate": "<= 8%"},
    ),
    _case("overload", "poisson-every-buffer-utilized", "2Mbps", [_poisson("4Mbps")], {"utilization": ">= 75%"}),
)

CASES: Sequence[Case] = (
    *_SMOOTH,
    *_HEAVY_TAILS,
    *_RARE_FLOODS,
    *_BIMODAL,
    *_LOCK_STEP,
    *_PHASE,
    *_CHANGING,
    *_FEW,
    *_OVERLOAD,
)
