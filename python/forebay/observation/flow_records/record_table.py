"""Texts of flow records become one typed table; addresses become a keyed hash here and go no further.

The key is drawn for each run and never stored: pairs of addresses can be told apart, but not named.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from forebay.observation.flow_records.clocks import duration_unit, durations, times, unit_of
from forebay.observation.flow_records.names import normalized
from forebay.observation.line_reader import open_input, read_blocks

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ALLOWED", "Reading", "RecordFile", "Source", "Tables", "schema"]

ALLOWED = (
    "flow records: nfdump's csv or json, a table with a header, JSON lines, files of nfcapd, "
    "or export packets of NetFlow or IPFIX"
)

#: Bits of TCP flags by their letters (RFC 9293, section 3.1; RFC 3168).
FLAGS: Mapping[str, int] = {"F": 1, "S": 2, "R": 4, "P": 8, "A": 16, "U": 32, "E": 64, "C": 128}
#: Protocol numbers (IANA) that exporters write as names.
PROTOCOLS: Mapping[str, int] = {
    **{"icmp": 1, "igmp": 2, "ipip": 4, "tcp": 6, "udp": 17, "ipv6": 41, "gre": 47, "esp": 50, "ah": 51},
    **{"icmp6": 58, "ipv6-icmp": 58, "icmpv6": 58, "eigrp": 88, "ospf": 89, "pim": 103, "vrrp": 112, "sctp": 132},
    "udplite": 136,
}
#: Largest number of bytes or packets of a record: a terabit per second over a day.
MOST = 10**17


def schema() -> dict[str, pl.DataType]:
    """The columns of a table of flow records; times in seconds, `pair` a hash of both addresses in their order."""
    import polars as pl

    return {
        **{"start_s": pl.Float64(), "end_s": pl.Float64(), "bytes": pl.Int64(), "packets": pl.Int64()},
        **{"protocol": pl.UInt8(), "tcp_flags": pl.UInt8(), "source_port": pl.UInt16(), "target_port": pl.UInt16()},
        **{"pair": pl.UInt64(), "input": pl.UInt32(), "output": pl.UInt32(), "sampling": pl.UInt32()},
    }


@dataclass
class Reading:
    """The state of one run that reads flow records.

    Attributes
    ----------
    key : bytes
        Key of the hash of addresses.
    units : dict
        Seconds per unit of each column of times, as its first rows tell.
    backward : int
        Records that ended before they began.
    unread : int
        Sets of records that came before their template.
    impossible : int
        Exported records with times or bytes that cannot be.
    position : int
        Bytes read of the current file, as packed.
    two_way : bool
        Whether records were connections with both directions, whose column `output` is the direction.
    notes : list of str
        Remarks on the input, one sentence each.
    """

    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    units: dict[str, float] = field(default_factory=dict)
    backward: int = 0
    unread: int = 0
    impossible: int = 0
    position: int = 0
    two_way: bool = False
    notes: list[str] = field(default_factory=list)

    def say(self, note: str) -> None:
        """Keep a remark on the input, once."""
        if note not in self.notes:
            self.notes.append(note)

    def fresh(self) -> None:
        """Begin another file, whose columns may have other units."""
        self.units.clear()
        self.position = 0

    def typed(self, raw: pl.DataFrame, fields: Mapping[str, tuple[str, ...]]) -> pl.DataFrame:
        """Make a table of records of a table of texts, a row each, with null where a text says no such thing.

        Parameters
        ----------
        raw : DataFrame
            Texts, by the names of the file.
        fields : mapping
            Those names by field, as `fields_of` has them.
        """
        import polars as pl

        fields = {name: tuple(each for each in names if each in raw.columns) for name, names in fields.items()}
        whole = {
            "bytes": pl.Int64(), "packets": pl.Int64(), "source_port": pl.UInt16(), "target_port": pl.UInt16(),
            "input": pl.UInt32(), "output": pl.UInt32(), "sampling": pl.UInt32(),
        }  # fmt: skip
        values = {name: _first([_integer(each) for each in fields.get(name, ())], kind) for name, kind in whole.items()}
        # Columns of their own, because expressions would be worked out wherever they are named.
        timed = raw.select(
            start=_first([pl.lit(self._times(each, raw)) for each in fields.get("start", ())], pl.Float64()),
            end=_first([pl.lit(self._times(each, raw)) for each in fields.get("end", ())], pl.Float64()),
            lasting=_first(
                [durations(each, duration_unit(normalized(each))) for each in fields.get("duration", ())], pl.Float64()
            ),
        ).select("end", "lasting", begin=pl.coalesce("start", pl.col("end") - pl.col("lasting")))
        table = raw.select(
            start_s=timed["begin"],
            # Collectors that print whole seconds print durations with their fraction.
            end_s=timed.select(pl.coalesce(pl.col("begin") + pl.col("lasting"), "end")).to_series(),
            **{name: values[name] for name in ("bytes", "packets", "source_port", "target_port", "input", "output")},
            protocol=_first([_protocol(each) for each in fields.get("protocol", ())], pl.UInt8()),
            tcp_flags=_first([_flags(each) for each in fields.get("flags", ())], pl.UInt8()),
            source=_first([_text(each) for each in fields.get("source", ())], pl.String()),
            target=_first([_text(each) for each in fields.get("target", ())], pl.String()),
            sampling=pl.max_horizontal(values["sampling"], pl.lit(1, dtype=pl.UInt32)),
        )
        return self.finished(table)

    def finished(self, table: pl.DataFrame) -> pl.DataFrame:
        """A table of typed columns, with `source` and `target` for the hash that takes their place."""
        import polars as pl

        self.backward += int((table["end_s"] < table["start_s"]).sum())
        until = pl.when(pl.col("end_s").is_not_null()).then(pl.max_horizontal("start_s", "end_s"))
        return self._hashed(table.with_columns(end_s=until)).select(
            pl.col(name).cast(kind, strict=False) for name, kind in schema().items()
        )

    def _times(self, column: str, raw: pl.DataFrame) -> pl.Series:
        unit = self.units.get(column)
        if unit is None:
            unit = unit_of(normalized(column), raw[column])
            if raw[column].null_count() < raw.height:
                self.units[column] = unit
        return times(raw[column], unit)

    def _hashed(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with a hash in the place of its two addresses; null where it has neither."""
        import polars as pl

        pairs = table.select("source", "target").unique()
        hashes = [
            None
            if source is None and target is None
            else int.from_bytes(
                blake2b(f"{source or ''} {target or ''}".encode(), digest_size=8, key=self.key).digest(), "big"
            )
            for source, target in pairs.iter_rows()
        ]
        known = pairs.with_columns(pair=pl.Series(hashes, dtype=pl.UInt64))
        return table.join(known, on=["source", "target"], how="left", nulls_equal=True, maintain_order="left").drop(
            "source", "target"
        )


@dataclass(frozen=True)
class Source:
    """A file of flow records while it is read.

    Attributes
    ----------
    path : Path
        Path of the file.
    pieces : iterator of bytes
        Its content, unpacked.
    """

    path: Path
    pieces: Iterator[bytes]

    @property
    def where(self) -> str:
        """The file, for errors."""
        return str(self.path)


Tables = Callable[[Source, Reading], "Iterator[pl.DataFrame]"]


@dataclass(frozen=True)
class RecordFile:
    """A file of flow records, the name of its format, and the function that reads it."""

    path: Path
    name: str
    tables: Tables

    def read(self, reading: Reading) -> Iterator[pl.DataFrame]:
        """The records of the file, a table at a time.

        Raises
        ------
        InputError
            If the file is of another format, or is damaged.
        """
        reading.fresh()
        with open_input(self.path, ALLOWED) as file:
            for table in self.tables(Source(self.path, read_blocks(file, str(self.path))), reading):
                reading.position = os.lseek(file.fileno(), 0, os.SEEK_CUR)
                yield table


def _first(found: list[pl.Expr], kind: pl.DataType) -> pl.Expr:
    """The first of several expressions that is not null."""
    import polars as pl

    return pl.coalesce(found).cast(kind, strict=False) if found else pl.lit(None, dtype=kind)


def _text(column: str) -> pl.Expr:
    import polars as pl

    text = pl.col(column).str.strip_chars().str.to_lowercase()
    # Records have an address of each family where the other is all zeros.
    return pl.when(~text.is_in(["", "0.0.0.0", "::"])).then(text)


def _integer(column: str) -> pl.Expr:
    """A count that is not negative; "8.0" is how nfdump writes types of ICMP in the place of ports."""
    import polars as pl

    text = pl.col(column).str.strip_chars()
    number = pl.coalesce(
        text.cast(pl.Int64, strict=False), text.cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    )
    return pl.when((number >= 0) & (number <= MOST)).then(number)


def _protocol(column: str) -> pl.Expr:
    import polars as pl

    text = pl.col(column).str.strip_chars().str.to_lowercase()
    number = text.cast(pl.UInt8, strict=False)
    return pl.coalesce(number, text.replace_strict(dict(PROTOCOLS), default=None, return_dtype=pl.UInt8))


def _flags(column: str) -> pl.Expr:
    """A byte of TCP flags: a number, a hexadecimal number, or letters as in "...AP.SF"."""
    import polars as pl

    text = pl.col(column).str.strip_chars().str.to_uppercase()
    number = pl.coalesce(
        text.cast(pl.Int64, strict=False),
        text.str.extract(r"^0X([0-9A-F]{1,4})$").str.to_integer(base=16, strict=False),
    )
    letters = pl.sum_horizontal(
        pl.when(text.str.contains(letter, literal=True)).then(bit).otherwise(0) for letter, bit in FLAGS.items()
    )
    spelled = pl.when(text.str.contains("^[. FSRPAUECN]*$")).then(letters)
    return (pl.coalesce(number, spelled) & 255).cast(pl.UInt8, strict=False)
