"""The warm-up check: silent where the warm-up is long enough, loud where there is none."""

from __future__ import annotations

from forebay import Scenario
from forebay.measurement.warmup import warmup_warnings
from tests.support.scenarios import SMALL


def test_a_long_warmup_passes() -> None:
    text = SMALL.replace('warmup  = "5s"', 'warmup = "30s"').replace('measure = "30s"', 'measure = "120s"')
    assert warmup_warnings(Scenario.parse(text)) == []


def test_a_start_in_the_middle_of_the_run_is_noticed() -> None:
    text = SMALL.replace('processing = "0s"\n', 'processing = "0s"\nstart = "40s"\n')
    text = text.replace('measure = "30s"', 'measure = "120s"')
    warnings = warmup_warnings(Scenario.parse(text))
    assert warnings
    assert all("MSER-5" in warning for warning in warnings)
    assert any("is not steady" in warning or "the warm-up of 5 s is short" in warning for warning in warnings)
