"""The papers as data: `papers/PAPER/paper.toml` with its runs, figures and claims, and scenarios beside it.

[paper]
title, authors, venue, year, question
parts = ["rates.toml"]        # optional: more files of the folder with runs and figures

[[run]]                       # a sweep, or recordings over time
name = "buffers"
scenario = "one-flow.toml"    # in scenarios/
engine = "packet"
set = ["flows.elephant.count=2"]
over = ["link.buffer=20p,100p,625p"]
replications = 8
keep = "metrics"              # or "traces": what the scenario's [trace] records
quick = { set = [...], over = [...], replications = 4 }   # `set` is added, the others replace
                              # quick = false: too long for the coarse version, left out of it

[[figure]]
name = "fig3"
title, shows
runs = ["buffers"]
[[figure.claim]]              # see `forebay.papers.claims`
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay import _core
from forebay.errors import InputError
from forebay.papers.claims import Claim

__all__ = ["FOLDER", "PAPERS", "Figure", "Paper", "Run", "load", "select"]

#: The papers are part of the package, so that an installed forebay has them; `papers/` in the repository leads here.
FOLDER = Path(__file__).parent
PAPERS = ("auge", "barman", "dhamdhere", "avrachenkov", "kumar", "literature")
KEEPS = ("metrics", "traces")


@dataclass(frozen=True, slots=True)
class Run:
    """One sweep or set of recordings.

    Attributes
    ----------
    paper, name : str
    scenario : Path
    engine : str
    settings : tuple of str
        Changes to the scenario.
    over : tuple of str
        Axes.
    replications : int
    keep : str
        "metrics" or "traces".
    """

    paper: str
    name: str
    scenario: Path
    engine: str
    settings: tuple[str, ...]
    over: tuple[str, ...]
    replications: int
    keep: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A published figure, or a group of statements that belong together."""

    paper: str
    name: str
    title: str
    shows: str
    runs: tuple[str, ...]
    claims: tuple[Claim, ...]

    @property
    def id(self) -> str:
        """The identifier, such as "auge/fig3"."""
        return f"{self.paper}/{self.name}"


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper's folder."""

    name: str
    title: str
    authors: str
    venue: str
    year: int
    question: str
    figures: tuple[Figure, ...]
    quick: Mapping[str, Run]
    full: Mapping[str, Run]

    def runs(self, *, quick: bool) -> Mapping[str, Run]:
        """The runs by name, coarse or full; the coarse version may leave out some."""
        return self.quick if quick else self.full


def load(name: str, folder: Path = FOLDER) -> Paper:
    """Read one paper's folder.

    Raises
    ------
    InputError
        If the folder is wrong: file, table and key of the first error, what was found and what is allowed.
    """
    path = folder / name / "paper.toml"
    data = _tables(path)
    head = data.get("paper", {})
    for key in ("title", "authors", "venue", "year", "question"):
        if key not in head:
            raise InputError(f"{path}: found no paper.{key}; allowed: a [paper] table that has it")
    full: dict[str, Run] = {}
    quick: dict[str, Run] = {}
    figures: list[Figure] = []
    for place in (path, *(path.parent / part for part in head.get("parts", ()))):
        tables = data if place == path else _tables(place)
        _runs(tables.get("run", []), name, place, (full, quick))
        figures += [_figure(table, name, full, place) for table in tables.get("figure", [])]
    twice = _repeated(figure.name for figure in figures)
    if twice is not None:
        raise InputError(f"{path}: found figure `{twice}` twice; allowed: each name once")
    return Paper(
        name,
        head["title"],
        head["authors"],
        head["venue"],
        int(head["year"]),
        head["question"],
        tuple(figures),
        quick,
        full,
    )


def _tables(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path}: {error}") from None


def _repeated(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _known(table: Mapping[str, Any], allowed: set[str], where: str) -> None:
    for key in table:
        if key not in allowed:
            raise InputError(f"{where}: found key `{key}`; allowed: {', '.join(sorted(allowed))}")


def _runs(
    tables: Iterable[Mapping[str, Any]], paper: str, path: Path, found: tuple[dict[str, Run], dict[str, Run]]
) -> None:
    """Add the runs of a file to those that were found, at full and at quick quality."""
    full, quick = found
    for table in tables:
        name = str(table.get("name", ""))
        where = f"{path}: run `{name}`"
        _known(table, {"name", "scenario", "engine", "set", "over", "replications", "keep", "quick"}, where)
        if not name or name in full or "scenario" not in table:
            raise InputError(f"{where}: found no new name or no scenario; allowed: each run has both")
        coarse = table.get("quick", {})
        if coarse is not False and not isinstance(coarse, dict):
            raise InputError(f"{where}: found quick = {coarse!r}; allowed: a table, or false")
        _known(coarse or {}, {"set", "over", "replications"}, f"{where}, quick")
        scenario = path.parent / "scenarios" / table["scenario"]
        if not scenario.is_file():
            raise InputError(f"{where}: found scenario `{table['scenario']}`; allowed: a file in scenarios/")
        keep = table.get("keep", "metrics")
        if keep not in KEEPS:
            raise InputError(f"{where}: found keep = {keep!r}; allowed: {', '.join(KEEPS)}")
        settings, over = tuple(table.get("set", ())), tuple(table.get("over", ()))
        count = int(table.get("replications", 1))
        engine = table.get("engine", "packet")
        full[name] = Run(paper, name, scenario, engine, settings, over, count, keep)
        if coarse is False:
            continue
        quick[name] = Run(
            paper,
            name,
            scenario,
            engine,
            settings + tuple(coarse.get("set", ())),
            tuple(coarse.get("over", over)),
            int(coarse.get("replications", count)),
            keep,
        )


def _figure(table: Mapping[str, Any], paper: str, runs: Mapping[str, Run], path: Path) -> Figure:
    name = str(table.get("name", ""))
    where = f"{path}: figure `{name}`"
    _known(table, {"name", "title", "shows", "runs", "claim"}, where)
    for key in ("name", "title", "shows"):
        if not table.get(key):
            raise InputError(f"{where}: found no `{key}`; allowed: a text")
    for run in table.get("runs", ()):
        if run not in runs:
            raise InputError(f"{where}: found run `{run}`; allowed: {', '.join(runs) or 'none is defined'}")
    claims = tuple(
        Claim.parse(claim, f"{where}, claim {number}") for number, claim in enumerate(table.get("claim", ()), start=1)
    )
    return Figure(paper, name, table["title"], table["shows"], tuple(table.get("runs", ())), claims)


def select(expected: str, folder: Path = FOLDER) -> list[tuple[Paper, list[Figure]]]:
    """Find what "all", "auge" or "auge/fig3" names.

    Raises
    ------
    InputError
        An unknown paper or figure, with the known ones.
    """
    name, slash, figure = expected.partition("/")
    if expected == "all":
        return [(paper, list(paper.figures)) for paper in (load(each, folder) for each in PAPERS)]
    if name not in PAPERS:
        raise InputError(_core.unknown("paper", expected, ["all", *PAPERS]), "what")
    paper = load(name, folder)
    if not slash:
        return [(paper, list(paper.figures))]
    found = [each for each in paper.figures if each.name == figure]
    if not found:
        raise InputError(_core.unknown("figure", expected, [each.id for each in paper.figures]), "what")
    return [(paper, found)]
