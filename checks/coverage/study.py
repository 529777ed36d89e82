"""`make coverage`: searches on scenarios and systems whose truth is known, judged by it.

Each result is a line of a file in `out/coverage`, named after the build and the code of the search. An interrupted
study continues with that file, and a change of the search begins a new file.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import forebay
from checks.coverage import systems, truth
from checks.coverage.families import CASES, FAMILIES, Case
from checks.coverage.judging import JudgedSearch, Result, Tally, judge, tables, tallies
from checks.coverage.systems import SYSTEMS, System
from checks.pages import print_or_write, selected
from forebay.errors import ForebayError
from forebay.search.recommendation import recommend
from forebay.storage import journal
from forebay.storage.build import fingerprint
from forebay.storage.locks import exclusive_in

__all__ = ["MARKS", "Subject", "main", "run", "searched", "study"]

#: Marks around the tables in docs/background/validation/coverage.md.
MARKS = ("<!-- coverage: begin -->", "<!-- coverage: end -->")
#: Searches of each scenario of the engine, and of each system.
SEARCHES, SYSTEM_SEARCHES = 200, 100
#: Seconds between two lines of progress.
EVERY_S = 5.0

#: Subject of a search: a scenario of the engine, or a system.
Subject = Case | System


def searched(subject: Subject, seed: int) -> Result:
    """Search once."""
    begun = time.process_time()
    return _on_system(subject, seed, begun) if isinstance(subject, System) else _on_engine(subject, seed, begun)


def _on_engine(case: Case, seed: int, begun: float) -> Result:
    scenario = case.scenario(seed)
    answer = recommend(scenario, jobs=1)
    if answer.scenario.core.duration_s != scenario.core.duration_s:
        msg = f"`{case.name}`: the search lengthened the runs, so that the truth is not that of its question"
        raise ValueError(msg)
    smallest = answer.feasible_from
    ends = (None, None) if smallest is None else (round(smallest.low.number), round(smallest.high.number))
    return Result(
        name=case.name,
        seed=seed,
        verdict=answer.verdict,
        buffer=answer.packets,
        confidence=answer.confidence,
        runs=answer.runs,
        low=ends[0],
        high=ends[1],
        replications=answer.cost.replications,
        cpu_s=time.process_time() - begun,
    )


def _on_system(system: System, seed: int, begun: float) -> Result:
    outcome, replications = systems.search(system, seed)
    found = outcome.buffer is not None
    ends = outcome.lower_end or (None, None)
    return Result(
        name=system.name,
        seed=seed,
        verdict="met" if found else "impossible" if outcome.impossible else "undecided",
        buffer=outcome.buffer,
        confidence=outcome.confidence if found else None,
        runs=outcome.runs,
        low=ends[0],
        high=ends[1],
        replications=replications,
        cpu_s=time.process_time() - begun,
    )


# The study -----------------------------------------------------------------------------------------------------------


def subjects(families: Sequence[str]) -> list[Subject]:
    """Return the scenarios and systems of some families."""
    known: list[Subject] = [*CASES, *SYSTEMS]
    return [subject for subject in known if subject.family in families]


def study(results: Iterable[Result], of: Sequence[Subject]) -> tuple[list[Tally], list[Tally]]:
    """Judge results.

    Returns
    -------
    tuple of (list of Tally, list of Tally)
        One for each family and kind, and one for each scenario and system.
    """
    by_name: dict[str, list[JudgedSearch]] = {subject.name: [] for subject in of}
    truths = {each.name: each.truth() if isinstance(each, System) else truth.load(each) for each in of}
    for result in results:
        if result.name in truths:
            by_name[result.name].append(judge(result, truths[result.name]))
    families: dict[tuple[str, str], list[JudgedSearch]] = {}
    singles = []
    for subject in of:
        found = by_name[subject.name]
        if found:
            families.setdefault((subject.family, _kind(subject)), []).extend(found)
            singles.append(Tally(subject.family, subject.name, found))
    return tallies(families), singles


def _kind(subject: Subject) -> str:
    return "systems" if isinstance(subject, System) else "engine"


def run(of: Sequence[Subject], counts: Mapping[str, int], folder: Path) -> Iterator[Result]:
    """Return the results of all searches: those that the folder has, and then the missing ones, which it gets.

    Parameters
    ----------
    of : sequence of Case or System
        Subjects of the searches.
    counts : mapping from str to int
        Searches of each scenario, by "engine" and "systems".
    folder : Path
        Existing folder of the results.
    """
    path = folder / f"{code()}.jsonl"
    required = [(subject, seed) for subject in of for seed in range(1, counts[_kind(subject)] + 1)]
    # All scenarios advance together, so that an interrupted study has something of each.
    required.sort(key=lambda each: each[1] / counts[_kind(each[0])])
    known = {(found.name, found.seed): found for found in _read(path)}
    missing = [(subject, seed) for subject, seed in required if (subject.name, seed) not in known]
    yield from (known[subject.name, seed] for subject, seed in required if (subject.name, seed) in known)
    progress = _Progress(len(required), len(missing))
    with path.open("ab") as file:
        for subject, seed in missing:
            result = searched(subject, seed)
            file.write(journal.line(dataclasses.asdict(result)))
            file.flush()
            progress.count()
            yield result


class _Progress:
    """Lines of progress, with the number of finished searches and the time that the rest takes."""

    def __init__(self, total: int, missing: int) -> None:
        self.total, self.missing = total, missing
        self.done, self.begun, self.last_print_s = 0, time.monotonic(), time.monotonic()

    def count(self) -> None:
        """Count one search, and print a line if the last one is old enough."""
        self.done += 1
        now = time.monotonic()
        if now - self.last_print_s < EVERY_S and self.done < self.missing:
            return
        self.last_print_s = now
        left = (now - self.begun) / self.done * (self.missing - self.done)
        done = self.total - self.missing + self.done
        line = f"coverage: {done} of {self.total} searches, about {left / 60:.1f} minutes left"
        print(line, file=sys.stderr, flush=True)


def _read(path: Path) -> Iterator[Result]:
    """Return the results of a file; a damaged line is no result."""
    if not path.exists():
        return
    raw = path.read_bytes()
    if raw != journal.complete(raw):
        # The last line was cut off.
        path.write_bytes(journal.complete(raw))
    for _, entry in journal.entries(raw):
        if entry is not None:
            yield Result.of(entry)


def code() -> str:
    """Return a digest that separates results of one build, search and study from those of another."""
    root = Path(forebay.__file__).parent
    paths = [*(root / "search").glob("*.py"), root / "inputs/goals.py"]
    paths += [root / "results" / name for name in ("statistics.py", "report.py")]
    paths += [Path(__file__).with_name(name) for name in ("families.py", "systems.py")]
    found = hashlib.sha256(fingerprint().encode())
    for path in sorted(paths):
        found.update(path.read_bytes())
    return found.hexdigest()[:16]


def main(arguments: Sequence[str] | None = None) -> int:
    """Search, judge, and print the tables or write them; 1 if a criterion fails, 130 if it was interrupted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", default="", help="parts of names of families, separated by commas")
    parser.add_argument("--searches", type=int, default=SEARCHES, help="searches of each scenario of the engine")
    parser.add_argument("--systems", type=int, default=SYSTEM_SEARCHES, help="searches of each system")
    parser.add_argument("--folder", type=Path, default=Path("out/coverage"), help="where results are kept")
    parser.add_argument("--write", type=Path, help="a page, or a folder of pages, with the marks around the tables")
    options = parser.parse_args(arguments)
    families = selected(FAMILIES, options.family)
    if not families:
        parser.error(f"--family: expected a part of one of {', '.join(FAMILIES)}, found `{options.family}`")
    if options.write is not None and options.family:
        parser.error("--write: expected all families, found --family; leave one of the two out")
    of = subjects(families)
    counts = {"engine": options.searches, "systems": options.systems}
    options.folder.mkdir(parents=True, exist_ok=True)
    try:
        with exclusive_in(options.folder, "a coverage study"):
            found, single = study(run(of, counts, options.folder), of)
    except ForebayError as error:
        print(f"coverage: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("coverage: interrupted; the same command goes on from here", file=sys.stderr)
        return 130
    print_or_write(tables(found, single), options.write, MARKS)
    faults = [f"{tally.family} ({tally.kind}): {fault}" for tally in found for fault in tally.faults()]
    for fault in faults:
        print(f"coverage: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
