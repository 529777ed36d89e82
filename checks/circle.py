"""`make circle`: `recommend` for an observed scenario, compared with `recommend` for the captured scenario itself.

The packet engine runs a case and writes its capture. The observation reads it and writes a scenario. Both scenarios are
searched for the same goal over runs of equal length. The observation reports what it cannot know, and gets no help.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks.observed_cases import CASES, Case
from checks.pages import print_or_write, selected
from forebay import _core
from forebay.errors import ForebayError
from forebay.inputs.observed_bounds import beginnings, bounds_of
from forebay.measurement.traces import write_traces
from forebay.observation.observing import observe
from forebay.observation.writing import scenario_text
from forebay.results.report import BufferSize
from forebay.scenario import Scenario
from forebay.search.answer import Recommendation
from forebay.search.recommendation import recommend
from forebay.text import formatting

__all__ = ["ASKED", "RoundTrip", "main", "round_trip", "table"]

#: Marks around the table in docs/background/validation/captures.md.
MARKS = ("<!-- circle: begin -->", "<!-- circle: end -->")
#: Ratio of the duration of a case's runs to that of its capture.
_LONGER = 4.0
#: Largest difference between the two answers, as a share of the true one.
APART = 0.15
#: Cases, and the goal of each, which a buffer of moderate size meets.
ASKED: Mapping[str, str] = {
    "1 newreno, 10 Mb/s": "utilization>=0.99",
    "5 newreno, 50 Mb/s": "utilization>=0.99",
    "50 newreno, 200 Mb/s": "utilization>=0.99",
    "50 cubic, 200 Mb/s": "utilization>=0.99",
    "4 newreno + 4 bbr": "utilization>=0.98",
    "8 newreno, 0.1BDP": "utilization>=0.98",
    "8 newreno, 0.25BDP": "utilization>=0.98",
    "1 newreno, 0.5BDP, both sides": "utilization>=0.98",
    "4 cubic, 0.25BDP, both sides": "utilization>=0.98",
    "16 cubic, 1BDP, both sides": "utilization>=0.99",
    "32 newreno, 60p, both sides": "utilization>=0.99",
    "8 cubic, 300kB, both sides": "utilization>=0.98",
    "4 cubic + web, both sides": "utilization>=0.98",
    "2 cubic + web": "utilization>=0.95",
    "web at 50%": "loss_rate<=0.1%",
    "web at 80%": "loss_rate<=0.5%",
    "20 cubic, 100 Mb/s": "utilization>=0.98",
    "4 cubic beside voice": "utilization>=0.98",
    "6 cubic of 600 bytes": "utilization>=0.98",
    "10 cubic + 5 newreno, 100 Mb/s": "utilization>=0.98",
}


@dataclass(frozen=True)
class RoundTrip:
    """The answer to a true scenario, with other random numbers again, and to the observed one."""

    name: str
    goal: str
    true: Recommendation
    repeated: Recommendation
    observed: Recommendation

    @property
    def difference(self) -> float | None:
        """The difference between the answer to the observed scenario and the true one, as a share of the true one."""
        return _difference(self.true, self.observed)

    @property
    def scatter(self) -> float | None:
        """The difference between two answers to the true scenario, as a share of the first."""
        return _difference(self.true, self.repeated)

    @property
    def agrees(self) -> bool:
        """Whether the answers are as near as promised; two answers without a buffer agree."""
        if self.difference is None:
            return _bytes(self.true) is None and _bytes(self.observed) is None
        return abs(self.difference) <= APART


def round_trip(name: str, folder: Path) -> RoundTrip:
    """Simulate, capture into `folder`, observe, and search both scenarios."""
    case = CASES[name]
    true = Scenario.of(case.tables)
    write_traces(true.run(traces=True, replications=1), folder)
    text = scenario_text(observe([folder / "packets.pcapng"]))
    # A buffer that was not seen is varied anyhow.
    observed = Scenario.of(_toml(text), beginnings(bounds_of(text), ())[0])
    goal = ASKED[name]
    return RoundTrip(
        name, goal, *(_recommended(each, case, goal, seed) for each, seed in ((true, 11), (true, 12), (observed, 11)))
    )


def _toml(text: str) -> dict[str, Any]:
    tables = tomllib.loads(text)
    tables.pop("goal", None)
    return tables


def _recommended(scenario: Scenario, case: Case, goal: str, seed: int) -> Recommendation:
    """The smallest buffer, over runs several times as long as the capture."""
    run: Mapping[str, Any] = case.tables["run"]
    measure = _LONGER * _core.parse_quantity(run["measure"], "time")
    same = scenario.changed(f"run.warmup={run['warmup']}", f"run.measure={measure:g}s", f"run.seed={seed}")
    return recommend(same, [goal])


def _difference(true: Recommendation, other: Recommendation) -> float | None:
    sizes = _bytes(true), _bytes(other)
    return None if sizes[0] is None or sizes[1] is None else sizes[1] / sizes[0] - 1.0


def _bytes(answer: Recommendation) -> float | None:
    return answer.buffer.bytes if isinstance(answer.buffer, BufferSize) else None


# Table ---------------------------------------------------------------------------------------------------------------


def table(circles: Sequence[RoundTrip]) -> str:
    """Both answers of each case, with the bounds of the smallest sufficient buffer."""
    head = (
        "capture of",
        "goal",
        "true scenario",
        "observed scenario",
        "difference",
        "true, other seed",
        f"within {APART:.0%}",
    )
    rows = [
        (
            each.name,
            each.goal,
            _answer(each.true),
            _answer(each.observed),
            *("–" if share is None else f"{share:+.0%}" for share in (each.difference, each.scatter)),
            "yes" if each.agrees else "no",
        )
        for each in circles
    ]
    agree = sum(each.agrees for each in circles)
    return "\n".join(
        [*formatting.markdown_table(head, rows), "", f"{agree} of {len(circles)} agree within {APART:.0%}."]
    )


def _answer(answer: Recommendation) -> str:
    if not isinstance(answer.buffer, BufferSize):
        return "none"
    text = f"{answer.buffer.packets:.0f} packets"
    lower = answer.feasible_from
    if lower is None or not isinstance(lower.low, BufferSize) or not isinstance(lower.high, BufferSize):
        return text
    return f"{text} (smallest {lower.low.packets:.0f} to {lower.high.packets:.0f})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases whose names contain one of `--only`; write the table, or print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    parser.add_argument("--write", type=Path, help="a page, or a folder of pages, with the marks around the table")
    options = parser.parse_args(arguments)
    chosen = selected(ASKED, options.only)
    circles = []
    for number, name in enumerate(chosen, 1):
        print(f"circle: {number} of {len(chosen)}: {name}", file=sys.stderr, flush=True)
        try:
            with tempfile.TemporaryDirectory() as folder:
                circles.append(round_trip(name, Path(folder)))
        except ForebayError as error:
            print(f"circle: {name}: {error}", file=sys.stderr)
            return 1
    print_or_write(table(circles), options.write, MARKS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
