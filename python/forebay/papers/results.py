"""The numbers of a figure's runs, for its claims and drawings.

In a claim's `measure`:

    value("RUN", "METRIC", buffer=20)      one cell: one number per replication
    curve("RUN", "METRIC", buffer=[20, 100])   several cells: cells x replications; without settings all of them
    across("RUN", "buffer")                the axis' numbers, cells x 1
    recorded("RUN", "QUANTITY", buffer=20) a quantity of `forebay.papers.quantities` of a recording
    report("RUN", "METRIC", buffer=20)     a metric of a recording's report
    compared("RUN", "QUANTITY", "buffer", 18, 500)  the same from two recordings that differ in one setting
    exact("MODEL", "QUANTITY", ...)        a closed form
    modeled("RUN", "MODEL", "QUANTITY", rtts=[a, b], capacity_pps=C)   a fixed point at a sweep's buffers

An axis has the last part of its key as its name; METRIC is a column of the sweep, as in "utilization" or
"group.goodput_bps". `least`, `largest`, `average`, `furthest` (from zero) and `spread` reduce over cells,
`nearest(curve, number)` takes one, `slope(x, y)` fits a line over them and `misfit(x, y)` is the distance from it,
`crossing(buffers, curve, level)` is the smallest buffer from which a rising curve stays above a level,
`interpolate(x, curve, place)` the mean curve between its cells, `mean(curve)` averages over replications.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from forebay._core import split_quantity
from forebay.engines import is_exact
from forebay.errors import ForebayError, InputError
from forebay.papers import quantities
from forebay.papers.claims import Claim, Measured, Verdict, judge
from forebay.papers.expression import evaluate
from forebay.papers.running import Recording, folder_of, recordings, scenario_of
from forebay.results.serialization import to_jsonable
from forebay.sweeps.manifest import Manifest

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from forebay.papers.catalog import Run

__all__ = ["Results"]


def _number(text: str) -> float | None:
    """The leading number of "20p" or "2Gbps"."""
    split = split_quantity(text)
    return None if split is None else split[0]


def same_setting(setting: str, required: Any) -> bool:
    """Whether a setting such as "20p" equals an expression's 20, or "hstcp" equals "hstcp"."""
    if isinstance(required, str):
        return setting == required or f'kind = "{required}"' in setting
    number = _number(setting)
    return number is not None and math.isclose(number, float(required), rel_tol=1e-9)


class Results:
    """The results of the runs of one paper.

    Parameters
    ----------
    out : Path
        The gallery's folder.
    runs : mapping of str to Run
    failed : mapping
        Reason of each failed run, by "paper/run".
    left_out : collection of str
        Runs that only the full version has.
    """

    def __init__(
        self,
        out: Path,
        runs: Mapping[str, Run],
        failed: Mapping[str, str] | None = None,
        left_out: Collection[str] = (),
    ) -> None:
        self._out = out
        self._runs = runs
        self._failed = failed or {}
        self._left_out = left_out
        self._frames: dict[str, pl.DataFrame] = {}
        self._used: set[str] = set()

    # Sweeps -------------------------------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether a run is part of this version; the coarse one leaves out long runs."""
        return name in self._runs

    def run(self, name: str) -> Run:
        """A run by its name."""
        if name in self._left_out:
            raise ForebayError(f"run `{name}` takes too long for the coarse version; the full one has it")
        if name not in self._runs:
            raise InputError(f"found run `{name}`; allowed: {', '.join(self._runs)}")
        self._used.add(name)
        run = self._runs[name]
        trouble = self._failed.get(f"{run.paper}/{name}")
        if trouble is not None:
            raise ForebayError(f"run `{name}` failed: {trouble}")
        return run

    def rows(self, name: str) -> pl.DataFrame:
        """All rows of a sweep, one per cell and replication."""
        from forebay.sweeps.sweeping import load

        run = self.run(name)
        if name not in self._frames:
            self._frames[name] = load(folder_of(self._out, run)).sort("cell", "replication")
        return self._frames[name]

    def curve(self, name: str, metric: str, **settings: Any) -> NDArray[np.float64]:
        """A metric over the cells with these settings: cells x replications."""
        import polars as pl

        chosen = self._chosen(self.rows(name), settings, name)
        if metric not in chosen.columns:
            raise InputError(f"run `{name}`: found metric `{metric}`; allowed: {', '.join(chosen.columns)}")
        parts = chosen.select("cell", pl.col(metric).cast(pl.Float64)).partition_by("cell", maintain_order=True)
        if not parts:
            raise InputError(f"run `{name}`: found no cell with {settings}")
        fewest = min(part.height for part in parts)
        return np.array([part[metric].to_numpy()[:fewest] for part in parts])

    def value(self, name: str, metric: str, **settings: Any) -> NDArray[np.float64]:
        """A metric of the one cell with these settings: one number per replication."""
        found = self.curve(name, metric, **settings)
        if len(found) != 1:
            raise InputError(f"run `{name}`: found {len(found)} cells with {settings}; allowed: exactly one")
        row: NDArray[np.float64] = found[0]
        return row

    def across(self, name: str, axis: str, **settings: Any) -> NDArray[np.float64]:
        """The numbers of an axis over the cells with these settings: cells x 1."""
        chosen = self._chosen(self.rows(name), settings, name)
        column = self._axis(chosen.columns, axis, name)
        parts = chosen.partition_by("cell", maintain_order=True)
        return np.array([[_number(str(part[column][0])) or 0.0] for part in parts])

    def _axis(self, columns: list[str], axis: str, name: str) -> str:
        found = [column for column in columns if column.startswith("axis.") and column.rpartition(".")[2] == axis]
        if len(found) != 1:
            known = ", ".join(c.removeprefix("axis.") for c in columns if c.startswith("axis."))
            raise InputError(f"run `{name}`: found axis `{axis}`; allowed: {known}")
        return found[0]

    def _chosen(self, frame: pl.DataFrame, settings: Mapping[str, Any], name: str) -> pl.DataFrame:
        import polars as pl

        for axis, required in settings.items():
            column = self._axis(frame.columns, axis, name)
            several = required if isinstance(required, list | tuple) else [required]
            texts = [str(text) for text in frame[column].unique().to_list()]
            keep = [text for text in texts if any(same_setting(text, one) for one in several)]
            frame = frame.filter(pl.col(column).cast(pl.String).is_in(keep))
        return frame

    def modeled(
        self,
        name: str,
        model: str,
        quantity: str,
        *,
        rtts: Sequence[float],
        flows: int = 10,
        capacity_pps: float,
        **settings: Any,
    ) -> NDArray[np.float64]:
        """A fixed point of ten flows, RTTs evenly spread, at a sweep's buffers: cells x 1."""
        sizes = self.across(name, "buffer", **settings).reshape(-1)
        return np.array([[fixed_point(model, quantity, size, capacity_pps, rtts, flows)] for size in sizes])

    # Recordings ---------------------------------------------------------------------------------------------------

    def recordings(self, name: str, **settings: Any) -> list[Recording]:
        """The recordings with these settings, in the order of replications."""
        run = self.run(name)
        found = []
        for recording in recordings(self._out, run):
            mine = {key.rpartition(".")[2]: text for key, text in recording.settings}
            if all(key in mine and same_setting(mine[key], required) for key, required in settings.items()):
                found.append(recording)
        if not found:
            raise InputError(f"run `{name}`: found no recording with {settings}")
        return found

    def _split(self, name: str, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Settings of axes, and options of the quantity."""
        axes = {axis.partition("=")[0].rpartition(".")[2] for axis in self.run(name).over}
        return (
            {key: value for key, value in options.items() if key in axes},
            {key: value for key, value in options.items() if key not in axes},
        )

    def recorded(self, name: str, quantity: str, **options: Any) -> NDArray[np.float64]:
        """A quantity of each recording: one number per replication."""
        settings, rest = self._split(name, options)
        function = quantities.ONE.get(quantity)
        if function is None:
            raise InputError(f"found quantity `{quantity}`; allowed: {', '.join(quantities.ONE)}")
        return np.array([function(recording, **rest) for recording in self.recordings(name, **settings)])

    def compared(
        self, name: str, quantity: str, axis: str, first: Any, second: Any, **options: Any
    ) -> NDArray[np.float64]:
        """A quantity of two recordings of the same replication that differ in one setting."""
        settings, rest = self._split(name, options)
        function = quantities.TWO.get(quantity)
        if function is None:
            raise InputError(f"found quantity `{quantity}`; allowed: {', '.join(quantities.TWO)}")
        one = self.recordings(name, **settings, **{axis: first})
        two = self.recordings(name, **settings, **{axis: second})
        return np.array([function(a, b, **rest) for a, b in zip(one, two, strict=True)])

    def reported(self, name: str, metric: str, **settings: Any) -> NDArray[np.float64]:
        """A metric of each recording's report: one number per replication."""
        found = [recording.report().metrics[metric].mean for recording in self.recordings(name, **settings)]
        return np.array(found, dtype=float)

    # Claims -------------------------------------------------------------------------------------------------------

    def judge(self, claim: Claim) -> Verdict:
        """Measure a claim's quantity and compare."""
        if claim.measure is None:
            return judge(claim, None)
        self._used = set()
        try:
            found = np.asarray(evaluate(claim.measure, self.functions()), dtype=float)
        except (ForebayError, ArithmeticError, TypeError, ValueError) as error:
            return judge(claim, None, str(error))
        if found.ndim > 1:
            if found.shape[0] != 1:
                raise InputError(f"expression `{claim.measure}`: found {found.shape[0]} cells; allowed: one number")
            found = found[0]
        if not np.all(np.isfinite(found)):
            return judge(claim, None, "some replications gave no number")
        return judge(claim, self._measured(found.reshape(-1)))

    def _measured(self, numbers: NDArray[np.float64]) -> Measured:
        from forebay.results.statistics import mean_interval

        if numbers.size == 1:
            exact = all(self._exact(name) for name in self._used)
            return Measured(float(numbers[0]), 0.0 if exact else None)
        interval = mean_interval(numbers)
        return Measured(interval.mean, (interval.high - interval.low) / 2)

    def _exact(self, name: str) -> bool:
        """Whether a run has nothing random: a closed form."""
        return is_exact(self._runs[name].engine)

    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions that expressions may call."""
        return {
            "value": self.value,
            "curve": self.curve,
            "across": self.across,
            "recorded": self.recorded,
            "compared": self.compared,
            "report": self.reported,
            "exact": _exact,
            "modeled": self.modeled,
            "interpolate": interpolate,
            "furthest": furthest,
            "least": lambda found: np.min(found, axis=0),
            "largest": lambda found: np.max(found, axis=0),
            "average": lambda found: np.mean(found, axis=0),
            "spread": lambda found: np.max(found, axis=0) - np.min(found, axis=0),
            "slope": slope,
            "misfit": misfit,
            "nearest": nearest,
            "crossing": crossing,
            "mean": lambda found: np.mean(found, axis=-1, keepdims=True),
            "abs": np.abs,
            "log": np.log,
            "log10": np.log10,
        }

    def limits(self, name: str) -> dict[str, Any]:
        """The resolved scenario of a run."""
        return dict(scenario_of(self.run(name)).resolved)

    def manifest(self, name: str) -> dict[str, Any]:
        """The manifest of a run's sweep."""
        found: dict[str, Any] = to_jsonable(Manifest.read(folder_of(self._out, self.run(name))))
        return found


def _exact(model: str, quantity: str, **parameters: Any) -> float:
    from forebay import models

    return float(np.asarray(models.call(model, quantity, **parameters)).reshape(-1)[0])


def fixed_point(
    model: str, quantity: str, buffer: float, capacity_pps: float, rtts: Sequence[float], flows: int = 10
) -> float:
    """Barman's fixed points at a buffer that waits: the system holds one packet more."""
    from forebay import models

    parameters: dict[str, Any] = {"capacity_pps": capacity_pps, "system_capacity": buffer + 1}
    if model == "barman-red":
        parameters |= {"min_threshold": 0.4 * buffer, "max_threshold": buffer, "max_probability": 0.1}
    found = models.call(model, quantity, rtts_s=np.linspace(rtts[0], rtts[1], flows), **parameters)
    return float(found.reshape(-1)[0])


def furthest(difference: Any) -> NDArray[np.float64]:
    """The size of a difference at the cell where its mean is largest, one number per replication."""
    numbers = np.asarray(difference, float)
    means = numbers.mean(axis=-1)
    at = int(np.argmax(np.abs(means)))
    found: NDArray[np.float64] = np.sign(means[at]) * numbers[at]
    return found


def interpolate(x: Any, curve: Any, place: Any) -> NDArray[np.float64]:
    """A curve's mean over replications at places between its cells, one per replication of the places."""
    found: NDArray[np.float64] = np.interp(
        np.asarray(place, float), np.asarray(x, float).reshape(-1), np.asarray(curve, float).mean(axis=-1)
    )
    return found


def slope(x: Any, y: Any) -> NDArray[np.float64]:
    """Slope of the least-squares line over cells, one per replication."""
    heights = np.asarray(y, float)
    places = np.asarray(x, float).reshape(-1, *(1,) * (heights.ndim - 1)) + np.zeros_like(heights)
    from_mean = places - places.mean(axis=0)
    found: NDArray[np.float64] = (from_mean * (heights - heights.mean(axis=0))).sum(axis=0) / (from_mean**2).sum(axis=0)
    return found


def nearest(curve: Any, number: float) -> NDArray[np.float64]:
    """The cell whose mean is nearest to a number, one per replication."""
    heights = np.asarray(curve, float)
    found: NDArray[np.float64] = heights[int(np.argmin(np.abs(heights.mean(axis=-1) - number)))]
    return found


def misfit(x: Any, y: Any) -> NDArray[np.float64]:
    """Root mean square distance of the cells from their least-squares line, one per replication."""
    heights = np.asarray(y, float)
    places = np.asarray(x, float).reshape(-1, *(1,) * (heights.ndim - 1))
    line = heights.mean(axis=0) + slope(x, y) * (places - places.mean(axis=0))
    found: NDArray[np.float64] = np.sqrt(((heights - line) ** 2).mean(axis=0))
    return found


def crossing(buffers: Any, curve: Any, level: float) -> NDArray[np.float64]:
    """Smallest buffer from which a curve stays above a level, linear between the cells; NaN if it never does."""
    places, heights = np.broadcast_arrays(np.asarray(buffers, float), np.asarray(curve, float))
    found = np.full(heights.shape[-1], np.nan)
    for replication in range(heights.shape[-1]):
        x, y = places[:, replication], heights[:, replication]
        below = np.flatnonzero(y < level)
        if below.size == 0:
            found[replication] = x[0]
        elif below[-1] + 1 < x.size:
            at = int(below[-1])
            share = (level - y[at]) / (y[at + 1] - y[at]) if y[at + 1] > y[at] else 1.0
            found[replication] = x[at] + share * (x[at + 1] - x[at])
    return found
