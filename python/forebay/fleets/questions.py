"""Questions: ports without their names. Equal ports share one question, and similar questions share a scenario.

A scenario of a question leaves the buffer open. Runs belong to a scenario and a buffer, so that two questions that
differ in the buffer alone use each other's runs.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forebay.errors import InputError
from forebay.fleets.buffer_size import DEFAULTS, Size, size_column
from forebay.fleets.filled_profiles import check_filled
from forebay.fleets.observed import Observations
from forebay.fleets.port_classes import has_classes, sized
from forebay.fleets.profiles import BUFFER, Profile, Profiles
from forebay.fleets.reading import FileReader
from forebay.fleets.store import Store
from forebay.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Asked", "Question", "questions_of"]

#: Digits of the content hash of a question.
DIGITS = 24
#: Relative error of a quotient of bytes, which must not add a byte.
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Question:
    """One question: whether a buffer suits a scenario.

    Attributes
    ----------
    text : str
        The scenario as JSON, with the mark `BUFFER` in place of the buffer.
    size : Size
        The configured buffer.
    """

    text: str
    size: Size

    @property
    def digest(self) -> str:
        """Content hash: the identity of the question."""
        return hashlib.sha256(self.at(self.size).encode()).hexdigest()[:DIGITS]

    @property
    def link(self) -> str:
        """Content hash of the scenario without the buffer."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:DIGITS]

    def at(self, size: Size) -> str:
        """The scenario as JSON with a buffer."""
        return sized(self.text.replace(BUFFER, str(size)), size)

    @property
    def has_classes(self) -> bool:
        """Whether the buffer is that of several classes, which change by one factor."""
        return has_classes(self.text)

    def scenario(self) -> Scenario:
        """The scenario with its configured buffer; raises `InputError` if it is not valid."""
        return Scenario.parse(self.at(self.size), "json", name="profile")

    def with_size(self, size: Size) -> Question:
        """The same scenario with another configured buffer."""
        return Question(self.text, size)

    def with_bytes(self, wanted: float) -> Question:
        """The same scenario with the smallest buffer of at least these bytes, in the unit of the configured one."""
        number = math.ceil(self.size.number * wanted / self.scenario().buffer.bytes * (1 - ROUNDING))
        return self.with_size(Size(max(1, number), self.size.unit))


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions of a table of ports.

    Attributes
    ----------
    ports : polars.DataFrame
        The ports with the columns `profile_used`, `question` (the digest; null without one) and `refusal` (the reason
        why a port has no question; null if it has one).
    questions : mapping
        Each question by its digest.
    counts : mapping
        Number of ports of each question, by digest.
    """

    ports: pl.DataFrame
    questions: Mapping[str, Question]
    counts: Mapping[str, int]


def questions_of(ports: pl.DataFrame, profiles: Profiles, reader: FileReader | None = None) -> Asked:
    """Make a question of each port, and one of all equal ones.

    Parameters
    ----------
    ports : polars.DataFrame
        The table of ports.
    profiles : Profiles
        The profiles and their rules.
    reader : FileReader, optional
        Reads the files of the column `observe`; without one they are not kept.

    Raises
    ------
    InputError
        If the inventory has no values for a profile that is assigned to a port: one line with file and key.
    """
    import polars as pl

    is_observed = pl.col("observe").is_not_null() & pl.col("profile").is_null()
    assigned = profiles.assigned()
    frame = ports.with_columns(
        pl.when(is_observed).then("observe: " + pl.col("observe")).otherwise(assigned).alias("profile_used"),
        pl.when(is_observed).then(assigned).alias("goals_of"),
        pl.when(is_observed).then("observe").alias("files"),
        size_column().alias("size"),
    )
    digests: list[str | None] = [None] * frame.height
    refusals: list[str | None] = [None] * frame.height
    questions: dict[str, Question] = {}
    counts: dict[str, int] = {}
    observations = Observations(FileReader(Store(None, lambda _line: None)) if reader is None else reader)
    observations.read(
        frame.filter(is_observed).select("observe", "rate_bps", "port").unique(maintain_order=True).iter_rows()
    )
    numbered = frame.with_row_index("row")
    for (name, files, goals_of), part in numbered.group_by(["profile_used", "files", "goals_of"], maintain_order=True):
        profile = profiles.profiles.get(str(name))
        if profile is not None and files is None:
            profile.check_ports(ports, part)
        # Columns that no placeholder uses do not make questions differ.
        columns = () if profile is None else profile.columns
        if files is not None:
            columns = ("port", "queue", "rate_bps")
        keys = list(dict.fromkeys((*columns, "goals", "size", "platform")))
        for values, rows in part.group_by(keys, maintain_order=True):
            port = dict(zip(keys, values, strict=True))
            numbers = rows["row"].to_list()
            try:
                if files is not None:
                    ruled = None if goals_of is None else profiles.profiles.get(str(goals_of))
                    goals = None if ruled is None else ruled.tables.get("goal")
                    profile = observations.profile(str(files), port["rate_bps"], port["port"], goals)
                question = _question(None if name is None else str(name), profile, profiles, port)
            except InputError as error:
                for number in numbers:
                    refusals[number] = str(error)
                continue
            digest = question.digest
            questions[digest] = question
            counts[digest] = counts.get(digest, 0) + len(numbers)
            for number in numbers:
                digests[number] = digest
    added = [
        pl.Series("question", digests, dtype=pl.String),
        pl.Series("refusal", refusals, dtype=pl.String),
    ]
    return Asked(frame.drop("size", "files", "goals_of").with_columns(added), questions, counts)


def _question(name: str | None, profile: Profile | None, profiles: Profiles, port: Mapping[str, Any]) -> Question:
    """The question of equal ports; an `InputError` has the reason why there is none."""
    if name is None:
        raise InputError("the port names no profile, and no rule applies to it")
    if profile is None:
        raise InputError(profiles.unknown(name))
    if port["size"] is None:
        known = ", ".join(DEFAULTS)
        raise InputError(f"the port has no buffer; allowed: a size, or a platform with a documented default ({known})")
    question = Question(profile.filled(port, port["goals"]), Size.parse(port["size"]))
    try:
        check_filled(question.at(question.size), profile.path)
    except InputError as error:
        is_of_goals = port["goals"] and error.text.startswith(f"{profile.path}: goal.")
        raise InputError(f"{error}; the goals of the port are `{port['goals']}`") if is_of_goals else error from None
    return question
