"""The promises of the last release hold: its scenarios are read, its answers' places are filled, its names exist.

`docs/reference/versions.md` states the promises. `python -m tests.support.surface` writes them to `tests/released` at a
release.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from forebay import Scenario
from tests.support.paths import ROOT
from tests.support.schema_examples import MOST_ITEMS, documents, examples
from tests.support.surface import RELEASED, answers, names, schema, shape

RELEASED_SCHEMA: dict[str, Any] = json.loads((RELEASED / "scenario.schema.json").read_text(encoding="utf-8"))
PUBLIC = "forebay"


def test_the_record_is_that_of_the_last_release() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (newest, *_) = re.findall(r"^## (\d\S*) ", changelog, re.MULTILINE)
    assert (RELEASED / "version.txt").read_text(encoding="utf-8").strip() == newest, "python -m tests.support.surface"


# Scenarios -------------------------------------------------------------------------------------------------------
def test_every_document_of_the_released_schema_is_valid_today() -> None:
    today = Draft202012Validator(schema())
    corpus = documents(RELEASED_SCHEMA)
    assert len(corpus) > 3000
    assert [document for document in corpus if not today.is_valid(document)] == []


def test_every_released_scenario_is_read_today() -> None:
    texts = (RELEASED / "scenarios.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(texts) > 1000
    for text in texts:
        Scenario.parse(text, "json")


def _nodes(part: Any) -> Iterator[dict[str, Any]]:
    """Every schema within a schema."""
    if isinstance(part, dict):
        if {"type", "anyOf", "oneOf", "enum", "const", "$ref"} & set(part) and not isinstance(part.get("type"), dict):
            yield part
        for key, what in part.items():
            if key not in ("default", "enum", "const", "required"):
                yield from _nodes(what)
    elif isinstance(part, list):
        for what in part:
            yield from _nodes(what)


def _narrower(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Changes of a part, each of which allows fewer documents."""
    words, properties, needed = node.get("enum", []), node.get("properties", {}), node.get("required", [])
    if len(words) > 1:
        yield {"enum": words[:-1]}
    for key, by in (("maximum", -1), ("maxItems", -1), ("minimum", 1)):
        if key in node:
            yield {key: node[key] + by}
    if "pattern" in node:
        yield {"pattern": node["pattern"].replace("|", "!", 1) if "|" in node["pattern"] else "^never$"}
    for key in [key for key in properties if key not in needed][:1]:
        yield {"required": [*needed, key]}
    if properties:
        yield {"properties": dict(list(properties.items())[:-1]), "required": []}
    if node.get("type") == "string" and not {"pattern", "enum"} & set(node):
        yield {"type": "integer"}


def _longest_lists(document: dict[str, Any]) -> list[int]:
    return [node["maxItems"] for node in _nodes(document) if node.get("maxItems", 0) > MOST_ITEMS]


def test_no_long_list_is_bounded_more_closely() -> None:
    """The examples leave them out."""
    released, today = _longest_lists(RELEASED_SCHEMA), _longest_lists(schema())
    assert len(today) >= len(released) > 0
    assert min(today) >= max(released)


def test_the_examples_of_a_part_show_whatever_makes_it_narrower() -> None:
    """One change at a time, at every part of the real schema: words gone, bounds closer, keys gone or required."""
    definitions = RELEASED_SCHEMA["$defs"]
    changes = [(node, change) for node in _nodes(RELEASED_SCHEMA) for change in _narrower(node)]
    assert len(changes) > 400
    hidden = []
    for node, change in changes:
        if node.get("maxItems", 0) > MOST_ITEMS:
            continue
        narrow = Draft202012Validator({**node, **change, "$defs": definitions})
        if all(narrow.is_valid(example) for example in examples(node, definitions)):
            hidden.append(change)
    assert hidden == []


# Answers ---------------------------------------------------------------------------------------------------------
def _released_answers() -> dict[str, dict[str, set[str]]]:
    found: dict[str, dict[str, set[str]]] = {}
    for line in (RELEASED / "answers.txt").read_text(encoding="utf-8").splitlines():
        name, answer = line.split(": ", 1)
        place, kind = answer.rsplit(" ", 1)
        found.setdefault(name, {}).setdefault(place, set()).add(kind)
    return found


def _allowed(place: str, kinds: set[str]) -> set[str]:
    """The kinds of a place; a half width is a number or null in every release, null if the runs are too few."""
    return kinds | {"nothing"} if place.endswith(".half_width") else kinds


def test_every_place_of_the_released_answers_is_there_and_of_the_same_kind(tmp_path: Path) -> None:
    released = _released_answers()
    today = answers(tmp_path)
    assert set(released) <= set(today)
    for name, places in released.items():
        found: dict[str, set[str]] = {}
        for place, kind in today[name]:
            found.setdefault(place, set()).add(kind)
        assert sorted(set(places) - set(found)) == [], f"{name}: places that are gone"
        other = {place: found[place] - _allowed(place, kinds) for place, kinds in places.items()}
        other = {place: kinds for place, kinds in other.items() if kinds}
        assert other == {}, f"{name}: unexpected kinds"


def test_the_shape_of_an_answer_is_its_places_and_kinds() -> None:
    answer = {"a": [{"b": 1}, {"b": None, "c": "x"}], "goals": {"utilization": {"met": True}}, "d": 0.5}
    assert set(shape(answer)) == {
        ("", "table"), ("a", "list"), ("a[]", "table"), ("a[].b", "number"), ("a[].b", "nothing"), ("a[].c", "text"),
        ("goals", "table"), ("goals.*", "table"), ("goals.*.met", "truth"), ("d", "number"),
    }  # fmt: skip


# Names -----------------------------------------------------------------------------------------------------------
def test_every_released_name_is_there() -> None:
    released: dict[str, list[str]] = json.loads((RELEASED / "names.json").read_text(encoding="utf-8"))
    today = names()
    assert sorted(set(released) - set(today)) == []
    for name, parts in released.items():
        assert sorted(set(parts) - set(today[name])) == [], name


def test_parameters_that_are_new_have_a_default_and_old_ones_keep_their_place() -> None:
    released: dict[str, list[str]] = json.loads((RELEASED / "names.json").read_text(encoding="utf-8"))
    functions = 0
    for name, old in released.items():
        if not name.startswith(f"{PUBLIC}.") or not old:
            continue
        value = getattr(importlib.import_module(PUBLIC), name.removeprefix(f"{PUBLIC}."))
        if inspect.isclass(value):
            continue
        functions += 1
        parameters = inspect.signature(value).parameters
        for each in parameters.values():
            variable = each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
            assert each.name in old or variable or each.default is not each.empty, f"{name}: {each.name}"
        by_place = [each for each in parameters if parameters[each].kind is parameters[each].POSITIONAL_OR_KEYWORD]
        assert by_place[: len([each for each in old if each in by_place])] == [each for each in old if each in by_place]
    assert functions >= 5
