"""Transfers that come and go: an open-loop workload of their sizes and beginnings.

Captures and flow records use it for connections that began and ended within the input.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forebay.observation.arrivals import Arrivals, arrivals
from forebay.observation.estimate import product
from forebay.observation.finding import FittedDistribution, OpenLoop
from forebay.observation.sample import Sample
from forebay.observation.sizes import sizes

__all__ = ["FEWEST_TRANSFERS", "TransferLoad", "describe_transfers"]

#: The fewest transfers whose sizes are worth a distribution.
FEWEST_TRANSFERS = 5


@dataclass(frozen=True)
class TransferLoad:
    """A workload of transfers, the distribution of their sizes, and their beginnings."""

    workload: OpenLoop
    sizes: FittedDistribution
    arrivals: Arrivals


def describe_transfers(
    bytes_: NDArray[np.float64], starts_s: NDArray[np.float64], span_s: tuple[float, float], what: str, source: str
) -> TransferLoad | None:
    """Describe transfers; None if their beginnings have no distribution.

    Parameters
    ----------
    bytes_, starts_s : array of float
        Sizes and beginnings.
    span_s : pair of float
        First and last time of the input.
    what, source : str
        The sized objects, and the origin of the sizes.
    """
    of_size = sizes(Sample.of(np.maximum(bytes_, 1.0)), source)
    of_starts = arrivals(starts_s, *span_s, source)
    if of_starts.gap is None:
        return None
    load = product(of_starts.rate, of_size.mean, 8.0, "bit/s", "their rate times their mean size")
    return TransferLoad(
        OpenLoop(of_size.distribution, of_starts.gap, of_size.why, of_starts.why, load),
        FittedDistribution(what, "byte", of_size.sample, of_size.distribution, of_size.why),
        of_starts,
    )
