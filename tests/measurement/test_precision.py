"""Sequential stopping reaches what was asked for, and no sooner than it has to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forebay import InputError, Scenario
from forebay.measurement.precision import Precision, run_to_precision
from tests.support.commands import forebay
from tests.support.scenarios import SMALL


@pytest.mark.parametrize(
    ("text", "metric", "relative", "absolute"),
    [
        ("1%", "utilization", 0.01, None),
        ("loss_rate=5%", "loss_rate", 0.05, None),
        ("queue_delay_p99=0.5ms", "queue_delay_p99", None, 0.0005),
        ("bulk.goodput=2kbps", "bulk.goodput", None, 2000.0),
        ("queue_mean = 2p", "queue_mean", None, 2.0),
        ("queue_delay_p99_s=0.001", "queue_delay_p99_s", None, 0.001),
        ("bulk.loss_rate=1e-3", "bulk.loss_rate", None, 0.001),
    ],
)
def test_precisions_parse(text: str, metric: str, relative: float | None, absolute: float | None) -> None:
    assert Precision.parse(text) == Precision(metric, relative, pytest.approx(absolute) if absolute else None)


@pytest.mark.parametrize(
    "text", ["", "x", "0%", "-1%", "loss_rate=", "loss_rate=5furlongs", "loss_rate=5ms", "=1%", "timeouts=3p"]
)
def test_wrong_precisions_are_named(text: str) -> None:
    with pytest.raises(InputError, match=r"^precision: "):
        Precision.parse(text)


def test_half_widths_are_reached() -> None:
    scenario = Scenario.parse(SMALL)
    loose = run_to_precision(scenario, [Precision("background.goodput", 0.05, None)])
    tight = run_to_precision(scenario, [Precision("background.goodput", 0.004, None)])
    assert loose.replications < tight.replications
    for report, required in ((loose, 0.05), (tight, 0.004)):
        group = next(group for group in report.groups if group.name == "background")
        found = group.metrics["goodput_bps"]
        assert found.half_width is not None
        assert found.half_width <= required * found.mean


def test_the_command_stops_when_precise(small: Path) -> None:
    answer = forebay("run", small, "--precision", "background.goodput=0.5%", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["replications"] > 4
    assert forebay("run", small, "--precision", "1%", "--replications", "3").code == 2
    assert forebay("run", small, "--precision", "nonsense=1%").code == 2
