"""The shares of htb's and hfsc's classes as classes of a scenario: weights, priorities, and unsupported rules.

Sources: tc-htb(8), tc-hfsc(7) and tc-hfsc(8) of iproute2; net/sched/sch_htb.c and sch_hfsc.c of Linux. A class of htb
always gets its own rate. The rest goes to the lowest `prio`, in turns of `quantum`, up to the `ceil`. Classes of hfsc
share by their link-share curves, and each gets at least its real-time curve.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Literal

from forebay.configuration.quantities import rate_text
from forebay.errors import InputError

__all__ = ["Division", "Leaf", "Part", "divide", "filled"]

#: Relative difference up to which shares count as equal to the weights.
CLOSE = Fraction(1, 50)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A class with a queue of its own.

    Attributes
    ----------
    name : str
        Its handle, or what its script calls it.
    floor : Fraction
        Bits per second that it has at any time.
    ceiling : Fraction or None
        Bits per second that it may have; None for as many as the link has.
    turn : Fraction
        Its part of what is left, against those of the others.
    level : int
        Its place among those that are asked to take what is left; the lowest is the first.
    first : bool
        Whether its packets go before those of the others as far as its ceiling goes.
    """

    name: str
    floor: Fraction
    ceiling: Fraction | None
    turn: Fraction
    level: int = 0
    first: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A leaf as a class of a scenario: its weight, or its priority."""

    leaf: Leaf
    weight: float
    priority: bool


@dataclass(frozen=True, slots=True)
class Division:
    """Parts in the order of the classes, and what a scenario does not have."""

    parts: tuple[Part, ...]
    unsimulated: tuple[str, ...]


def divide(kind: Literal["htb", "hfsc"], leaves: Sequence[Leaf], rate: int) -> Division:
    """The leaves of a link as classes of a scenario.

    Parameters
    ----------
    kind : str
        "htb" or "hfsc".
    leaves : sequence of Leaf
        At least two; the last takes what no filter does.
    rate : int
        Bits per second of the link.

    Raises
    ------
    InputError
        For classes that do not share a link of this rate.
    """
    _check(kind, leaves, Fraction(rate))
    ahead = [leaf for leaf in leaves if leaf.first]
    rest = [leaf for leaf in leaves if not leaf.first]
    needed = sum(_ceiling(leaf, Fraction(rate)) for leaf in ahead) + sum(leaf.floor for leaf in rest)
    if not rest or needed > rate:
        # The others' own rates end the precedence before its ceiling does.
        ahead, rest = [], list(leaves)
    got = dict(zip((leaf.name for leaf in rest), _shares(kind, rest, Fraction(rate)), strict=True))
    least = min(got.values())
    parts = tuple(Part(leaf, float(got.get(leaf.name, least)), leaf in ahead) for leaf in leaves)
    unsimulated = [
        f"{leaf.name}: its ceiling of {rate_text(int(leaf.ceiling))}"
        for leaf in leaves
        if leaf.ceiling is not None and leaf.ceiling < rate
    ]
    if not ahead and any(leaf.first for leaf in leaves):
        names = ", ".join(leaf.name for leaf in leaves if leaf.first)
        unsimulated.append(f"{names}: its precedence up to its own rate, as a priority of a scenario has no end")
    if _differs(kind, rest, Fraction(rate), got):
        unsimulated.append(
            f"what a class leaves: {kind} lends it by its own order; the weights are the shares while all classes "
            "have something to send"
        )
    return Division(parts, tuple(unsimulated))


def _ceiling(leaf: Leaf, rate: Fraction) -> Fraction:
    return rate if leaf.ceiling is None else min(rate, leaf.ceiling)


def _check(kind: str, leaves: Sequence[Leaf], rate: Fraction) -> None:
    """Refuse classes whose rates are not those of parts of one link."""
    requested = sum(leaf.floor for leaf in leaves)
    names = ", ".join(leaf.name for leaf in leaves)
    if requested > rate * (1 + Fraction(1, 1000)):
        raise InputError(
            f"translate: found classes ({names}) with {rate_text(int(requested))} together on a link of "
            f"{rate_text(int(rate))}; allowed: at most the link's rate, as {kind} gives each class its own"
        )
    most = sum(_ceiling(leaf, rate) for leaf in leaves)
    if most <= rate:
        raise InputError(
            f"translate: found classes ({names}) that may send {rate_text(int(most))} together on a link of "
            f"{rate_text(int(rate))}, so that each is a link of its own; allowed: the lines of one of them"
        )


def _shares(kind: str, leaves: Sequence[Leaf], rate: Fraction) -> list[Fraction]:
    """Bits per second of each leaf while all of them have something to send."""
    if kind == "hfsc":
        return filled(rate, [(leaf.turn, leaf.floor, _ceiling(leaf, rate)) for leaf in leaves])
    got = [leaf.floor for leaf in leaves]
    left = rate - sum(got)
    for level in sorted({leaf.level for leaf in leaves}):
        asking = [at for at, leaf in enumerate(leaves) if leaf.level == level]
        room = [(leaves[at].turn, Fraction(0), _ceiling(leaves[at], rate) - got[at]) for at in asking]
        for at, more in zip(asking, filled(left, room), strict=True):
            got[at] += more
            left -= more
    return got


def filled(total: Fraction, wishes: Sequence[tuple[Fraction, Fraction, Fraction]]) -> list[Fraction]:
    """Parts of a total in proportion to turns, each between its least and its most.

    Parameters
    ----------
    total : Fraction
        The available amount; it may exceed the sum of all maxima.
    wishes : sequence of (turn, least, most)
        The least of all together is at most the total.
    """
    ends = {bound / turn for turn, least, most in wishes if turn for bound in (least, max(least, most))}
    before = Fraction(0)
    for end in sorted(ends):
        got = _at(end, wishes)
        if sum(got) >= total:
            low, high = sum(_at(before, wishes)), sum(got)
            part = (total - low) / (high - low) if high > low else Fraction(1)
            return _at(before + (end - before) * max(Fraction(0), part), wishes)
        before = end
    return _at(before, wishes)


def _at(height: Fraction, wishes: Iterable[tuple[Fraction, Fraction, Fraction]]) -> list[Fraction]:
    return [max(least, min(most, height * turn)) for turn, least, most in wishes]


def _differs(kind: str, leaves: Sequence[Leaf], rate: Fraction, got: dict[str, Fraction]) -> bool:
    """Whether two leaves alone share in another proportion than among all."""
    for pair in combinations(leaves, 2):
        free = [Leaf(leaf.name, leaf.floor, None, leaf.turn, leaf.level) for leaf in pair]
        one, other = _shares(kind, free, rate)
        expected = got[pair[0].name] / max(Fraction(1), got[pair[0].name] + got[pair[1].name])
        if abs(one / (one + other) - expected) > CLOSE:
            return True
    return False
