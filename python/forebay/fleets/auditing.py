"""`fleet`: every port of an inventory, from its question to its verdict.

The stages answer distinct questions. `ports.parquet` has a row per port, and `measurements/` all that was measured.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from forebay import _core
from forebay.errors import InputError
from forebay.extras import need
from forebay.fleets.answer import VERDICTS, WRONG, FleetAnswer, Judgment
from forebay.fleets.buffer_size import Size
from forebay.fleets.changes import OWN, ChangeSet, change_sets, check_platform, write_changes
from forebay.fleets.comparing import DIFFERENCES
from forebay.fleets.earlier_audit import note_another_network
from forebay.fleets.first_stage import first_stage
from forebay.fleets.growth import Growth, grown
from forebay.fleets.inventory import Inventory, read_inventory
from forebay.fleets.measuring import Measuring, QuickPrecision
from forebay.fleets.packet_stage import packet_stage
from forebay.fleets.profiles import Profiles, load_profiles
from forebay.fleets.prometheus import prometheus_text
from forebay.fleets.questions import Asked, Question, questions_of
from forebay.fleets.reading import FileReader, StepBegun
from forebay.fleets.replacement import memories
from forebay.fleets.sampling import SampleCheck, drawn, sample_size
from forebay.fleets.search_stage import Describe, ranked, search_stage
from forebay.fleets.store import Store
from forebay.measurement.cluster import connected
from forebay.scenario import Progress
from forebay.storage.files import replacing, write_atomically
from forebay.storage.locks import exclusive_in
from forebay.storage.tables import write_table

if TYPE_CHECKING:
    import polars as pl

    from forebay.measurement.cluster import Cluster

__all__ = ["Audited", "FleetExecution", "audited"]

#: The year of today's traffic, and verdicts on buffers that are not too small.
TODAY, ENOUGH = 0, ("fine", "too large")
#: Scenarios that are searched in full by default.
FULL = 5


@dataclass(frozen=True, slots=True)
class FleetExecution:
    """The execution of an audit.

    Attributes
    ----------
    jobs : int, optional
        Threads; all cores by default. The answer does not depend on their number.
    scheduler : str or Cluster, optional
        Address of a Dask scheduler whose workers measure instead of this machine's threads.
    full : int
        Largest number of scenarios that are searched in full.
    within : float, optional
        Seconds after which no further run begins; the other ports are undecided.
    seed : int
        Seed of the sample that checks the first stage.
    confidence : float
        One-sided confidence of the packet runs.
    progress : callable, optional
        Called with the numbers of finished and of expected points, and of megabytes while files are read.
    begin : callable, optional
        Called with the name of a step: "checking files, MB", "reading files, MB" or "measuring". The first two are
        left out if no port names a file.
    tell : callable, optional
        Called with lines of text: damage in the folder, and the check of the first stage.
    describe : callable, optional
        Makes the text of a full search, which `Judgment.text` has; by default that of `forebay recommend`.
    """

    jobs: int | None = None
    scheduler: str | Cluster | None = None
    full: int = FULL
    within: float | None = None
    seed: int = 1
    confidence: float = QuickPrecision().confidence
    progress: Progress | None = None
    begin: StepBegun | None = None
    tell: Callable[[str], object] | None = None
    describe: Describe | None = None


@dataclass(frozen=True, slots=True)
class Audited:
    """An audit that has ended.

    Attributes
    ----------
    answer : FleetAnswer
    changes : tuple of ChangeSet
        The change sets that are in its folder; none without a folder.
    """

    answer: FleetAnswer
    changes: tuple[ChangeSet, ...]


def audited(
    inventory: str | os.PathLike[str] | Inventory,
    profiles: str | os.PathLike[str] | Profiles | None,
    execution: FleetExecution,
    *,
    out: str | os.PathLike[str] | None = None,
    growth: str | Growth | None = None,
    replace: str | Mapping[str, int] | None = None,
    platform: str = OWN,
) -> Audited:
    """Judge the buffer of every port, and write the tables and the change sets.

    The parameters and errors are those of `forebay.networks.auditing.fleet`.
    """
    need("polars")
    QuickPrecision(execution.confidence)  # before anything is read
    platform = check_platform(platform)
    ports = inventory if isinstance(inventory, Inventory) else read_inventory(inventory)
    known = profiles if isinstance(profiles, Profiles) else _profiles(inventory, profiles, ports)
    years = Growth.parse(growth) if isinstance(growth, str) else growth
    boxes = memories(replace) if isinstance(replace, str) else replace
    folder = None if out is None else Path(out)
    changes: list[ChangeSet] = []
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        lock = nullcontext() if folder is None else exclusive_in(folder, "a fleet audit")
        with connected(execution.scheduler) as cluster, lock:
            note_another_network(folder, ports.ports, execution.tell)
            kept = None if folder is None else folder / "measurements"
            with Store(kept, execution.tell or (lambda _line: None)) as store:
                answer = _Audit(ports, known, execution, store, cluster, kept).run(years, boxes)
            if folder is not None:
                changes = change_sets(answer, platform)
                _write(answer, folder)
                write_changes(changes, folder / "changes")
        return Audited(answer, tuple(changes))
    except OSError as error:
        raise InputError(f"{error.filename or folder}: cannot be written: {error.strerror or error}") from None


def _profiles(inventory: object, profiles: str | os.PathLike[str] | None, ports: Inventory) -> Profiles:
    """The profiles of a folder; none if there is no folder and every port is observed."""
    folder = _folder_of_profiles(inventory, profiles)
    if profiles is None and not folder.is_dir() and ports.ports.height and ports.ports["observe"].null_count() == 0:
        return Profiles(str(folder), {}, ())
    return load_profiles(folder)


def _folder_of_profiles(inventory: object, profiles: str | os.PathLike[str] | None) -> Path:
    """The folder of profiles: the given one, or the one beside the inventory."""
    if profiles is not None:
        return Path(profiles)
    if isinstance(inventory, Inventory):
        raise InputError("found no profiles; allowed: a folder", "profiles")
    path = Path(str(inventory))
    beside = [path / "profiles", path.parent / "profiles"]
    return next((each for each in beside if each.is_dir()), beside[-1])


class _Audit:
    """One audit: its stages in their order."""

    def __init__(
        self,
        inventory: Inventory,
        profiles: Profiles,
        means: FleetExecution,
        store: Store,
        cluster: Cluster | None,
        kept: Path | None,
    ) -> None:
        self._inventory, self._profiles, self._means, self._kept = inventory, profiles, means, kept
        self._tell = means.tell or (lambda _line: None)
        self._measuring = Measuring(
            store,
            QuickPrecision(means.confidence),
            jobs=means.jobs,
            cluster=cluster,
            progress=means.progress,
            until=None if means.within is None else time.monotonic() + means.within,
        )

    def run(self, growth: Growth | None, boxes: Mapping[str, int] | None) -> FleetAnswer:
        """Ask, judge in three stages, and make the table."""
        means, store = self._means, self._measuring.store
        reader = FileReader(store, jobs=means.jobs, progress=means.progress, begin=means.begin)
        asked = questions_of(self._inventory.ports, self._profiles, reader)
        if means.begin is not None and reader.keys:
            means.begin("measuring")
        judgments, sample = self.judge(asked.questions)
        judgments |= search_stage(
            asked.questions,
            judgments,
            asked.counts,
            self._measuring,
            full=self._means.full,
            folder=None if self._kept is None else self._kept / "searches",
            describe=self._means.describe,
        )
        ports = _with_verdicts(asked, judgments)
        if growth is not None:
            ports = self._grown(ports, asked, judgments, growth)
        if boxes is not None:
            ports = self._replaced(ports, asked, judgments, boxes)
        counts = ports["verdict"].value_counts()
        found = dict(zip(counts["verdict"].to_list(), counts["count"].to_list(), strict=True))
        return FleetAnswer(
            ports=ports,
            rejected=self._inventory.rejected,
            questions=asked.questions,
            judgments=judgments,
            counts={verdict: found.get(verdict, 0) for verdict in VERDICTS},
            first=tuple(ranked(judgments, asked.counts)),
            sample=sample,
            measured=len(store.added - reader.keys),
            reused=len(store.reused - reader.keys),
            runs=self._measuring.runs,
            version=_core.__version__,
            ports_of=asked.counts,
            points=self._measuring.points(),
        )

    def judge(self, questions: Mapping[str, Question]) -> tuple[dict[str, Judgment], SampleCheck | None]:
        """The first two stages, and the check of the first one."""
        decided = first_stage(questions)
        chosen = drawn(decided, sample_size(len(decided)), self._means.seed)
        # The sample, the questions that the first stage leaves open, and the wrong ones are measured together: packet
        # runs find the sizes to recommend.
        wrong = {digest for digest, judgment in decided.items() if judgment.verdict in WRONG}
        rest = {each: questions[each] for each in questions if each not in decided or each in chosen or each in wrong}
        measured, _ = packet_stage(rest, self._measuring)
        if not decided:
            return measured, None
        checked = [digest for digest in chosen if measured[digest].verdict in {"fine", *WRONG}]
        errors = sum(measured[digest].verdict != decided[digest].verdict for digest in checked)
        sample = SampleCheck.of(len(decided), len(checked), errors)
        if sample.withdrawn:
            found = f"{errors} of {len(checked)} checked verdicts are wrong"
            self._tell(f"the first stage is withdrawn ({found}): packet runs decide its questions")
            measured |= packet_stage({each: questions[each] for each in decided}, self._measuring)[0]
            return measured, sample
        return {**decided, **measured}, sample

    def _grown(
        self, ports: pl.DataFrame, asked: Asked, judgments: Mapping[str, Judgment], growth: Growth
    ) -> pl.DataFrame:
        """Add when each port becomes too small, its need then, and the last year in which it is shown to be enough."""
        import polars as pl

        small = {each: (TODAY, found.needed_bytes) for each, found in judgments.items() if found.verdict == "too small"}
        enough = {each: TODAY for each, found in judgments.items() if found.verdict in ENOUGH}
        for year, factor in growth.years:
            later = {
                each: Question(grown(question.text, factor), question.size)
                for each, question in asked.questions.items()
                if each not in small
            }
            verdicts, in_time = packet_stage(later, self._measuring, halve=False)
            for each, judgment in verdicts.items():
                if judgment.verdict == "too small":
                    small[each] = year, judgment.needed_bytes
                elif judgment.verdict in ENOUGH:
                    enough[each] = year
            if not in_time:
                self._tell(f"the time was over in year {year} of the growth: `enough_until` says what is known")
                break
        digests = list(asked.questions)
        ends = [small.get(each, (None, None)) for each in digests]
        table = pl.DataFrame(
            {
                "question": pl.Series(digests, dtype=pl.String),
                "too_small_in": pl.Series([year for year, _ in ends], dtype=pl.Int64),
                "needed_bytes_then": pl.Series([needed for _, needed in ends], dtype=pl.Float64),
                "enough_until": pl.Series([enough.get(each) for each in digests], dtype=pl.Int64),
            }
        )
        return _joined(ports, table)

    def _replaced(
        self, ports: pl.DataFrame, asked: Asked, judgments: Mapping[str, Judgment], boxes: Mapping[str, int]
    ) -> pl.DataFrame:
        """Add for each box whether its memory is enough for each port."""
        import polars as pl

        words = {"fine": "yes", "too large": "yes", "too small": "no"}
        digests = list(asked.questions)
        # A box with more memory than a sufficient buffer would do, because a port may use a part of it.
        enough = {each: _sufficient(asked.questions[each], judgments[each]) for each in digests}
        for name, number in boxes.items():
            rest = [each for each in digests if number < enough[each]]
            others = {each: asked.questions[each].with_size(Size(number, "B")) for each in rest}
            verdicts, _ = packet_stage(others, self._measuring, halve=False)
            found = {each: words.get(judgment.verdict, "undecided") for each, judgment in verdicts.items()}
            column = [found.get(each, "yes") for each in digests]
            answers = {
                "question": pl.Series(digests, dtype=pl.String),
                f"would_do_{name}": pl.Series(column, dtype=pl.String),
            }
            ports = _joined(ports, pl.DataFrame(answers))
        return ports


def _sufficient(question: Question, judgment: Judgment) -> float:
    """A buffer in bytes that meets every goal; infinite if none is known."""
    if judgment.verdict == "fine":
        return question.scenario().buffer.bytes
    return math.inf if judgment.recommended_bytes is None else judgment.recommended_bytes


def _with_verdicts(asked: Asked, judgments: Mapping[str, Judgment]) -> pl.DataFrame:
    """The ports with the columns of their verdicts."""
    import polars as pl

    texts, numbers = ("question", "verdict", "reason", "notes", "stage"), (
        "margin", "margin_low", "margin_high", "needed_bytes", "recommended_bytes", "confidence", "delay_ms", "loss",
        "recommended_delay_ms", "recommended_loss", "cost_delay_ms", "cost_loss", "severity",
    )  # fmt: skip
    kinds = {**dict.fromkeys(texts, pl.String), **dict.fromkeys(numbers, pl.Float64), "runs": pl.Int64}
    rows = [{"question": digest, **judgments[digest].to_row()} for digest in sorted(judgments)]
    table = pl.DataFrame(rows, schema=kinds) if rows else pl.DataFrame(schema=kinds)
    found = _joined(asked.ports, table)
    return found.with_columns(
        pl.col("verdict").fill_null("not answerable"),
        pl.coalesce("reason", "refusal").alias("reason"),
        pl.col("stage").fill_null("none"),
        pl.col("runs").fill_null(0),
        pl.col("severity").fill_null(0.0),
    ).drop("refusal")


def _joined(ports: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """The ports in their order, with the columns that a table has for each question."""
    return ports.join(table, on="question", how="left", maintain_order="left")


def _write(answer: FleetAnswer, folder: Path) -> None:
    """Write the tables and the summary; each file appears at once. A comparison of an earlier audit is outdated."""
    (folder / DIFFERENCES).unlink(missing_ok=True)
    with replacing(folder / "ports.parquet") as partial:
        write_table(answer.ports, partial)
    write_atomically(folder / "rejected.csv", answer.rejected.write_csv())
    write_atomically(folder / "forebay.prom", prometheus_text(answer.ports))
    write_atomically(folder / "summary.json", json.dumps(answer.to_dict(), indent=2) + "\n")
