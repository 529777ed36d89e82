"""Simulate the truth about a synthetic network: `python -m checks.fleet_truth DIR [--seed 9001] [--jobs N]`.

Every distinct question of `DIR/inventory.csv` is checked with fresh seeds at full precision. For each profile and rate,
`recommend` finds the smallest and the largest buffer that meet the goals. `DIR/truth.csv` gets the verdict of each port
and the factor by which its buffer is beyond these limits. Answers are kept in `DIR/truth/`, so the same
build can continue a run.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import forebay
from checks.programs import exit_code
from forebay import _core
from forebay.fleets.store import Store, key_of
from forebay.storage.files import write_atomically

__all__ = ["factor_of", "filled", "main", "verdict_of"]

#: Seeds of the truth; an audit uses the scenario's own seed, which is 1.
SEED = 9001


def filled(profile: str, rate: str, buffer: str) -> str:
    """A profile with the open keys of a port filled in."""
    bits = _core.parse_quantity(rate, "rate")
    quotient = re.compile(r'"\{rate / ([0-9.]+[A-Za-z]+)\}"')
    text = quotient.sub(lambda match: str(max(1, round(bits / _core.parse_quantity(match[1], "rate")))), profile)
    return text.replace('"{rate}"', f'"{rate}"').replace('"{buffer}"', f'"{buffer}"')


def verdict_of(goals: Mapping[str, str]) -> str:
    """The verdict of a port: a missed lower bound means a small buffer, a missed upper bound a large one."""
    small = any(verdict == "missed" for name, verdict in goals.items() if name.endswith(">="))
    large = any(verdict == "missed" for name, verdict in goals.items() if name.endswith("<="))
    if small or large:
        return "impossible" if small and large else "too small" if small else "too large"
    return "fine" if all(verdict == "met" for verdict in goals.values()) else "undecided"


def factor_of(size: float, smallest: float | None, largest: float | None) -> float:
    """The factor by which a buffer is beyond the limits; 1 within them."""
    if smallest is not None and size < smallest:
        return smallest / size
    return size / largest if largest is not None and size > largest else 1.0


def _kept(
    store: Store, kind: str, scenario: forebay.Scenario, answer: Callable[[], dict[str, Any]]
) -> Mapping[str, Any]:
    """An answer that the store keeps for this build."""
    key = key_of(kind, scenario.core.sha256)
    found = store.get(key)
    if found is None:
        store.add(key, answer())
        found = store.get(key)
        assert found is not None
    return found


def _checked(scenario: forebay.Scenario, jobs: int | None) -> dict[str, Any]:
    """The verdict of a question by itself."""
    (buffer,) = forebay.check(scenario, jobs=jobs).buffers
    goals = {f"{name}{each.goal.sense}": each.verdict for name, each in buffer.goals.items()}
    return {"verdict": verdict_of(goals), "goals": goals, "runs": buffer.runs}


def _limits(scenario: forebay.Scenario, jobs: int | None) -> dict[str, Any]:
    """The smallest and the largest buffer that meet all goals, in bytes; null if there is none."""
    found: dict[str, Any] = {}
    for name, largest in (("smallest", False), ("largest", True)):
        answer = forebay.recommend(scenario, largest=largest, jobs=jobs).to_dict()["recommendation"]
        found[name] = None if answer is None else _bytes(answer, scenario.core.packet_bytes)
    return found


def _bytes(answer: Mapping[str, Any], packet: float) -> float:
    """A buffer of an answer in bytes; the largest one is a value with its unit."""
    if "bytes" in answer:
        return float(answer["bytes"])
    return float(answer["value"]) * (packet if answer["unit"] == "packets" else 1.0)


def _write(folder: Path, seed: int, jobs: int | None) -> int:
    rows = list(csv.DictReader((folder / "inventory.csv").read_text(encoding="utf-8").splitlines()))
    profiles = {path.stem: path.read_text(encoding="utf-8") for path in sorted((folder / "profiles").glob("*.toml"))}
    questions = {(row["profile"], row["rate"], row["buffer"]) for row in rows}
    limits, verdicts = {}, {}

    def scenario(profile: str, rate: str, buffer: str) -> forebay.Scenario:
        return forebay.Scenario.parse(filled(profiles[profile], rate, buffer), overrides=[f"run.seed={seed}"])

    with Store(folder / "truth", print) as store:
        for place, (profile, rate) in enumerate(sorted({question[:2] for question in questions})):
            buffer = next(each[2] for each in sorted(questions) if each[:2] == (profile, rate))
            asked = scenario(profile, rate, buffer)
            limits[profile, rate] = _kept(store, "limits", asked, partial(_limits, asked, jobs))
            print(f"{place + 1}: {profile} {rate}: {limits[profile, rate]}", flush=True)
        for question in sorted(questions):
            asked = scenario(*question)
            verdicts[question] = _kept(store, "check", asked, partial(_checked, asked, jobs))
            print(f"{question}: {verdicts[question]['verdict']}", flush=True)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("device", "port", "verdict", "smallest_bytes", "largest_bytes", "factor"))
    for row in rows:
        question = (row["profile"], row["rate"], row["buffer"])
        bounds = limits[question[:2]]
        size = _core.parse_quantity(row["buffer"], "bytes")
        factor = factor_of(size, bounds["smallest"], bounds["largest"])
        found = verdicts[question]["verdict"]
        writer.writerow((row["device"], row["port"], found, bounds["smallest"], bounds["largest"], f"{factor:.3g}"))
    write_atomically(folder / "truth.csv", text.getvalue())
    print(f"{len(questions)} questions, {dict(Counter(verdicts[q]['verdict'] for q in verdicts))}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(prog="fleet_truth", description="Simulate the truth about a synthetic network.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--jobs", type=int)
    given = parser.parse_args(arguments)
    return exit_code(
        "fleet_truth", lambda: _write(given.folder, given.seed, given.jobs), "stopped; the same command continues"
    )


if __name__ == "__main__":
    sys.exit(main())
