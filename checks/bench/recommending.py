"""The cost of an answer: the data packets, replications and processor seconds that `recommend` takes for a scenario.

Packets are the measure, because they are the same on every machine and at every number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from forebay.scenario import Scenario
from forebay.search.answer import Recommendation
from forebay.search.recommendation import recommend

__all__ = ["costs", "scenario_files"]

_SUMMED = ("million_packets", "replications", "buffers", "cpu_s")


def scenario_files(folder: Path) -> dict[str, Path]:
    """The scenarios of a folder by the names that `--only` takes: R/dsl-access."""
    return {f"R/{path.stem}": path for path in sorted(folder.glob("*.toml"))}


def costs(files: Mapping[str, Path]) -> Iterator[Mapping[str, Any]]:
    """A line per scenario as soon as it is answered, then the sum of all if there are several."""
    lines = []
    for name, path in files.items():
        lines.append(_line(name, recommend(Scenario.load(path))))
        yield lines[-1]
    if len(lines) > 1:
        yield _sum(lines)


def _line(name: str, answer: Recommendation) -> dict[str, Any]:
    cost = answer.cost
    return {
        "name": name,
        "million_packets": round(cost.data_packets / 1e6, 2),
        "replications": cost.replications,
        "buffers": cost.buffers,
        "cpu_s": round(cost.cpu_s, 2),
        "buffer_packets": answer.packets,
        "confidence": None if answer.confidence is None else round(answer.confidence, 5),
    }


def _sum(lines: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    sums = {key: round(sum(line[key] for line in lines), 2) for key in _SUMMED}
    worst = max(lines, key=lambda line: float(line["million_packets"]))
    return {"name": "R", "scenarios": len(lines), **sums, "dearest": worst["name"]}
