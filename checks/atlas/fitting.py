"""A rule fitted to the atlas: for each controller and utilization a floor of packets plus a power law.

The smallest buffer is fitted by b0 + c BDP^p / N^q, by least squares of the logarithms, each weighted by the precision
of its row. Leaving out one rate and round trip after the other tests the fit on links that it has not seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from checks.atlas.judging import Verdict, verdict_on
from forebay.atlas.rows import Row

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[tuple[int], np.dtype[np.float64]]

__all__ = ["Fit", "fitted"]

#: Least error of the logarithm of a buffer: no row counts as known better.
BEST_KNOWN = 0.1
#: Start of the fit, and its bounds: root of the floor, logarithm of the factor, and both powers.
BEGIN = (2.0, 0.0, 0.8, 0.5)
BOUNDS = ((0.0, -20.0, 0.0, 0.0), (10.0, 20.0, 2.0, 2.0))


@dataclass(frozen=True, slots=True)
class Fit:
    """The rule b0 + c BDP^p / N^q for one controller and utilization.

    Attributes
    ----------
    controller : str
    utilization : float
    floor : float
        b0, packets.
    factor, bdp_power, flows_power : float
        c, p and q.
    rows : int
        Number of rows that have a buffer.
    right : float
        Share of them for which the rule is within 20 %.
    unseen : float
        The same, if each link is left out of the fit that judges it.
    """

    controller: str
    utilization: float
    floor: float
    factor: float
    bdp_power: float
    flows_power: float
    rows: int
    right: float = 0.0
    unseen: float = 0.0

    def packets(self, bdp: float, flows: int) -> float:
        """The buffer of the rule, in packets."""
        return self.floor + self.factor * math.pow(bdp, self.bdp_power) / math.pow(flows, self.flows_power)

    def __str__(self) -> str:
        power = f"BDP^{self.bdp_power:.2f} / N^{self.flows_power:.2f}"
        return f"{self.floor:.1f} + {self.factor:.2f} {power}"


def fitted(rows: Iterable[Row], controller: str, utilization: float) -> Fit:
    """Fit the rows of a controller and a utilization, with and without background."""
    known = [
        row
        for row in rows
        if (row.controller, row.utilization) == (controller, utilization) and row.buffer_packets is not None
    ]
    found = _fit(known, controller, utilization)
    unseen = 0
    for link in sorted({(row.rate_bps, row.rtt_s) for row in known}):
        left_out = [row for row in known if (row.rate_bps, row.rtt_s) == link]
        unseen += _right(_fit([row for row in known if row not in left_out], controller, utilization), left_out)
    return replace(found, right=_right(found, known) / len(known), unseen=unseen / len(known))


def _right(fit: Fit, rows: Sequence[Row]) -> int:
    """The number of rows for which the rule is within 20 %."""
    return sum(verdict_on(row, fit.packets(row.bdp_packets, row.flows)) is Verdict.RIGHT for row in rows)


def _fit(rows: Sequence[Row], controller: str, utilization: float) -> Fit:
    import numpy as np
    from scipy.optimize import least_squares

    bdp, flows = (np.array([getattr(row, name) for row in rows], float) for name in ("bdp_packets", "flows"))
    low, high = (np.log([getattr(row, name) for row in rows]) for name in ("low_packets", "high_packets"))
    known = np.maximum((high - low) / 2, BEST_KNOWN)

    def off(place: Floats, /) -> Floats:
        root, factor, bdp_power, flows_power = place
        requested = root**2 + np.exp(factor + bdp_power * np.log(bdp) - flows_power * np.log(flows))
        return np.asarray((np.log(requested) - (low + high) / 2) / known)

    root, factor, bdp_power, flows_power = map(float, least_squares(off, BEGIN, loss="soft_l1", bounds=BOUNDS).x)
    return Fit(controller, utilization, root**2, math.exp(factor), bdp_power, flows_power, len(rows))
