"""Engines that run in real time: what their reports say of the machine, who may ask them, and how long that takes."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from decimal import Decimal

import pytest
from rich.console import Console

from forebay import ForebayError, InputError, Report, Scenario, UnavailableError, UntrustedError, _core, errors
from forebay.plain import plain
from forebay.report import Cost, Lateness
from forebay.views.reports import report_view
from forebay.warning import Kind

from .conftest import ROOT, SMALL

LATE = Lateness(p50_s=12e-6, p99_s=90e-6, p999_s=210e-6, max_s=3e-3, frozen_s=2.1e-3, freezes=3)


def core(lateness: Lateness | None) -> _core.Report:
    """What an engine in real time would have answered: a run of the packet engine whose machine was so late."""
    scenario = Scenario.parse(SMALL)
    kept = scenario.run(replications=1).core.kept()
    if lateness is not None:
        values = {name: format(Decimal(repr(value)), "f") for name, value in dataclasses.asdict(lateness).items()}
        told = ",".join(f'"{name}":{value}' for name, value in values.items())
        kept = re.sub(r'("peak_rss_bytes":\d+)', rf'\1,"lateness":{{{told}}}', kept)
        remark = f'["late","lateness",{{"frozen_s":{values["frozen_s"]},"p999_s":{values["p999_s"]}}},"it was late"]'
        kept = kept.replace('"warnings":[]},"remarks":[]', f'"warnings":["it was late"]}},"remarks":[{remark}]')
    restored = _core.Report.restored(kept)
    assert restored is not None
    return restored


# Reports -----------------------------------------------------------------------------------------------------------


def test_a_report_says_how_late_the_machine_was() -> None:
    report = Report(core(LATE))
    assert report.cost.lateness == LATE
    assert json.loads(report.to_json())["cost"]["lateness"] == dataclasses.asdict(LATE)
    assert plain(report.cost) == report.to_dict()["cost"]
    late = next(warning for warning in report.warnings if warning.kind is Kind.LATE)
    assert (late.subject, late.values) == ("lateness", {"frozen_s": 2.1e-3, "p999_s": 210e-6})
    again = Report.of(json.loads(report.to_json()))
    assert again.cost == report.cost


def test_a_report_of_before_has_none() -> None:
    report = Report(core(None))
    assert report.cost.lateness is None
    assert "lateness" not in report.to_json()
    assert "lateness" not in plain(report.cost)
    assert Cost.of(plain(report.cost)) == report.cost


def test_of_several_runs_the_worst_is_told_and_what_was_frozen_adds_up() -> None:
    later = dataclasses.replace(LATE, p50_s=11e-6, p99_s=95e-6, freezes=1, frozen_s=1e-3)
    found = Report.over([Report(core(LATE)), Report(core(None)), Report(core(later))]).cost.lateness
    assert found == Lateness(12e-6, 95e-6, 210e-6, 3e-3, pytest.approx(3.1e-3), 4)


def test_run_prints_how_late_the_machine_was() -> None:
    def printed(lateness: Lateness | None) -> str:
        console = Console(width=200, file=io.StringIO(), record=True)
        console.print(report_view(Report(core(lateness)), Scenario.parse(SMALL), "small"))
        return console.export_text()

    told = "lateness 12.0 µs p50, 90.0 µs p99, 210 µs p99.9; clock frozen 3 times, 2.10 ms"
    assert told in printed(LATE)
    assert "210 µs p99.9; clock never frozen\n" in printed(dataclasses.replace(LATE, freezes=0, frozen_s=0.0))
    assert "lateness" not in printed(None)


# Errors ------------------------------------------------------------------------------------------------------------


def test_a_machine_that_cannot_and_a_run_that_is_not_believed_have_their_own_errors() -> None:
    assert (UnavailableError.exit_code, UntrustedError.exit_code) == (2, 1)
    for kind in (UnavailableError, UntrustedError):
        assert issubclass(kind, ForebayError)
        assert not issubclass(kind, InputError)


def test_every_error_that_rust_raises_is_one_of_python() -> None:
    """Rust looks them up by name when it raises one, which may be rarely."""
    code = (ROOT / "crates" / "python" / "src" / "errors.rs").read_text(encoding="utf-8")
    named = re.findall(r"import_exception!\(forebay\.errors, (\w+)\)", code)
    assert {"UnavailableError", "UntrustedError"} <= set(named)
    assert all(issubclass(getattr(errors, name), ForebayError) for name in named)
