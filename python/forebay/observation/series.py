"""A quantity over time, and how fine the input that it is of can tell it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Series"]


@dataclass(frozen=True, slots=True)
class Series:
    """Means over bins of equal width.

    Attributes
    ----------
    start_s : float
        Beginning of the first bin, in seconds of the input's clock.
    bin_s : float
        Width of a bin in seconds.
    values : ndarray
        Mean of each bin.
    resolution_s : float
        Resolution of the input: averages over shorter times are not measured.
    unit : str
        Unit of the values.
    """

    start_s: float
    bin_s: float
    values: NDArray[np.float64]
    resolution_s: float
    unit: str

    def averaged(self, width_s: float) -> NDArray[np.float64]:
        """Means over whole windows of at least a width, from the first on; empty where none is whole."""
        each = max(1, ceil(width_s / self.bin_s - 1e-9))
        count = self.values.size // each
        windows: NDArray[np.float64] = self.values[: count * each].reshape(count, each)
        return np.asarray(windows.mean(axis=1))
