"""Scenarios: a link, its traffic and its goals, read from TOML or JSON.

`crates/scenario` parses the text. Most verbs begin with a scenario, and engines receive it.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from forebay import _core
from forebay.algorithms.code_files import allowing, changes_of_code, with_sources
from forebay.algorithms.processes import run_batch
from forebay.engines import check_exclusive
from forebay.errors import InputError
from forebay.inputs.bundled_scenarios import FOLDER, SIGN, bundled
from forebay.inputs.ecn_presets import with_presets
from forebay.inputs.goals import Goal, distinct
from forebay.inputs.link_traces import changes_of_files
from forebay.inputs.validation import MOST_JOBS, MOST_REPLICATIONS, MOST_SEED, integer
from forebay.phase_effects import phase_warnings
from forebay.results import notebook_repr
from forebay.results.report import BufferSize, Report

__all__ = ["TARGET", "Scenario", "bounded", "cores", "read", "utf8"]

#: The largest buffer, in packets.
MOST_PACKETS = 10**12

#: The key of the target link's own buffer.
TARGET = "link.buffer"

#: Called with the number of finished jobs and of all jobs.
Progress = Callable[[int, int], object]


def cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class _Written:
    """The text from which a scenario was made, and its changes."""

    text: str
    kind: str
    name: str
    changes: tuple[_core.Change, ...]

    def changed(self, *changes: _core.Change) -> _Written:
        return replace(self, changes=(*self.changes, *changes))

    def as_toml(self) -> str:
        return _core.Scenario.as_toml(self.text, self.kind, self.name, self.changes)


class Laboratory(Protocol):
    """A widget that shows the laboratory: it follows the page, and the page follows it.

    Attributes
    ----------
    scenario : Scenario
        The scenario that the page shows.
    text : str
        The same as TOML.
    height : int or None
        Height in pixels; None is the height of the content.
    """

    scenario: Scenario
    text: str
    height: int | None

    def observe(self, handler: Callable[[Any], object], names: str) -> None:
        """Call `handler` when one of the attributes has changed, as traitlets do."""


class Scenario:
    """One valid scenario. Build it with `load`, `parse` or `of`.

    Parameters
    ----------
    core : forebay._core.Scenario
        The scenario as the engines read it, with its goals.
    bounds : sequence of Goal
        Further goals on the metrics of these.
    """

    def __init__(self, core: _core.Scenario, bounds: Sequence[Goal] = ()) -> None:
        self.core = core
        self._bounds = tuple(bounds)
        self._written: _Written | None = None

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], overrides: Iterable[_core.Change] = (), *, allow_code: bool = False
    ) -> Scenario:
        """Read a scenario file.

        Parameters
        ----------
        path : path-like
            TOML, or JSON if the name ends in ".json"; or, as text, the name of a scenario that comes with forebay, as
            in "@campus-uplink".
        overrides : iterable of str
            Changes such as "link.buffer=100p", applied in order.
        allow_code : bool
            Consent that algorithms of the scenario's author run: `{ python = "mine.py:Mine" }`.

        Raises
        ------
        InputError
            If the scenario is wrong: file, line and key of the first error, what was found and what is allowed.

        Examples
        --------
        >>> forebay.Scenario.load("@dsl-access").title
        'DSL line: one CUBIC download beside a video call'
        """
        if isinstance(path, str) and path.startswith(SIGN):
            return cls.parse(bundled(path).text, "toml", overrides, path, FOLDER, allow_code=allow_code)
        path = Path(path)
        kind = "json" if path.suffix == ".json" else "toml"
        return cls.parse(read(path), kind, overrides, str(path), path.parent, allow_code=allow_code)

    @classmethod
    def parse(
        cls,
        text: str,
        kind: str = "toml",
        overrides: Iterable[_core.Change] = (),
        name: str = "<text>",
        folder: Path | None = None,
        *,
        allow_code: bool = False,
    ) -> Scenario:
        """Read a scenario from text.

        Parameters
        ----------
        text : str
        kind : {"toml", "json"}
        overrides : iterable of str
            Changes such as "link.buffer=100p", applied in order.
        name : str
            Name in place of a file's in errors.
        folder : Path, optional
            Folder to which files that the scenario names are relative; without one it may name none.
        allow_code : bool
            As in `load`.

        Raises
        ------
        InputError
            As in `load`.
        """
        with allowing(allow_code):
            code = (*changes_of_code(text, kind, folder, name), *with_sources(tuple(with_presets(overrides))))
        changes = (*changes_of_files(text, kind, folder, name), *code)
        return cls(_core.Scenario.parse(text, kind, name, changes))._as_written(_Written(text, kind, name, changes))

    @classmethod
    def of(
        cls,
        tables: Mapping[str, Any],
        overrides: Iterable[_core.Change] = (),
        name: str = "<scenario>",
        *,
        allow_code: bool = False,
    ) -> Scenario:
        """Build a scenario from nested dictionaries with the keys of the file."""
        return cls.parse(json.dumps(tables), "json", overrides, name, allow_code=allow_code)

    def changed(self, *overrides: _core.Change) -> Scenario:
        """Return the same scenario with changes such as "link.buffer=100p".

        A change may give the argument that it belongs to, for errors: ("also", "link.buffer", "100p").
        """
        overrides = tuple(with_sources(tuple(with_presets(overrides))))
        changed = self.core.with_overrides(overrides)
        # A changed goal replaces all goals on its metric.
        before, after = _by_name(self.core.goals), _by_name(changed.goals)
        retained = [bound for bound in self._bounds if before[bound.name] == after.get(bound.name)]
        return Scenario(changed, retained)._as_written(self._written and self._written.changed(*overrides))

    def with_packets(self, packets: int) -> Scenario:
        """Return the same scenario with this buffer at the target link, a packet or byte limit as before."""
        changed = self.with_core(self.core.with_packets(integer(packets, (0, MOST_PACKETS), "packets")))
        return changed._as_written(self._written and self._written.changed(f"{TARGET}={packets}p"))

    def with_core(self, core: _core.Scenario) -> Scenario:
        """Return another scenario with the same goals."""
        return Scenario(core, self._bounds)

    def with_bounds(self, bounds: Sequence[Goal]) -> Scenario:
        """Return the same scenario with these further goals on metrics that it has a goal for."""
        return Scenario(self.core, bounds)._as_written(self._written)

    def _as_written(self, written: _Written | None) -> Scenario:
        self._written = written
        return self

    @property
    def title(self) -> str:
        """Title, possibly empty."""
        return self.core.title

    @property
    def buffer(self) -> BufferSize:
        """The target link's buffer."""
        return BufferSize(**self.core.buffer())

    @property
    def packets_per_second(self) -> float:
        """Packets of mean size that the target link carries in a second."""
        return self.core.rate_bps / 8 / self.core.packet_bytes

    @property
    def goals(self) -> list[Goal]:
        """The goals that `recommend` must meet: all of them, also several on one metric."""
        found: list[Goal] = []
        for name, sense, threshold in self.core.goals:
            found.append(Goal(name, ">=" if sense == ">=" else "<=", threshold))
            found += [bound for bound in self._bounds if bound.name == name]
        return distinct(found)

    @property
    def resolved(self) -> Mapping[str, Any]:
        """The scenario with every default filled in, as nested dictionaries."""
        resolved: Mapping[str, Any] = json.loads(self.core.canonical_json())
        return resolved

    @property
    def assumed(self) -> tuple[str, ...]:
        """The assumptions that the scenario's text lists under the key `assumed`; nothing has measured them."""
        if self._written is None:
            return ()
        read = json.loads if self._written.kind == "json" else tomllib.loads
        try:
            found = read(self._written.text).get("assumed", [])
        except (ValueError, RecursionError):  # the engines' reader accepts it and Python's does not
            return ()
        return tuple(each for each in found if isinstance(each, str)) if isinstance(found, list) else ()

    @property
    def toml(self) -> str:
        """The scenario as TOML without other files: the original text, with later changes at their keys.

        A scenario without such a text is written with every default. Goals of `with_bounds` are no part of it.
        """
        if self._written is not None:
            try:
                text = self._written.as_toml()
                if _core.Scenario.parse(text, "toml", self._written.name, ()).sha256 == self.core.sha256:
                    return text
            except InputError:
                pass  # a change that does more than its text, such as one of a `stack`
        return _core.Scenario.as_toml(self.core.portable_json(), "json", "<scenario>", ())

    def lab(self, *, height: int | None = None) -> Laboratory:
        """Open the laboratory in a notebook: a widget that shows this scenario, live.

        Parameters
        ----------
        height : int, optional
            Height in pixels; by default the height of the content.

        Returns
        -------
        Laboratory
            The widget, for anywidget.

        Raises
        ------
        MissingPackageError
            If anywidget is not installed.
        UnsupportedError
            If the page was not built.
        """
        widget: Laboratory = notebook_repr.laboratory(self, height)
        return widget

    def _repr_html_(self) -> str:
        """The scenario as a table, for notebooks."""
        return notebook_repr.table(self)

    def run(
        self,
        engine: str = "packet",
        *,
        seed: int | None = None,
        replications: int | None = None,
        jobs: int | None = None,
        progress: Progress | None = None,
        traces: bool = False,
        model: str | None = None,
    ) -> Report:
        """Run the scenario on one engine.

        Parameters
        ----------
        engine : str
            "packet", "fluid", "closed_form" or "kernel", which runs in real time and alone.
        seed, replications : int, optional
            In place of the scenario's own.
        jobs : int, optional
            Threads; all cores by default. The answer does not depend on it. An engine in real time takes one.
        progress : callable, optional
            Called with the numbers of finished and of all replications.
        traces : bool
            Whether the first replication also records the traces that `[trace]` requests.
        model : str, optional
            The closed-form model to use, in place of the one that fits the scenario.

        Returns
        -------
        Report
            Means over the replications with 95 % Student-t half widths. Its warnings are the engine's, and those of
            `forebay.phase_effects`: coincidences of round trips, and rare declared states.

        Examples
        --------
        >>> report = forebay.Scenario.load("@dsl-access").run(replications=2)
        >>> round(report.metrics.utilization.mean, 2)
        1.0
        """
        count = self.core.replications if replications is None else replications
        count = integer(count, (1, MOST_REPLICATIONS), "replications")
        check_exclusive(engine, jobs=jobs)
        if any(known.name == engine and not known.replicates for known in _core.engines()):
            count = 1  # a formula has nothing to repeat
        seed = self.core.seed if seed is None else integer(seed, (0, MOST_SEED), "seed")
        work = [
            _core.Job(self.core, engine, seed, replication, traces=traces and replication == 0, model=model)
            for replication in range(count)
        ]
        report = Report.over(run_jobs(work, jobs, progress), self.resolved)
        return report.warned(phase_warnings(self.core, engine, count))

    def __repr__(self) -> str:
        return f"<Scenario {self.title!r} {self.core.sha256[:12]}>"


def _by_name(goals: Iterable[tuple[str, str, float]]) -> dict[str, list[tuple[str, float]]]:
    """The bounds on each metric, in order."""
    found: dict[str, list[tuple[str, float]]] = {}
    for name, sense, threshold in goals:
        found.setdefault(name, []).append((sense, threshold))
    return found


def read(path: Path) -> str:
    """Read a text file of at most `_core.MAX_TEXT` bytes, or give the reason why it cannot be read."""
    try:
        with path.open("rb") as file:
            return bounded(file, str(path))
    except FileNotFoundError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}{_neighbor(path)}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def bounded(file: BinaryIO, name: str) -> str:
    """Read a text of at most `_core.MAX_TEXT` bytes; refuse a longer one without reading it to its end."""
    content = file.read(_core.MAX_TEXT + 1)
    if len(content) > _core.MAX_TEXT:
        raise InputError(f"{name}: found more than {_core.MAX_TEXT} bytes; allowed: at most {_core.MAX_TEXT} bytes")
    return utf8(content, name)


def utf8(content: bytes, name: str) -> str:
    """Decode the text of a file of this name; raise an error with the place if it is not UTF-8."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: found a byte that is not UTF-8 at {error.start}; allowed: UTF-8 text") from None


def _neighbor(path: Path) -> str:
    """A question about the file beside `path` whose name is like it."""
    try:
        names = [entry.name for entry in path.parent.iterdir() if entry.suffix in {".toml", ".json"}]
    except OSError:
        return ""
    suggestion = _core.likeliest(path.name, sorted(name for name in names if name.isprintable()))
    return "" if suggestion is None else f"; did you mean `{path.with_name(suggestion)}`?"


def run_jobs(
    work: Sequence[_core.Job],
    jobs: int | None = None,
    progress: Progress | None = None,
    finished: Callable[[int, Report], object] | None = None,
    within: float | None = None,
) -> list[Report]:
    """Run jobs over the cores; reports in job order.

    `progress` is called with the numbers of finished and of all jobs. `finished` is called with the number of each job
    and its report, as it ends.

    Raises
    ------
    ForebayError
        As soon as one job fails; the others are dropped.
    TimeoutError
        After `within` seconds, by wall clock, if not all have ended.
    """
    done = 0

    def observe(index: int, outcome: _core.Report | Exception) -> None:
        nonlocal done
        if isinstance(outcome, Exception):
            raise outcome
        done += 1
        if finished is not None:
            finished(index, Report(outcome))
        if progress is not None:
            progress(done, len(work))

    outcomes = run_batch(work, threads(jobs), observe, within)
    return [Report(outcome) for outcome in outcomes if not isinstance(outcome, Exception)]


def threads(jobs: int | None) -> int:
    """The number of threads of an option: all cores by default."""
    return cores() if jobs is None else integer(jobs, (1, MOST_JOBS), "jobs")
