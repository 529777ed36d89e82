"""The text of a file is searched for functions that differ between machines and for sources of chance."""

from __future__ import annotations

import pytest

from forebay.contract.static_checks import chance, unpinned
from forebay.errors import CodeError


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import math\nx = math.exp(1)", ["2: math.exp"]),
        ("import math as m\nx = m.log(2) + m.sqrt(2) + m.floor(2.5) + m.inf", ["2: math.log"]),
        ("from math import cbrt, sqrt", ["1: math.cbrt"]),
        ("import numpy as np\nx = np.tanh(1) + np.sqrt(2) + np.mean([1])", ["2: numpy.tanh"]),
        ("from forebay.algorithms.math import exp, pow\nx = exp(1) + pow(2.0, 0.5)", []),
        ("x = pow(2.0, 0.5)", ["1: pow"]),
        ("y = 2.0\nx = y ** 0.5", ["2: **"]),
        ("y = 2.0\nx = y ** 2 + 2**20", []),
        ("y = 2.0\ny **= 3", ["2: **"]),
        ("import forebay.algorithms.math as math\nx = math.exp(1)", []),
        ("from forebay.algorithms import math\nx = math.exp(1)", []),
    ],
)
def test_functions_that_differ_between_machines_are_found(source: str, found: list[str]) -> None:
    assert list(unpinned(source, "mine.py")) == [f"mine.py:{each}" for each in found]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import random", ["1: random"]),
        ("from time import time", ["1: time"]),
        ("import os.path", ["1: os"]),
        ("import numpy as np\nx = np.random.rand()", ["2: numpy.random"]),
        ("x = hash('a') + id(3)", ["1: hash()", "1: id()"]),
        ("for x in {1, 2}: pass", ["1: order of the set `{1, 2}`"]),
        ("flows = set()\nfor x in flows: pass", ["2: order of the set `flows`"]),
        ("flows = set()\nfor x in sorted(flows): pass", []),
        ("flows = set()\nx = list(flows)", ["2: order of the set `flows`"]),
        ("flows = set()\nx = 3 in flows", []),
        ("flows = {}\nfor x in flows: pass", []),
        ("flows = [1]\nflows.pop()", []),
        ("x = self.random.uniform()", []),
    ],
)
def test_sources_of_chance_are_found(source: str, found: list[str]) -> None:
    assert list(chance(source, "mine.py")) == [f"mine.py:{each}" for each in found]


def test_a_file_that_is_no_python_is_refused() -> None:
    with pytest.raises(CodeError, match=r"mine\.py: SyntaxError"):
        unpinned("x = ", "mine.py")
