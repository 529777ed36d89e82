"""One row per port: the same port in several files is merged, and contradictions are rejected."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from forebay.fleet.columns import RAW

if TYPE_CHECKING:
    import polars as pl

__all__ = ["full_name", "merged"]

#: Columns on which two files have to agree.
AGREED = ("rate", "platform", "buffer", "queue", "profile", "goals")
#: Columns other than the names of a port, which may differ in case and in length.
_VALUES = tuple(name for name in RAW if name not in ("device", "port"))
#: Short names of interfaces in SNMP's ifName, with those of configurations.
_NAMES = {"gi": "gigabitethernet", "ge": "gigabitethernet", "te": "tengigabitethernet", "tengige": "tengigabitethernet",
          "twe": "twentyfivegige", "fo": "fortygigabitethernet", "fortygige": "fortygigabitethernet",
          "hu": "hundredgige", "hundredgigabitethernet": "hundredgige", "fa": "fastethernet", "et": "ethernet",
          "eth": "ethernet"}  # fmt: skip


def full_name(port: str) -> str:
    """A name of a port for comparisons: Gi0/0/1 and GigabitEthernet0/0/1 are one; xe-0/0/0 stays."""
    found = re.match(r"([A-Za-z]+) ?([0-9].*)$", port)
    if found is None:
        return port.lower()
    kind = found[1].lower()
    return f"{_NAMES.get(kind, kind)}{found[2].lower()}"


def merged(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The ports once each, and rejected rows (file, line, reason).

    A port twice in one file is a duplicate: the first row stays if all are equal, else none does. A port in several
    files has the values of all of them; where two contradict each other, the port is rejected.
    """
    import polars as pl

    names = frame.select(pl.col("port").unique())["port"]
    by_name = {name: full_name(name) for name in names}
    frame = frame.with_columns(
        pl.col("device").str.to_lowercase().alias("_device"),
        pl.col("port").replace_strict(by_name, return_dtype=pl.String).alias("_port"),
    )
    key = ["_device", "_port", "service_class"]
    frame = frame.with_columns(pl.len().over(key).alias("_count"))
    once, several = frame.filter(pl.col("_count") == 1), frame.filter(pl.col("_count") > 1)
    kept: list[dict[str, Any]] = []
    rejected: list[dict[str, Any]] = []
    for group in several.partition_by(key, maintain_order=True) if len(several) else ():
        _merge(group.to_dicts(), kept, rejected)
    columns = [*RAW, "file", "line"]
    single = once.select(columns)
    if kept:
        single = pl.concat([single, pl.DataFrame(kept, schema=single.schema)])
    schema = {"file": pl.String, "line": pl.Int64, "reason": pl.String}
    return single, pl.DataFrame(rejected, schema=schema)


def _merge(rows: list[dict[str, Any]], kept: list[dict[str, Any]], rejected: list[dict[str, Any]]) -> None:
    """Merge the rows of one port."""

    def reject(row: dict[str, Any], reason: str) -> None:
        rejected.append({"file": row["file"], "line": row["line"], "reason": f"{_named(row)}: {reason}"})

    firsts: dict[str, dict[str, Any]] = {}
    again = []
    for row in rows:
        first = firsts.setdefault(row["file"], row)
        if first is not row:
            again.append((row, first))
    if any(row[name] != first[name] for row, first in again for name in _VALUES):
        for row in rows:
            reject(row, "found it twice with other values; allowed: once in a file")
        return
    for row, first in again:
        reject(row, f"found it again, as in line {first['line']}; allowed: once in a file")
    result, contradiction = _joined(list(firsts.values()))
    if not contradiction:
        kept.append({name: value for name, value in result.items() if not name.startswith("_")})
        return
    for row in firsts.values():
        reject(row, contradiction)


def _joined(rows: list[dict[str, Any]]) -> tuple[dict[str, Any], str]:
    """The values of several files together, and the first contradiction between two."""
    result, contradiction = dict(rows[0]), ""
    for row in rows[1:]:
        for name in _VALUES:
            if row[name] is None:
                continue
            if result[name] is None:
                result[name] = row[name]
            elif name in AGREED and not contradiction and _differ(name, result[name], row[name]):
                files = f"{result['file']} and {row['file']}"
                contradiction = f"found `{result[name]}` and `{row[name]}` as {name} in {files}; allowed: one of them"
    return result, contradiction


def _named(row: dict[str, Any]) -> str:
    return f"{row['device']} {row['port']}"


def _differ(name: str, one: str, other: str) -> bool:
    """Whether two texts mean different things; 10Gbps and 10000000kbps are one rate."""
    if name == "rate":
        found = [_bits(one), _bits(other)]
        return None not in found and found[0] != found[1]
    return one != other


def _bits(text: str) -> float | None:
    import polars as pl

    from forebay.fleet.amounts import bits_per_second

    found: float | None = pl.select(bits_per_second(pl.lit(text))).item()
    return found
