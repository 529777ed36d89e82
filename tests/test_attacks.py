"""Every target of the fuzzer over every file of its corpus, without a fuzzer; and damage of a byte at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.errors import LONGEST, ForebayError, InputError, UnsupportedError, legible
from tests.attacks.laws import ACTING, check_sentence
from tests.attacks.targets import TARGETS
from tests.conftest import ROOT

CORPORA = ROOT / "fuzz" / "corpus"
CASES = [(name, path) for name in TARGETS for path in sorted((CORPORA / name).glob("*"))]


@pytest.mark.parametrize(("name", "path"), CASES, ids=[f"{name}-{path.name}" for name, path in CASES])
def test_what_the_fuzzer_found_stays_mended(name: str, path: Path) -> None:
    TARGETS[name].feed(path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_damage_of_a_byte_breaks_no_law(name: str) -> None:
    files = sorted((CORPORA / name).glob("*"))
    assert len(files) >= 5, files
    for number, path in enumerate(files):
        whole = path.read_bytes()
        step = 1 + len(whole) // 3
        for at in range(number % step, len(whole), step):
            for change in (b'"', b"\n", b"\xff", b"9", b"\x1b", b""):
                TARGETS[name].feed(whole[:at] + change + whole[at + 1 :])
            TARGETS[name].feed(whole[:at])


@pytest.mark.parametrize("kind", [ForebayError, InputError, UnsupportedError])
@pytest.mark.parametrize("text", ["a\nb", "\x1b[31m", "\u202eab", "x" * 10**6, "\n" * 10**5, "plain – ≥ µ"])
def test_an_error_is_a_sentence_whatever_was_found(kind: type[ForebayError], text: str) -> None:
    check_sentence(str(kind(text)))
    assert legible(legible(text)) == legible(text)
    assert ("plain" in text) == (str(kind(text)) == text)
    named = InputError(text, "over")
    check_sentence(str(named))
    assert str(named).startswith("over: ")
    assert named.text == legible(text)
    assert not ACTING.search(named.text)
    assert len(legible(text)) < LONGEST + 50
