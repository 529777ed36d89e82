"""American spelling throughout: no British form in code, messages, comments, documents or file names."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.support.paths import ROOT

#: Beginnings of words that only British English has.
BRITISH = re.compile(
    r"(?:util|synchron|general|optim|minim|maxim|normal|serial|stabil|regular|recogn|uniform|random|organ|initial|summar"
    r"|character|priorit|linear|discret|standard|equal|visual|final)is(?:ation|ed|ing|es?\b)"
    r"|behaviour|colour|neighbour|favour|honour|flavour|centre\b|centred|fibre|catalogue|acknowledgement|judgement"
    r"|artefact|modelled|modelling|labelled|labelling|cancelled|cancelling|travelled|signalled|whilst|learnt|\bgrey",
    re.IGNORECASE,
)
#: Where they stay: spellings that users may write, names in other programs' tables and pages, other people's texts.
KEPT = (
    (r"crates/scenario/(src/text/naming|src/text/tree|tests/all/(scenario|mistakes))\.rs", r""),
    (r"crates/closed_form/", r'named\(|^\s*"[a-z0-9 -]*utilisation[a-z ]*",$'),
    (r"python/forebay/commands/run\.py|tests/released/", r"--fit-synchronisation"),
    (r"checks/(rows|reference_rows)\.py|tests/checks/test_kernel_\w+\.py", r"utilisation_ratio"),
    # Both spellings are understood.
    (r"tests/\w+/test_(several_goals|goals_laws)\.py", r"\"utilisation([<>]=|\")"),
    (r"tests/\w+/test_(words|spelling)\.py|tests/reference/|fuzz/corpus/|LICENSE|Cargo\.lock|docs/images/", r""),
    (r"mkdocs\.yml", r"primary: blue grey$"),  # a name of the theme's
    (r"recovery/fack\.rs", r'1996, "Forward acknowledgement:$'),  # a title as it was printed
    (r"linux/cake\.py", r"\"datacentre\""),  # a word of the command
    (r"lab/", r"aria-labelledby="),  # an attribute's name
    (r"", r"CancelledError|\.cancelled\(|https?://"),
)


def test_spelling_is_american() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    found = []
    for name in filter(None, listed.stdout.split("\0")):
        retained = [what for where, what in KEPT if re.search(where, name)]
        if "" in retained or not (ROOT / name).is_file():
            continue
        if BRITISH.search(name):
            found.append(name)
        try:
            text = Path(ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if not BRITISH.search(text):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if BRITISH.search(line) and not any(re.search(what, line) for what in retained):
                found.append(f"{name}:{number}: {line.strip()[:80]}")
    assert found == []


def test_the_list_sees_british_forms() -> None:
    for word in ("utilisation", "unsynchronised", "behaviour", "centred", "acknowledgements", "Colours", "modelling"):
        assert BRITISH.search(word), word
    for word in ("utilization", "raised", "precise", "promise", "center", "optimistic", "organism", "compromise"):
        assert not BRITISH.search(word), word
