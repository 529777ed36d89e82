"""Every target of the fuzzer over every file of its corpus, without a fuzzer; and damage of a byte at a time."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from forebay.errors import ForebayError, InputError, UnsupportedError
from forebay.sanitize import LONGEST, sanitize
from tests.attacks import campaign
from tests.attacks.laws import ACTING, check_sentence
from tests.attacks.mutation import Mutation
from tests.attacks.targets import TARGETS
from tests.support.paths import ROOT

CORPORA = ROOT / "fuzz" / "corpus"
CASES = [(name, path) for name in TARGETS for path in sorted((CORPORA / name).glob("*"))]


@pytest.mark.parametrize(("name", "path"), CASES, ids=[f"{name}-{path.name}" for name, path in CASES])
def test_what_the_fuzzer_found_stays_mended(name: str, path: Path) -> None:
    TARGETS[name].feed(path.read_bytes())


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", TARGETS)
def test_damage_of_a_byte_breaks_no_law(name: str) -> None:
    files = sorted((CORPORA / name).glob("*"))
    assert len(files) >= 5, files
    for number, path in enumerate(files):
        original = path.read_bytes()
        step = 1 + len(original) // 3
        for at in range(number % step, len(original), step):
            for change in (b'"', b"\n", b"\xff", b"9", b"\x1b", b""):
                TARGETS[name].feed(original[:at] + change + original[at + 1 :])
            TARGETS[name].feed(original[:at])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", TARGETS)
def test_damage_of_words_lines_and_numbers_breaks_no_law(name: str) -> None:
    mutation = Mutation.of(CORPORA / name)
    for seed in range(400):
        TARGETS[name].feed(mutation.change(mutation.corpus[seed % len(mutation.corpus)], seed))


def test_a_mutation_is_repeated_by_its_seed_and_changes_something() -> None:
    mutation = Mutation([b"limit 10 packets\nrate 5mbit", b"burst 3"])
    text = mutation.corpus[0]
    changed = {mutation.change(text, seed) for seed in range(200)}
    assert len(changed) > 100
    assert mutation.change(text, 7) == mutation.change(text, 7)
    assert any(b"burst" in each for each in changed)
    assert any(b"99999999999999999999" in each for each in changed)
    assert mutation.change(b"", 3) is not None


@pytest.mark.parametrize("kind", [ForebayError, InputError, UnsupportedError])
@pytest.mark.parametrize("text", ["a\nb", "\x1b[31m", "\u202eab", "x" * 10**6, "\n" * 10**5, "plain – ≥ µ"])
def test_an_error_is_a_sentence_whatever_was_found(kind: type[ForebayError], text: str) -> None:
    check_sentence(str(kind(text)))
    assert sanitize(sanitize(text)) == sanitize(text)
    assert ("plain" in text) == (str(kind(text)) == text)
    named = InputError(text, "over")
    check_sentence(str(named))
    assert str(named).startswith("over: ")
    assert named.text == sanitize(text)
    assert not ACTING.search(named.text)
    assert len(sanitize(text)) < LONGEST + 50


# The campaign -------------------------------------------------------------------------------------------------------

RUST = [path.stem for path in sorted((ROOT / "fuzz" / "fuzz_targets").glob("*.rs"))]


def test_every_target_has_a_corpus_and_is_documented() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    registry = (ROOT / "crates" / "attack" / "src" / "lib.rs").read_text(encoding="utf-8")
    manifest = (ROOT / "fuzz" / "Cargo.toml").read_text(encoding="utf-8")
    assert {path.name for path in CORPORA.iterdir()} == {*RUST, *TARGETS}
    for name in [*RUST, *TARGETS, campaign.SCENARIOS]:
        assert f"`{name}`" in text, name
    for name in RUST:
        assert f'name = "{name}"' in manifest
        assert name == "runs" or f'name: "{name}"' in registry
    size = sum(path.stat().st_size for path in CORPORA.rglob("*") if path.is_file())
    assert size < 600_000, "a corpus is small: cargo fuzz cmin, tmin"


def fuzzed(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> campaign.Outcome:
    monkeypatch.setattr(campaign, "OUT", tmp_path)
    monkeypatch.setattr(campaign, "ROOT", tmp_path)
    return campaign._fuzzed("cell", ([sys.executable, "-c", script], "repeat %s"), 1)


def test_what_a_fuzzer_says_is_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quiet = (
        "print('#7 NEW cov: 12 ft: 3'); print('#9 DONE   cov: 34 ft: 9'); print('stat::number_of_executed_units: 99')"
    )
    assert fuzzed(quiet, tmp_path, monkeypatch) == campaign.Outcome("cell", 99, 34)
    found = f"print('Test unit written to {tmp_path}/cell-crash-1'); raise SystemExit(77)"
    assert fuzzed(found, tmp_path, monkeypatch).findings == ("repeat cell-crash-1",)
    # A target that ends without an input is a finding, too: out of memory, or a fuzzer that does not start.
    assert len(fuzzed("raise SystemExit(1)", tmp_path, monkeypatch).findings) == 1


def test_a_finding_is_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert campaign._summary([campaign.Outcome("cell", 5, None)]) == 0
    assert campaign._summary([campaign.Outcome("cell", 5, None), campaign.Outcome("table", 5, 3, ("again",))]) == 1
    assert "table: again" in capsys.readouterr().out
    assert campaign._summary([]) == 2
    assert campaign.main(["--only", "cell,cells"]) == 2
    assert "ONLY=cells; allowed: " in capsys.readouterr().err
