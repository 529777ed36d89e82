"""Measure an audit of a large network: `python -m checks.fleet_scale DIR [--ports N] [--questions N] [--jobs 1]`.

`DIR` gets a synthetic network with this number of distinct questions, and its audit. A quarter of the questions has
wrong buffers; as in `forebay new --fleet`, a twentieth of the ports is wrong. The table has the time of each part. The
same command continues an audit that was interrupted; its times are then those since its last start.
"""

from __future__ import annotations

import argparse
import csv
import random
import resource
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from checks.programs import exit_code
from forebay.configuration.quantities import bits
from forebay.fleets import auditing
from forebay.fleets.synthetic import PROFILES, made_ports, write_network
from forebay.observation.numbers import size_text

__all__ = ["main", "write_large_network"]

#: Buffers from the least to the most, as factors of the goal on delay or, if too small, of the smallest buffer.
SPANS = {"fine": (0.42, 0.63), "too small": (1 / 9, 1 / 2.5), "too large": (2.5, 9.0)}
#: Part of the questions whose buffers are wrong.
WRONG = 0.25
#: Functions of the audit that are timed, in their order.
PARTS = ("read_inventory", "questions_of", "first_stage", "packet_stage", "search_stage", "_with_verdicts",
         "change_sets", "_write", "write_changes")  # fmt: skip

#: A kind of port: profile, rate, and verdict at which its buffer aims.
Kind = tuple[str, str, str]


def write_large_network(folder: Path, count: int, questions: int) -> int:
    """Write the network; returns its number of distinct questions."""
    path, *_ = write_network(folder, 1, 1)
    ports = made_ports(count, 1)
    kinds = sorted({(port.profile, port.rate, port.aimed) for port in ports})
    sizes = _sizes(kinds, questions)
    draw, left = random.Random("fleet scale"), {kind: list(found) for kind, found in sizes.items()}
    seen = set()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("device", "port", "rate", "platform", "buffer", "role", "profile"))
        for port in ports:
            kind = (port.profile, port.rate, port.aimed)
            # Every size occurs once before any occurs again.
            size = left[kind].pop() if left[kind] else draw.choice(sizes[kind])
            seen.add((*kind, size))
            writer.writerow((port.device, port.port, port.rate, port.platform, size, port.role, port.profile))
    return len(seen)


def _sizes(kinds: list[Kind], questions: int) -> Mapping[Kind, list[str]]:
    """Different buffers of each kind at equal ratios, as texts."""
    profiles = {profile.name: profile for profile in PROFILES}
    wrong = round(questions * WRONG)
    found: dict[Kind, list[str]] = {}
    for is_right, total in ((True, questions - wrong), (False, wrong)):
        chosen = [kind for kind in kinds if (kind[2] == "fine") == is_right]
        for index, kind in enumerate(chosen):
            number = total // len(chosen) + (index < total % len(chosen))
            profile, speed, (low, high) = profiles[kind[0]], bits(kind[1]), SPANS[kind[2]]
            base = profile.smallest_s(speed) if kind[2] == "too small" else profile.delay_s
            steps = (base * low * (high / low) ** (step / (4 * number)) for step in range(4 * number))
            # Rounding makes some of them equal.
            texts = list(dict.fromkeys(size_text(max(1500.0, seconds * speed / 8), 4) for seconds in steps))
            found[kind] = [texts[place * len(texts) // number] for place in range(number)]
    return found


def _timed(name: str, function: Callable[..., Any], rows: list[tuple[str, float, float, float]]) -> Callable[..., Any]:
    def run(*arguments: Any, **options: Any) -> Any:
        wall, busy = time.monotonic(), time.process_time()
        try:
            return function(*arguments, **options)
        finally:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            rows.append((name, time.monotonic() - wall, time.process_time() - busy, peak))

    return run


def main(arguments: list[str] | None = None) -> int:
    """Write the network, audit it and print the times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ports", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=2_000)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True, exist_ok=True)
    number = write_large_network(given.folder, given.ports, given.questions)
    print(f"{given.ports} ports, {number} questions", flush=True)
    rows: list[tuple[str, float, float, float]] = []
    for name in PARTS:
        setattr(auditing, name, _timed(name, getattr(auditing, name), rows))
    execution = auditing.FleetExecution(jobs=given.jobs, tell=lambda line: print(line, file=sys.stderr))
    answer = auditing.audited(given.folder / "inventory.csv", None, execution, out=given.folder / "audit").answer
    print("part            wall s     CPU s   peak MiB")
    for name, wall, busy, peak in rows:
        print(f"{name:14} {wall:8.2f}  {busy:8.2f}  {peak:9.0f}")
    print(f"{answer.measured} points measured, {answer.reused} reused, {answer.runs} runs: {dict(answer.counts)}")
    return 0


if __name__ == "__main__":
    sys.exit(exit_code("fleet_scale", main, "the same command continues"))
