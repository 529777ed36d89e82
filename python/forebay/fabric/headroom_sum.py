"""The result of every headroom model: parts that add up to `xoff`, `xon` and `size`.

Models compute in floating point, as the programs that they follow do. `SumBuilder` turns their terms into whole bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["HeadroomPart", "HeadroomSum", "SumBuilder", "Term", "bytes_text"]

#: The value that a part belongs to. `size` is the sum of all parts.
Target = Literal["xoff", "xon", "size"]


@dataclass(frozen=True, slots=True)
class HeadroomPart:
    """A term of the sum.

    Attributes
    ----------
    name : str
        Cause of the bytes, such as "cable, both directions".
    bytes : int
        Whole bytes. The parts are rounded so that they add up exactly. A part of `size` is negative for memory that
        the device holds outside of the size.
    of : str
        "xoff", "xon", or "size" for a part that only the size has.
    formula : str
        The calculation with its numbers.
    source : str
        Standard, program or table that the term comes from.
    is_rounding : bool
        Whether the part only rounds up to a unit of the device, and so wastes its bytes.
    """

    name: str
    bytes: int
    of: Target
    formula: str
    source: str
    is_rounding: bool = False


@dataclass(frozen=True, slots=True)
class HeadroomSum:
    """The values of one model, in bytes, with their parts.

    Attributes
    ----------
    xoff : int
        Headroom: bytes that may arrive after the port has sent the pause frame.
    xon : int
        Occupancy of the priority group at which the peer may resume.
    size : int or None
        Memory that the port reserves for the priority group; None if a table does not show it.
    parts : tuple of HeadroomPart
        The terms; all of them add up to `size`.
    """

    xoff: int
    xon: int
    size: int | None
    parts: tuple[HeadroomPart, ...]

    @property
    def rounding(self) -> int:
        """The bytes that rounding up wastes."""
        return sum(part.bytes for part in self.parts if part.is_rounding)


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a sum before it is rounded: its bytes may have a fraction."""

    name: str
    amount: float
    formula: str
    source: str
    is_rounding: bool = False


@dataclass(slots=True)
class SumBuilder:
    """Collects terms, and rounds them to whole bytes so that they add up."""

    parts: list[HeadroomPart] = field(default_factory=list)

    def add(self, target: Target, terms: list[Term], total: int, unit: str, source: str) -> None:
        """Add the terms of one value; the last part rounds their sum to `total`.

        Parameters
        ----------
        target : str
            The value that the terms belong to.
        terms : list of Term
            Terms in the order of the sum.
        total : int
            The value that the published calculation gives.
        unit : str
            Unit of the rounding, such as "1 KiB".
        source : str
            Source of the rounding.
        """
        exact, whole = 0.0, 0
        for term in terms:
            exact += term.amount
            rounded = round(exact) - whole
            whole += rounded
            self.parts.append(HeadroomPart(term.name, rounded, target, term.formula, term.source, term.is_rounding))
        if total != whole:
            name, formula = f"rounding of {target}", f"up to a multiple of {unit}"
            if total < whole:
                formula = f"{unit}, rounded down"
            self.parts.append(HeadroomPart(name, total - whole, target, formula, source, is_rounding=total > whole))

    def result(self, xoff: int, xon: int, size: int | None) -> HeadroomSum:
        """The sum, after a check that its parts add up."""
        for target, total in (("xoff", xoff), ("xon", xon)):
            assert sum(part.bytes for part in self.parts if part.of == target) == total, target
        assert size is None or sum(part.bytes for part in self.parts) == size >= 0
        return HeadroomSum(xoff, xon, size, tuple(self.parts))


def bytes_text(amount: float) -> str:
    """Bytes for a reader, with at most one decimal: "9,100 B"."""
    return f"{amount:,.1f}".removesuffix(".0") + " B"
