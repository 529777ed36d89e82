"""forebay's own inventory: a table with one row per port, as CSV, Parquet, JSON or a JSON object a line.

Units are written in the cell or in the name of the column; a number without one is refused, not guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from forebay.configuration.reading import closest
from forebay.errors import InputError
from forebay.fleets.columns import INNER, PORTS, RAW, REQUIRED, columns_of, empty_raw, frame_of
from forebay.fleets.files import FileFault, SourceFile
from forebay.fleets.importers.importer import Found, Importer, Rejection
from forebay.fleets.importers.layouts import fault_of_header
from forebay.fleets.importers.tables import MOST_COLUMNS, header_of, rows_of
from forebay.observation.json_stream import read_objects
from forebay.storage.safe_io import clean

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CSV", "JSON", "PARQUET"]

#: Most rows of a Parquet file, whose rows can be far more than its bytes.
MOST_ROWS = 20_000_000
#: Rows of a JSON file that are held at once.
ROWS = 50_000
CHUNK = 2**20
#: A number without a unit.
NUMBER = r"^[0-9.]+(?:[eE][+-]?[0-9]+)?$"
#: Names that resemble a column and are another thing.
_OTHER = frozenset(("description", "comment", "comments", "label", "site", "location", "vendor", "model"))


def _is_table(file: SourceFile) -> bool:
    table = header_of(file.beginning)
    if table is None:
        return False
    known = {name for name, _ in columns_of(table.names).values()}
    return len(known) >= 2 or bool(known & set(REQUIRED))


def _check_header(names: Sequence[str]) -> list[str]:
    """Refuse a header without the columns that identify a port, or with a misspelled one; tell what is not read."""
    missing = _missing(names)
    if missing is not None:
        shown = ", ".join(clean(name) for name in names[:12])
        raise FileFault(f"found the columns {shown} without `{missing}`; allowed: device, port, rate, ...", 1)
    twice = [name for name in names if name and list(names).count(name) > 1] if len(names) < 1000 else []
    if twice:
        raise FileFault(f"found the column {clean(twice[0])} twice; allowed: once", 1)
    return _unread("columns", _others(names, 1))


def _missing(names: Sequence[str]) -> str | None:
    """The first column that identifies a port and that a header lacks; None if it has both."""
    found = {name for name, _ in columns_of(names).values()}
    return next((name for name in REQUIRED if name not in found), None)


def _others(names: Sequence[str], line: int) -> list[str]:
    """The names that are not read; refuses a misspelled one."""
    known = columns_of(names)
    found = {name for name, _ in known.values()}
    others = [name for place, name in enumerate(names) if place not in known and name.strip()]
    for name in others[:1000]:
        bare = name.strip().lower()
        likely = closest(bare, [each for each in RAW if each not in INNER]) if bare.isalpha() else ""
        if likely and likely not in found and bare not in _OTHER and _is_near(bare, likely):
            raise FileFault(
                f"found the column {clean(name)}; allowed: `{likely}`, if that is meant, or another name", line
            )
    return [name for name in others if name.strip() not in PORTS]


def _unread(kind: str, names: Sequence[str]) -> list[str]:
    """A note on columns or keys that are not read."""
    if not names:
        return []
    shown = ", ".join(clean(name) for name in names[:8]) + (", ..." if len(names) > 8 else "")
    return [f"{kind} that are not read: {shown}"]


def _is_near(one: str, other: str) -> bool:
    """Whether two words differ by one letter that is missing, added, replaced or moved."""
    if one == other:
        return False
    if sorted(one) == sorted(other):
        return True
    short, long = sorted((one, other), key=len)
    if len(short) == len(long):
        return sum(a != b for a, b in zip(one, other, strict=True)) == 1
    return len(long) - len(short) == 1 and any(long[:at] + long[at + 1 :] == short for at in range(len(long)))


def _read_csv(file: SourceFile) -> Found:
    import polars as pl

    table = header_of(file.beginning)
    assert table is not None
    fault = None if _missing(table.names) is None else fault_of_header(table.names)
    if fault is not None:
        raise FileFault(fault, 1)
    notes = _check_header(table.names)
    columns = columns_of(table.names)
    wanted = sorted(columns)
    rejected: list[Rejection] = []
    frames = []
    for part in rows_of(file, table, wanted, rejected):
        cells = list(zip(*part, strict=True))
        texts = {columns[place][0]: list(cells[at]) for at, place in enumerate(wanted)}
        frames.append(_with_units(frame_of({**texts, "line": list(cells[-1])}), columns.values()))
    return Found(pl.concat(frames) if frames else empty_raw(), rejected, notes)


def _with_units(frame: pl.DataFrame, columns: Iterable[tuple[str, str]]) -> pl.DataFrame:
    """The frame with the units of the columns' names after the numbers without one."""
    import polars as pl

    return frame.with_columns(
        pl.when(pl.col(name).str.contains(NUMBER)).then(pl.col(name) + unit).otherwise(pl.col(name)).alias(name)
        for name, unit in columns
        if unit
    )


# JSON and Parquet --------------------------------------------------------------------------------------------------


def _is_json(file: SourceFile) -> bool:
    text = file.beginning.lstrip("\ufeff \t\r\n[")
    if not text.startswith("{"):
        return False
    try:
        _, first = next(read_objects(iter([text.encode()]), file.name))
    except (InputError, StopIteration):
        return False
    names = {name for name, _ in columns_of(first).values()}
    return bool(names & set(REQUIRED)) and len(names) >= 2


def _pieces(file: SourceFile) -> Iterator[bytes]:
    with file.path.open("rb") as source:
        while piece := source.read(CHUNK):
            yield piece


def _read_json(file: SourceFile) -> Found:
    import polars as pl

    rejected: list[Rejection] = []
    frames: list[pl.DataFrame] = []
    part: dict[str, list[Any]] = {name: [] for name in (*RAW, "line")}
    known: dict[tuple[str, ...], dict[str, tuple[str, str]]] = {}
    others: dict[str, None] = {}

    def flush() -> None:
        if part["line"]:
            frames.append(frame_of(part))
            for values in part.values():
                values.clear()

    try:
        for line, row in read_objects(_pieces(file), file.name):
            names = tuple(row)
            if names not in known:
                columns = columns_of(names)
                known[names] = {names[place]: column for place, column in columns.items()}
                others |= dict.fromkeys(_others(names, line))
            try:
                texts = {column: _text(name, row[name], unit) for name, (column, unit) in known[names].items()}
            except ValueError as error:
                rejected.append(Rejection(line, str(error)))
                continue
            for name in RAW:
                part[name].append(texts.get(name))
            part["line"].append(line)
            if len(part["line"]) == ROWS:
                flush()
    except InputError as error:
        # The rest of a damaged file cannot be read; what came before it is used.
        rejected.append(Rejection(None, str(error).removeprefix(f"{file.name}, ")))
    flush()
    return Found(pl.concat(frames) if frames else empty_raw(), rejected, _unread("keys", list(others)))


def _text(name: str, value: Any, unit: str) -> str | None:
    """A value of JSON as the cell of a table."""
    if value is None:
        return None
    if isinstance(value, str):
        return f"{value.strip()}{unit}" if unit and re.match(NUMBER, value.strip()) else value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "; ".join(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name}: found {clean(value)}; allowed: a text or a number")
    try:
        return f"{value!r}{unit}"
    except (ValueError, OverflowError):
        raise ValueError(f"{name}: found an enormous number; allowed: a number of at most 18 digits") from None


def _read_parquet(file: SourceFile) -> Found:
    import polars as pl

    try:
        names = list(pl.read_parquet_schema(file.path))
        if len(names) > MOST_COLUMNS:
            raise FileFault(f"found {len(names):,} columns; allowed: at most {MOST_COLUMNS:,}")
        notes = _check_header(names)
        scan = pl.scan_parquet(file.path, glob=False)
        rows = scan.select(pl.len()).collect().item()
        if rows > MOST_ROWS:
            raise FileFault(f"found {rows:,} rows; allowed: at most {MOST_ROWS:,}")
        columns = columns_of(names)
        frame = scan.select(
            pl.col(names[place]).cast(pl.String, strict=False).alias(name) for place, (name, _) in columns.items()
        ).collect()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, MemoryError) as error:
        raise FileFault(
            f"found a table that cannot be read ({type(error).__name__}); allowed: a Parquet file"
        ) from None
    lines = frame.select(pl.int_range(1, pl.len() + 1).alias("line"))["line"]
    texts: dict[str, Any] = {name: frame[name] for name in frame.columns}
    return Found(_with_units(frame_of({**texts, "line": lines}), columns.values()), [], notes)


_SOURCE = "docs/reference/inventories.md"
CSV = Importer("table (CSV)", _SOURCE, _is_table, _read_csv)
JSON = Importer("table (JSON)", _SOURCE, _is_json, _read_json)
PARQUET = Importer("table (Parquet)", _SOURCE, lambda file: file.is_parquet, _read_parquet)
