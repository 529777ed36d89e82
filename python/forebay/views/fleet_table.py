"""The table of an audit's page: columns of texts that are stored once each, and the numbers of their rows.

The texts of a column are in the order in which the page sorts them, so that the page compares whole numbers only. Ports
with one answer share it: their number in `answers` leads to all that the audit found.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from forebay.fleets.answer import VERDICTS, FleetAnswer
from forebay.fleets.changes import ChangeSet, named_port
from forebay.sanitize import sanitize
from forebay.text.formatting import bandwidth, confidence, duration, exactly, size, value
from forebay.views.fleet_text import ratio

if TYPE_CHECKING:
    import polars as pl

__all__ = ["NONE", "FleetTable", "TableColumn", "fleet_table", "ratio_range"]

#: Bytes of all configuration lines beyond which they stay in the table of ports.
MOST_CONFIG = 2_000_000
#: A buffer in bytes.
IN_BYTES = re.compile(r"[0-9.]+ ?([kMG]i?)?B")
#: The number of a row without a text.
NONE = -1

Show = Callable[[Any], str]


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column.

    Attributes
    ----------
    name, title : str
        Name in the data of the page, and its title for readers.
    kind : str
        "main" for the table on each screen, "wide" for the table on a wide screen alone, "port" for the page of a port.
    texts : tuple of str or None
        The distinct texts in their order; None if the numbers of the rows are what is shown.
    rows : tuple of int
        Number of the text of each port, or of each answer if `of_answer`; -1 for none.
    of_answer : bool
    numeric : bool
        Whether the texts are numbers.
    """

    name: str
    title: str
    kind: str
    texts: tuple[str, ...] | None
    rows: tuple[int, ...]
    of_answer: bool
    numeric: bool

    def to_data(self) -> dict[str, Any]:
        """As the page reads it."""
        return {
            "name": self.name,
            "title": self.title,
            "kind": self.kind,
            "numeric": self.numeric,
            "texts": self.texts,
            "answers" if self.of_answer else "rows": self.rows,
        }


@dataclass(frozen=True, slots=True)
class FleetTable:
    """The table.

    Attributes
    ----------
    columns : tuple of TableColumn
        Columns with at least one text.
    answers : tuple of int
        Number of the answer of each port.
    frame : polars.DataFrame
        The answers: those to change first, then the undecided ones; with the number of ports in `ports`.
    """

    columns: tuple[TableColumn, ...]
    answers: tuple[int, ...]
    frame: pl.DataFrame


def ratio_range(ends: tuple[float | None, float | None]) -> str:
    """An interval of that ratio, with one or both of its ends."""
    low, high = ends
    if low is not None and high is not None:
        return ratio(low) if low == high else f"{ratio(low)} to {ratio(high)}"
    return f"at least {ratio(low)}" if low is not None else "" if high is None else f"at most {ratio(high)}"


#: Columns of the ports: name, title, kind, and the text of a value.
PORTS: tuple[tuple[str, str, str, Show], ...] = (
    ("device", "device", "main", sanitize),
    ("port", "port", "main", sanitize),
    ("service_class", "class", "main", sanitize),
    ("platform", "platform", "wide", sanitize),
    ("buffer", "buffer as configured", "wide", sanitize),
    ("buffer_bytes", "configured", "main", size),
    ("role", "role", "port", sanitize),
    ("mtu_bytes", "MTU", "port", size),
    ("queue", "discipline", "port", sanitize),
    ("file", "file", "port", sanitize),
    ("config", "present configuration", "port", str),
    ("change", "new configuration", "port", str),
)
#: Columns of the answers in the same form.
ANSWERS: tuple[tuple[str, str, str, Show], ...] = (
    ("rate_bps", "rate", "main", lambda rate: exactly(bandwidth(rate))),
    ("verdict", "verdict", "main", str),
    ("needed_bytes", "needed (about)", "main", size),
    ("margin", "configured / needed", "main", ratio),
    ("recommended_bytes", "recommended", "main", size),
    ("delay_ms", "p99 delay", "wide", lambda delay: duration(1e-3 * delay)),
    ("recommended_delay_ms", "recommended p99 delay", "port", lambda delay: duration(1e-3 * delay)),
    ("loss", "loss", "wide", lambda loss: value("loss_rate", loss)),
    ("recommended_loss", "recommended loss", "port", lambda loss: value("loss_rate", loss)),
    ("confidence", "confidence", "wide", lambda share: confidence(share, 0)),
    ("stage", "evidence", "wide", str),
    ("profile_used", "profile", "wide", sanitize),
    ("reason", "reason", "main", sanitize),
    ("notes", "warnings", "port", sanitize),
    ("range", "range of configured / needed", "port", ratio_range),
    ("runs", "runs", "port", lambda runs: f"{runs:,}" if runs else ""),
    ("too_small_in", "too small in year", "wide", lambda year: str(year) if year else "today"),
    ("needed_bytes_then", "needed in that year", "port", size),
    ("enough_until", "enough until year", "port", lambda year: str(year) if year else "today"),
)
#: The order of the table; the columns that other boxes add come last.
ORDER = (
    "device", "port", "service_class", "rate_bps", "verdict", "buffer", "buffer_bytes", "recommended_bytes",
    "needed_bytes", "margin", "delay_ms", "loss", "reason", "too_small_in", "profile_used", "platform", "stage",
    "confidence",
)  # fmt: skip
BOX = "would_do_"


def fleet_table(answer: FleetAnswer, changes: Iterable[ChangeSet] = ()) -> FleetTable:
    """Make the table of an audit, with the new lines of the ports that `changes` has."""
    import polars as pl

    boxes = [name for name in answer.ports.columns if name.startswith(BOX)]
    ports = answer.ports.with_columns(
        pl.struct("margin_low", "margin_high").alias("range"),
        # Without the other end, the needed buffer is only known to be smaller.
        pl.when(pl.col("margin_high").is_not_null()).then("needed_bytes"),
        pl.Series("change", _new_lines(answer, changes), dtype=pl.String),
    )
    shown = [*ANSWERS, *((name, f"would {name.removeprefix(BOX)} do", "wide", sanitize) for name in boxes)]
    shown = [each for each in shown if each[0] in ports.columns]
    keys = ["question", *(name for name, *_ in shown)]
    frame = _ordered(ports.group_by(keys, maintain_order=True).agg(pl.len().alias("ports")), answer)
    numbered = frame.select(keys).with_row_index("answer")
    numbers = ports.select(keys).join(numbered, on=keys, how="left", nulls_equal=True, maintain_order="left")
    columns = [_column(ports[name], title, kind, show) for name, title, kind, show in PORTS if _is_kept(ports[name])]
    columns += [_column(frame[name], title, kind, show, of_answer=True) for name, title, kind, show in shown]
    places = {name: place for place, name in enumerate(ORDER)}
    columns.sort(key=lambda column: places.get(column.name, len(ORDER)))
    columns.append(TableColumn("line", "line", "port", None, _lines(ports["line"]), of_answer=False, numeric=True))
    kept = tuple(map(_apart_from_bytes, (column for column in columns if column.texts is None or any(column.texts))))
    return FleetTable(kept, tuple(numbers["answer"].to_list()), frame)


def _new_lines(answer: FleetAnswer, changes: Iterable[ChangeSet]) -> list[str | None]:
    """The new lines of each port, or the reason why it has none; None for a port that stays as it is."""
    known = {
        (found.device.casefold(), change.port): "\n".join(change.lines) or f"No lines: {sanitize(change.refusal or '')}"
        for found in changes
        for change in found.changes
    }
    names = answer.ports.select("device", "port", "service_class").iter_rows()
    return [known.get((device.casefold(), named_port(port, of_class))) for device, port, of_class in names]


def _apart_from_bytes(column: TableColumn) -> TableColumn:
    """The buffers as configured leave the table if all of them are sizes in bytes, which have a column of their own."""
    is_repeated = column.name == "buffer" and all(map(IN_BYTES.fullmatch, column.texts or ()))
    return dataclasses.replace(column, kind="port") if is_repeated else column


def _lines(column: pl.Series) -> tuple[int, ...]:
    """Numbers of lines, nearly all of which differ."""
    return tuple(column.fill_null(NONE).to_list())


def _is_kept(column: pl.Series) -> bool:
    """Whether a column is small enough for the page."""
    return column.name not in {"config", "change"} or column.drop_nulls().unique().str.len_bytes().sum() <= MOST_CONFIG


def _ordered(frame: pl.DataFrame, answer: FleetAnswer) -> pl.DataFrame:
    """The answers, those to change first at the top, and the fine ones at the end."""
    import polars as pl

    first = {digest: place for place, digest in enumerate(answer.first)}
    last = len(first)
    ranks = {verdict: last + place for place, verdict in enumerate((*VERDICTS[1:], VERDICTS[0]))}
    rank = pl.coalesce(
        pl.col("question").replace_strict(first, default=None, return_dtype=pl.Int64),
        pl.col("verdict").replace_strict(ranks, default=last, return_dtype=pl.Int64),
    )
    return frame.sort(rank, maintain_order=True)


def _column(values: pl.Series, title: str, kind: str, show: Show, *, of_answer: bool = False) -> TableColumn:
    """A column whose texts are in the order of their values."""
    import polars as pl

    name, is_struct = values.name, values.dtype == pl.Struct
    distinct = [tuple(each.values()) if is_struct else each for each in values.unique(maintain_order=True).to_list()]
    present = [each for each in distinct if each is not None]
    key = _key(name, is_text=values.dtype == pl.String, is_struct=is_struct)
    present.sort(key=key)
    # Different values may have one text.
    texts: dict[str, int] = {}
    numbers: dict[Any, int] = {None: NONE}
    for each in present:
        text = show(each)
        numbers[each] = texts.setdefault(text, len(texts)) if text else NONE
    found = values.to_list()
    rows = [numbers[tuple(each.values()) if is_struct else each] for each in found]
    numeric = values.dtype.is_numeric()
    return TableColumn(name, title, kind, tuple(texts), tuple(rows), of_answer, numeric)


def _key(name: str, *, is_text: bool, is_struct: bool) -> Callable[[Any], Any]:
    """The order of the values of a column: verdicts in their own, names by their numbers."""
    if name == "verdict":
        return VERDICTS.index
    if is_struct:
        return lambda ends: tuple((end is not None, end or 0.0) for end in ends)
    return natural if is_text else lambda number: number


def natural(text: str) -> Sequence[tuple[int, str]]:
    """A key that puts eth2 before eth10; texts and numbers alternate in it."""
    parts = re.split("([0-9]+)", text.casefold())
    return [(len(part.lstrip("0")), part.lstrip("0")) if at % 2 else (0, part) for at, part in enumerate(parts)]
