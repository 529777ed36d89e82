"""The faults of `make mutants BY_HAND=1` name text and crates that exist."""

from __future__ import annotations

import pytest

from checks.faults_by_hand import FAULTS, Fault, read_faults
from tests.support.paths import ROOT


@pytest.mark.parametrize("fault", read_faults(), ids=lambda fault: fault.what)
def test_a_fault_changes_text_that_occurs_once(fault: Fault) -> None:
    text = (ROOT / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.before) == 1, f"{FAULTS.name}: `before` occurs {text.count(fault.before)} times"
    assert fault.after != fault.before
    assert (ROOT / "crates" / fault.crate / "Cargo.toml").is_file()


def test_a_crate_selects_the_faults_that_its_tests_should_notice() -> None:
    chosen = read_faults(["fluid"])
    assert chosen
    assert {fault.crate for fault in chosen} == {"fluid"}
    assert len(chosen) < len(read_faults())
