"""The gauges of an audit in the text format of Prometheus."""

from __future__ import annotations

import re

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from forebay.fleets.prometheus import prometheus_text

#: A sample of the exposition format: the name, quoted labels, and a number.
SAMPLE = re.compile(
    r'(?P<name>[a-z_]+)\{(?P<labels>(?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\} (?P<value>NaN|[-+.e0-9]+)'
)
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\[\\"n])*)"')
MEANING = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
#: A name with control characters, and what `sanitize` writes in place of one.
HOSTILE = st.text(st.sampled_from('a\\xu0219ert\n\r\t\x00\x1b\x85\u061c\u2028\u202e\u2066\ufeff"'), max_size=9)


def gauges(names: list[str]) -> list[str]:
    """The label `device` of each port with one of these names, as a reader of the format sees it."""
    port = {"port": "eth0", "service_class": None, "margin": 1.0, "verdict": "fine"}
    bounds = {"margin_low": None, "margin_high": None}
    text = prometheus_text(pl.DataFrame([{"device": name, **port, **bounds} for name in names]))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u2028-\u202e\u2066-\u2069\ufeff]", text)
    samples = [dict(LABEL.findall(line)) for line in text.split("\n")[2:-1]]
    return [re.sub(r"\\.", lambda at: MEANING[at[0]], sample["device"]) for sample in samples]


@given(st.lists(HOSTILE, unique=True, min_size=1, max_size=20))
def test_names_with_control_characters_are_visible_and_stay_different(names: list[str]) -> None:
    assert len(set(gauges(names))) == len(names)


def test_a_control_character_is_written_as_its_number() -> None:
    names = ["a\u202eb", "a\\u202eb", "a\rb", "a\nb", "a\\b", "Zürich"]
    assert gauges(names) == ["a\\u202eb", "a\\\\u202eb", "a\\rb", "a\nb", "a\\b", "Zürich"]


#: Names without control characters, and without what stands for one.
NAMES = st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Cn", "Zl", "Zp"])).filter(
    lambda name: re.search(r"\\[xurt]", name) is None
)


@given(
    st.lists(
        st.tuples(NAMES, NAMES, st.none() | NAMES, st.none() | st.floats(1e-6, 1e6)),
        max_size=9,
    )
)
def test_each_port_is_one_sample_whose_labels_read_back(rows: list[tuple[str, str, str | None, float | None]]) -> None:
    kinds = {
        "device": pl.String, "port": pl.String, "service_class": pl.String, "margin": pl.Float64, "verdict": pl.String,
        "margin_low": pl.Float64, "margin_high": pl.Float64,
    }  # fmt: skip
    ports = pl.DataFrame([(*row, "fine", None, None) for row in rows], schema=kinds, orient="row")
    lines = prometheus_text(ports).removesuffix("\n").split("\n")
    assert [line[:6] for line in lines[:2]] == ["# HELP", "# TYPE"]
    assert len(lines) == 2 + len(rows)
    for line, (device, port, service_class, margin) in zip(lines[2:], rows, strict=True):
        found = SAMPLE.fullmatch(line)
        assert found, line
        labels = {
            name: re.sub(r"\\.", lambda at: MEANING[at[0]], value) for name, value in LABEL.findall(found["labels"])
        }
        classed = {"service_class": service_class or ""}
        assert labels == {"device": device, "port": port, **classed, "verdict": "fine", "bound": ""}
        assert (found["value"] == "NaN") == (margin is None)
        assert margin is None or float(found["value"]) == margin


def test_the_classes_of_a_port_are_samples_of_their_own() -> None:
    classes = [None, "voice", "data"]
    port = {"device": "a", "port": "eth0", "margin": 2.0, "verdict": "fine", "margin_low": 1.0, "margin_high": 4.0}
    ports = pl.DataFrame([{**port, "service_class": each} for each in classes])
    samples = [line for line in prometheus_text(ports).splitlines() if not line.startswith("#")]
    assert len(set(samples)) == len(classes)


def test_a_bound_is_named_as_one() -> None:
    ends = {"": (1.0, 4.0), "at_least": (2.0, None), "at_most": (None, 2.0)}
    port = {"device": "a", "port": "eth0", "service_class": None, "margin": 2.0, "verdict": "fine"}
    ports = pl.DataFrame([{**port, "margin_low": low, "margin_high": high} for low, high in ends.values()])
    samples = [line for line in prometheus_text(ports).splitlines() if not line.startswith("#")]
    assert [dict(LABEL.findall(line))["bound"] for line in samples] == list(ends)
