"""`python -m checks.engine_support PAGE`: the table of the manual that says which keys each engine simulates.

Every row is a small scenario with one key, given to each engine. A refusal, a warning that a key is ignored and a
warning that an assumption of the formula does not hold are what the table states.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from checks import pages
from checks.programs import exit_code
from forebay import _core
from forebay.errors import UnsupportedError
from forebay.results.warning import Kind
from forebay.scenario import Scenario
from forebay.text import formatting

__all__ = ["ENGINES", "MARKS", "main", "supported", "table"]

MARKS = ("<!-- support: begin -->", "<!-- support: end -->")

#: Engines that run on every machine, and in simulated time.
ENGINES = ("packet", "fluid", "closed_form")

#: A group of long flows, which every scenario has.
LONG: dict[str, Any] = {"name": "long", "count": 2, "rtt": {"uniform": ["20ms", "40ms"]}}
LINK: dict[str, Any] = {"rate": "10Mbps", "buffer": "50p"}

#: Each key with the tables that it changes: of the link, of the long flows, and of a further group.
LINK_KEYS: dict[str, dict[str, Any]] = {
    "`rate` in steps": {"rate": {"steps": [["0s", "10Mbps"], ["150ms", "5Mbps"]], "repeat": "300ms"}},
    "`rate` at random (`markov`)": {
        "rate": {"markov": [{"rate": "10Mbps", "mean_time": "1s"}, {"rate": "5Mbps", "mean_time": "1s"}]}
    },
    "`rate` of a trace (`mahimahi`, `opportunities`)": {"rate": {"opportunities": "1 2 3 4 5 6 7 8 9 10"}},
    "`outages`": {"outages": [["200ms", "100ms"]]},
    "`outages` with `flush`": {"outages": {"times": [["200ms", "100ms"]], "flush": True}},
    "`delay` in steps": {"delay": {"steps": [["0s", "1ms"], ["150ms", "2ms"]], "repeat": "300ms"}},
    "`medium`": {"medium": "wifi"},
    "`loss`": {"loss": {"random": "0.1%"}},
    "`policer`": {"policer": {"rate": "8Mbps", "burst": "150kB"}},
    "`shaper`": {"shaper": {"rate": "8Mbps", "burst": "15kB"}},
    "`memory`": {"memory": "chip"},
    "`pfc`": {"pfc": {"xoff": "90kB", "xon": "60kB", "headroom": "9kB"}},
    "`rate_layer`": {"rate_layer": "l2"},
    "`queue` with `classes`": {
        "queue": {
            "kind": "classes",
            "schedule": "dwrr",
            "classes": [{"name": "first", "groups": ["long"]}, {"name": "rest"}],
        }
    },
}
FLOW_KEYS: dict[str, dict[str, Any]] = {
    "`start`": {"start": "100ms"},
    "`stop`": {"stop": "400ms"},
    "`access`": {"access": {"rate": "100Mbps"}},
    "`receive_window`": {"receive_window": "20p"},
    "`delayed_ack`": {"delayed_ack": {"packets": 2, "timeout": "40ms"}},
    "`processing`": {"processing": "1ms"},
    "`reverse`": {"reverse": ["up"]},
    "`ecn`, over a discipline that marks": {"ecn": True},
}
SIZE = "50kB"
#: Workloads, each as a group beside the long flows.
WORKLOADS: dict[str, Any] = {
    "persistent": "persistent",
    "finite": {"finite": {"size": SIZE}},
    "open_loop": {"open_loop": {"load": 0.2, "size": SIZE}},
    "closed_loop": {"closed_loop": {"users": 5, "think": "100ms", "size": SIZE}},
    "periodic": {"periodic": {"every": "200ms", "size": SIZE}},
    "incast": {"incast": {"servers": 4, "pause": "100ms", "size": SIZE}},
    "app_limited": {"app_limited": {"rate": "1Mbps"}},
    "poisson": {"poisson": {"rate": "2Mbps"}},
    "cbr": {"cbr": {"rate": "2Mbps"}},
    "on_off": {"on_off": {"peak": "2Mbps", "on": "100ms", "off": "100ms"}},
    "voip": "voip",
}


def _scenario(
    link: dict[str, Any] | None = None, flows: dict[str, Any] | None = None, workload: object = None
) -> Scenario:
    target = LINK | (link or {})
    groups = [LONG | (flows or {})]
    if workload is not None:
        groups.append({"name": "more", "rtt": "30ms", "workload": workload})
    run = {"warmup": "100ms", "measure": "500ms", "replications": 1}
    tables: dict[str, Any] = {"flows": groups, "run": run}
    if "reverse" in groups[0]:
        other = {"name": "up", "rate": "10Mbps", "buffer": "50p"}
        tables["links"] = [target | {"name": "down", "target": True}, other]
        groups[0]["path"] = ["down"]
    else:
        tables["link"] = target
    if "memory" in target:
        tables["memories"] = [{"name": "chip", "size": "100p"}]
    return Scenario.of(tables)


def _fabric(workload: object) -> Scenario:
    """Four hosts at two leaves."""
    shape = {"kind": "leaf_spine", "leaves": 2, "spines": 2, "hosts": 4, "port": LINK}
    group = {"name": "hosts", "rtt": "30ms", "workload": workload}
    run = {"warmup": "100ms", "measure": "500ms", "replications": 1}
    return Scenario.of({"fabric": shape, "flows": [group], "run": run})


#: Words of the table for the kinds of warnings.
_WORDS = {Kind.LEFT_OUT: "ignored", Kind.FLUID_BACKGROUND: "mean rate"}


def _answer(scenario: Scenario, engine: str) -> tuple[bool, set[tuple[Kind, str]]]:
    """Say whether an engine accepts a scenario, with its warnings by kind and subject."""
    try:
        report = scenario.run(engine=engine)
    except UnsupportedError:
        return False, set()
    return True, {(warning.kind, warning.subject) for warning in report.warnings}


def supported(engine: str, scenario: Scenario, plain: set[tuple[Kind, str]]) -> str:
    """Return the word for what an engine does with a key; `plain` has its warnings without the key."""
    accepted, warnings = _answer(scenario, engine)
    if not accepted:
        return "no"
    for kind, subject in sorted(warnings - plain):
        if kind == Kind.ASSUMPTION:
            return f"assumes {subject}"
        if kind in _WORDS:
            return _WORDS[kind]
    return "yes"


def _rows() -> Iterator[tuple[str, ...]]:
    plain = {engine: _answer(_scenario(), engine)[1] for engine in ENGINES}
    cases = [(name, _scenario(link=keys)) for name, keys in LINK_KEYS.items()]
    for name, keys in FLOW_KEYS.items():
        marks = {"queue": "red"} if "ecn" in keys else {}
        cases.append((name, _scenario(link=marks, flows=keys)))
    cases += [(f"workload `{name}`", _scenario(workload=words)) for name, words in WORKLOADS.items()]
    cases.append(("`[fabric]`", _fabric("persistent")))
    for name in ("all_to_all", "ring_all_reduce"):
        cases.append((f"workload `{name}`", _fabric({name: {"size": SIZE}})))
    for name, scenario in cases:
        yield name, *(supported(engine, scenario, plain[engine]) for engine in ENGINES)


def _accepted(engine: str, key: str, names: Sequence[str]) -> str:
    """The algorithms that an engine accepts, or "all"."""
    scenarios = {name: _scenario({key: name}) if key == "queue" else _scenario(flows={key: name}) for name in names}
    found = [name for name in names if _answer(scenarios[name], engine)[0]]
    return "all" if len(found) == len(names) else ", ".join(f"`{name}`" for name in found)


def table() -> str:
    """The table of the manual."""
    rows = []
    for key, registry in (("cca", _core.controllers()), ("queue", _core.disciplines())):
        names = [known.name for known in registry if known.name != "classes"]
        rows.append((f"`{key}`", *(_accepted(engine, key, names) for engine in ENGINES)))
    rows += _rows()
    return "\n".join(formatting.markdown_table(("key", *(f"`{engine}`" for engine in ENGINES)), rows))


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table into the page, or print it."""
    parser = argparse.ArgumentParser(prog="python -m checks.engine_support", description=__doc__)
    parser.add_argument("page", type=Path, nargs="?", help="the page, or the folder of the page")
    options = parser.parse_args(arguments)

    def work() -> int:
        pages.print_or_write(table(), options.page, MARKS)
        return 0

    return exit_code("engine_support", work, "interrupted")


if __name__ == "__main__":
    sys.exit(main())
