"""The allowed figures are those of the built-in algorithms: all of them pass, but for known properties of some."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.contract.answer import Verdict
from forebay.contract.conforming import checked
from forebay.contract.trials import Subject, Trials

CONTROLLERS = (
    *("newreno", "cubic", "hstcp", "htcp", "scalable", "aimd", "bbr", "vegas", "westwood", "illinois", "fast"),
    *("dctcp", "bbr3", "prague", "ledbatpp", "bic", "ledbat", "copa", "cdg", "swift"),
)
QUEUES = (
    *("droptail", "red", "pie", "step", "dynamic_threshold", "delay_limit", "codel", "fq_codel", "fq_pie", "cobalt"),
    *("cake", "drr", "stfq", "sfq", "dualpi2", "priority", "drophead", "choke"),
)
#: The checks that an algorithm fails: known properties, as `control_checks` and `queue_checks` say.
FAILURES = {
    "bbr": {"loss", "ecn", "share_cubic", "share_newreno"},
    "bbr3": {"loss", "ecn"},
    "cdg": {"loss"},
    "copa": {"share_cubic", "share_newreno"},
    "swift": {"loss", "fairness"},
    "step": {"marks"},
}


def verdicts(subject: Subject, folder: Path, verdict: Verdict) -> set[str]:
    return {each.name for each in checked(Trials(subject, folder)) if each.verdict == verdict}


@pytest.mark.parametrize("name", CONTROLLERS)
def test_a_built_in_congestion_control_passes(tmp_path: Path, name: str) -> None:
    found = verdicts(Subject(name, "controller", {"kind": name}), tmp_path, "fail")
    assert found == FAILURES.get(name, set())


@pytest.mark.parametrize("name", QUEUES)
def test_a_built_in_queue_discipline_passes(tmp_path: Path, name: str) -> None:
    found = verdicts(Subject(name, "discipline", {"kind": name}), tmp_path, "fail")
    assert found == FAILURES.get(name, set())


def test_bbr_has_a_note_on_its_burst_after_an_idle_time(tmp_path: Path) -> None:
    assert "idle" in verdicts(Subject("bbr", "controller", {"kind": "bbr"}), tmp_path, "note")
    assert "idle" not in verdicts(Subject("cubic", "controller", {"kind": "cubic"}), tmp_path, "note")
