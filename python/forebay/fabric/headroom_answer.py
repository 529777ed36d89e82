"""The answer of `forebay.headroom`: a model's sum or a table's row, with what holds for every model beside it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from forebay.fabric.headroom_sum import HeadroomPart
from forebay.fabric.table_answer import TableAnswer
from forebay.results.serialization import to_jsonable

__all__ = ["Headroom", "HeadroomProfile"]


@dataclass(frozen=True, slots=True)
class HeadroomProfile:
    """The values that another published calculation gives for the same port, in bytes."""

    name: str
    xon: int
    xoff: int
    size: int | None


@dataclass(frozen=True, slots=True)
class Headroom:
    """The headroom of a PFC priority group: the answer of `forebay.headroom`.

    Attributes
    ----------
    model : str
        "sonic-mellanox", "sonic-barefoot", "sonic-vs", "mlx5", "ieee", or "table".
    device : str or None
        Name of the ASIC, such as "spectrum-4", or of the table's file.
    release : str or None
        SONiC release whose calculation was used.
    rate_bps, cable_m, mtu, lossless_mtu : number
        The port: bits per second, meters, bytes.
    xon, xoff : int
        Occupancy at which the peer may resume, and headroom after the pause frame; in bytes.
    size : int or None
        Reserved memory in bytes; None if a table does not show it. `table.size_unknown` has the reason.
    parts : tuple of HeadroomPart
        The terms; all of them add up to `size`.
    rounding : int
        Bytes that rounding up wastes.
    round_trip_bytes : float
        Bytes on the cable in both directions.
    physical_minimum : int
        Bytes that arrive whatever the device is: the cable in both directions and two frames.
    source : str
        Published calculation, or the table.
    assumptions : tuple of str
        Values that the arguments did not give.
    warnings : tuple of str
        Reasons not to trust the answer.
    others : tuple of HeadroomProfile
        Other published calculations for the same port.
    formula : Headroom or None
        With a table: the answer of the model beside it.
    table : TableAnswer or None
        With a table: the row or the fit, and the findings on the table.
    """

    model: str
    device: str | None
    release: str | None
    rate_bps: int
    cable_m: float
    mtu: int
    lossless_mtu: int
    xon: int
    xoff: int
    size: int | None
    parts: tuple[HeadroomPart, ...]
    rounding: int
    round_trip_bytes: float
    physical_minimum: int
    source: str
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    others: tuple[HeadroomProfile, ...] = ()
    formula: Headroom | None = None
    table: TableAnswer | None = None

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain dictionaries and lists, `xon`, `xoff` and `size` first."""
        names = [name for name in self.__slots__ if name not in ("xon", "xoff", "size")]
        return {name: to_jsonable(getattr(self, name)) for name in ("xon", "xoff", "size", *names)}

    def to_json(self, indent: int | None = None) -> str:
        """Return it as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

    def __str__(self) -> str:
        size = "unknown" if self.size is None else f"{self.size:,} B"
        return f"xoff {self.xoff:,} B, xon {self.xon:,} B, size {size}"
