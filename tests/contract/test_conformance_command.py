"""`forebay conformance`: the answer first, exit codes, JSON, the page, and parameters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import forebay
from forebay.contract.answer import TITLES
from forebay.contract.control_checks import CONTROL_CHECKS
from forebay.contract.queue_checks import QUEUE_CHECKS
from forebay.errors import CodeError, InputError
from tests.support.commands import forebay as command

EXAMPLES = Path(__file__).parents[2] / "examples" / "algorithms"
FAULTY = """
import math
from forebay.algorithms import CongestionControl

class Mine(CongestionControl):
    def on_ack(self, ack):
        rest = self.slow_start(ack.acked) if self.cwnd < self.ssthresh else ack.acked
        self.cwnd += math.exp(0.0) * rest / self.cwnd
    def on_congestion_event(self, event):
        self.reduce(event.flight / 2)
"""


def test_the_answer_comes_first_and_fits_80_columns(tmp_path: Path) -> None:
    done = command("conformance", "codel.py:CoDel", "--allow-code", "--out", tmp_path, cwd=EXAMPLES, columns=80)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "codel.py:CoDel passes 9 of 9 checks."
    assert lines[1].startswith("Its speed is ")
    assert max(map(len, lines[:-2])) <= 80
    assert [TITLES[name] for name in QUEUE_CHECKS] == [line[:24].strip() for line in lines[6:14]]
    page = (tmp_path / "conformance.html").read_text(encoding="utf-8")
    assert page.count("<figure>") == 3
    assert 'src="http' not in page
    assert "codel.py:CoDel passes 9 of 9 checks." in page
    assert json.loads((tmp_path / "conformance.json").read_text(encoding="utf-8"))["passed"] is True


def test_a_failure_has_exit_code_1_and_its_line(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FAULTY, encoding="utf-8")
    done = command("conformance", "mine.py:Mine", "--allow-code", "--json", cwd=tmp_path)
    assert (done.code, done.err) == (1, "")
    found = json.loads(done.out)
    assert found["passed"] is False
    assert found["counts"] == {"pass": 12, "fail": 1, "note": 0}
    failed = [each for each in found["checks"] if each["verdict"] == "fail"]
    assert [each["name"] for each in failed] == ["pinned_math"]
    assert failed[0]["reasons"] == ["mine.py:8: math.exp differs between machines."]
    assert [each["name"] for each in found["checks"]] == ["runs", *CONTROL_CHECKS]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["newreno.py:NewReno"], "--allow-code"),
        (["newreno.py:Other", "--allow-code"], "found no class `Other`"),
        (["other.py:NewReno", "--allow-code"], "other.py"),
        (["newreno.py", "--allow-code"], "a file and a class"),
        (["cubic.py:Cubic", "--allow-code", "--set", "beta=2"], "a number from 0 to 1"),
        (["cubic.py:Cubic", "--allow-code", "--set", "bet=0.5"], "did you mean `beta`"),
        (["cubic.py:Cubic", "--allow-code", "--set", "beta"], "--set: found `beta`"),
    ],
)
def test_wrong_input_ends_in_one_line_with_exit_code_2(arguments: list[str], words: str) -> None:
    done = command("conformance", *arguments, cwd=EXAMPLES)
    assert done.code == 2
    assert words in done.err
    assert done.err.count("\n") == 1


def test_nothing_runs_without_consent(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')", encoding="utf-8")
    with pytest.raises(InputError, match="only with your consent"):
        forebay.conformance(f"{path}:Mine")
    assert not (tmp_path / "ran").exists()
    with pytest.raises(CodeError, match="found no class"):
        forebay.conformance(f"{path}:Mine", allow_code=True)
    assert (tmp_path / "ran").exists()


def test_parameters_reach_the_class_and_progress_counts_the_checks() -> None:
    steps: list[tuple[int, int]] = []
    place = str(EXAMPLES / "cubic.py:Cubic")
    found = forebay.conformance(place, {"beta": 0.5}, allow_code=True, progress=lambda *step: steps.append(step))
    assert found["loss"].value == pytest.approx(0.5, abs=0.02)
    assert found.parameters == {"beta": 0.5}
    assert steps[0] == (0, len(CONTROL_CHECKS))
    assert steps[-1] == (len(CONTROL_CHECKS),) * 2
    assert found.curves == ()


def test_a_window_without_bounds_does_not_make_the_checks_endless(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(FAULTY.replace("rest / self.cwnd", "self.cwnd").replace("/ 2", "* 2"), encoding="utf-8")
    found = forebay.conformance(f"{path}:Mine", allow_code=True)
    assert {"loss", "ecn"} <= {each.name for each in found.with_verdict("fail")}
