"""Intervals of what is observed: none from fewer than 20 independent samples, in any view, of any quantity."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.observation.arrivals import arrivals
from forebay.observation.estimate import FEWEST_SAMPLES, IntervalEstimate, Unknown, product, ratio, scaled
from forebay.observation.finding import Finding, finding_json
from forebay.observation.intervals import batch_ratio, quantile, share_without_events
from forebay.observation.load import load_of
from forebay.observation.observing import observe
from forebay.observation.queues import Backlogs, queue_limit
from forebay.observation.regime import Regime
from forebay.observation.sample import Sample
from forebay.observation.sizes import mean_of
from forebay.observation.writing import scenario_text
from forebay.views.observation_page import observation_page
from tests.support.observations import made, text_of
from tests.support.packets import pcap

#: An interval in a view: "(97.1 to 99.0)", "97.1 to 99.0 Mb/s from 31 independent samples".
INTERVAL = re.compile(r"\([\d.,]+(?: [^\d\s()]+)? to [\d.,]+|[\d.,]+ to [\d.,]+ ?\S* from [\d,]+ independent")


def estimates_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """All estimates of a finding's JSON."""
    if isinstance(value, dict):
        if {"low", "high", "samples"} <= value.keys():
            yield value
        for each in value.values():
            yield from estimates_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from estimates_in(each)


def check(finding: Finding) -> int:
    """Hold every interval of a finding to the law; how many there are."""
    found = 0
    for each in estimates_in(json.loads(json.dumps(finding_json(finding)))):
        if each["low"] is not None and each["low"] != each["high"]:
            found += 1
            assert each["independent"] >= FEWEST_SAMPLES, each
            assert each["independent"] <= each["samples"] + 1e-9, each
            assert each["source"], each
    return found


def resampled(value: Any, samples: int) -> Any:
    """The same value with `samples` samples behind every estimate."""
    if isinstance(value, IntervalEstimate):
        return dataclasses.replace(value, samples=samples, independent=float(samples))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        values = {each.name: resampled(getattr(value, each.name), samples) for each in dataclasses.fields(value)}
        return dataclasses.replace(value, **values)
    return tuple(resampled(each, samples) for each in value) if isinstance(value, tuple) else value


@pytest.mark.sampled(2)
@pytest.mark.parametrize("samples", [1, 5, FEWEST_SAMPLES - 1, FEWEST_SAMPLES])
def test_no_view_has_an_interval_from_few_samples(samples: int) -> None:
    regime = Regime("elastic", "a test", ())
    finding = dataclasses.replace(made(), load=None, distributions=(), day=None, regime=regime)
    finding = resampled(finding, samples)
    views = (
        text_of(finding, 200),
        re.sub(r"<[^>]+>", " ", observation_page(finding, command="forebay observe", version="0")),
        scenario_text(dataclasses.replace(finding, load=made().load)),
    )
    for view in views:
        interval = INTERVAL.search(view)
        assert (interval is not None) == (samples >= FEWEST_SAMPLES), interval
    assert bool(check(finding)) == (samples >= FEWEST_SAMPLES)
    if samples < FEWEST_SAMPLES:
        assert f"no interval from {samples} independent sample" in views[2]


@given(st.floats(1, 1e9), st.floats(0.01, 0.9), st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_every_way_to_make_an_estimate_keeps_the_law(
    value: float, half: float, first: int, second: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    one, other = (
        IntervalEstimate(value, value * (1 - half), value * (1 + half), "bit/s", "a test", count)
        for count in (first, second)
    )
    series = random.random(first) + 0.5
    lost = 1e4 * series
    limit = queue_limit(Backlogs(0.99 * float(lost.min()), 0.99 * float(lost.min()) / 1000, lost, lost / 1000)).limit
    found = [
        scaled(one, 2.0, "bit/s"),
        ratio(one, other, "a test"),
        product(one, other, 8.0, "bit/s", "a test"),
        batch_ratio(series, np.ones(first), "", "a test"),
        quantile(series, 0.5, "", "a test"),
        share_without_events(first, "a test"),
        mean_of(Sample.of(series), "", "a test"),
        *(each.estimate for each in Sample.of(series).quantiles("", "a test")),
        arrivals(np.cumsum(series), 0.0, float(series.sum()) + 1.0, "a test").rate,
        *([] if isinstance(limit, Unknown) else [limit]),
    ]
    for each in found:
        assert each.low == each.high or each.independent >= FEWEST_SAMPLES or not each.is_bounded, each
    assert ratio(one, other, "").is_bounded == (min(first, second) >= FEWEST_SAMPLES)


def test_windows_that_are_empty_are_no_samples() -> None:
    bins = np.zeros(5000)
    bins[[3, 700, 4100]] = 1500.0
    load = load_of(bins, 0.001, rate=Unknown("rate", "b", "c"), source="")
    assert not load.mean.is_bounded
    assert isinstance(load.hurst, Unknown)
    assert not any(each.index.is_bounded for each in load.burstiness)


def test_windows_of_a_few_ticks_are_left_out() -> None:
    bins = np.full(5000, 1000.0)
    assert [each.scale_s for each in load_of(bins, 0.001, rate=Unknown("r", "b", "c"), source="").scales][:1] == [0.001]
    coarse = load_of(bins, 0.001, rate=Unknown("r", "b", "c"), source="", tick_s=0.001)
    assert 0.001 not in [each.scale_s for each in coarse.scales]
    assert any("a resolution of 1.00 ms" in each for each in coarse.omitted_scales)


@pytest.mark.parametrize("packets", [6, 40, 3000])
def test_a_capture_keeps_the_law(packets: int, tmp_path: Path) -> None:
    random = np.random.default_rng(packets)
    times = np.cumsum(random.exponential(0.004, packets))
    finding = observe([pcap(tmp_path / "port.pcap", ((time, 600) for time in times))])
    intervals = check(finding)
    assert intervals == 0 if packets == 6 else packets == 40 or intervals > 0


def test_counters_keep_the_law(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    for polls in (12, 200):
        counts = np.cumsum(random.integers(10**8, 10**9, polls))
        rows = [f"2026-11-23T{at // 60:02d}:{at % 60:02d}:00Z,{count}" for at, count in enumerate(counts)]
        path = tmp_path / f"{polls}.csv"
        path.write_text("\n".join(["time,ifHCOutOctets", *rows]))
        assert bool(check(observe([path]))) == (polls == 200)
