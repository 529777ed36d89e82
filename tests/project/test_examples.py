"""Each verb of the Python interface has an example, and every example prints what its docstring says."""

from __future__ import annotations

import doctest
import inspect
import tempfile
from pathlib import Path

import pytest

import forebay

#: Verbs of the package, and the methods of a scenario that begin every program.
VERBS = {name: value for name in forebay.__all__ if inspect.isfunction(value := getattr(forebay, name))} | {
    "Scenario.load": forebay.Scenario.load,
    "Scenario.run": forebay.Scenario.run,
}
#: Examples that need the network namespaces of a kernel; tests/measurement/test_emulate.py has them.
SKIPPED = {"emulate"}
#: Examples of more than a few seconds.
LONG = {"feasible_map"}


def _examples(name: str) -> list[doctest.Example]:
    documentation = inspect.getdoc(VERBS[name]) or ""
    return doctest.DocTestParser().get_examples(documentation)


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=pytest.mark.long if each in LONG else ()) for each in [*VERBS, "forebay"]]
)
def test_the_example_of_a_verb_prints_what_it_says(name: str) -> None:
    examples = doctest.DocTestParser().get_examples(forebay.__doc__ or "") if name == "forebay" else _examples(name)
    assert examples, "no example"
    skipped = [each for each in examples if each.options.get(doctest.SKIP)]
    assert (name in SKIPPED) == bool(skipped)
    assert any(each.want for each in examples), "no output"
    globs = {"forebay": forebay, "tempfile": tempfile, "Path": Path}
    results = doctest.DocTestRunner().run(doctest.DocTest(examples, globs, name, None, 0, None))
    assert results.failed == 0
