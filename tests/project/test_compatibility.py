"""What the last release promised holds: its scenarios are read, its answers' places are filled, its names are there.

`docs/versions.md` says what is promised. `python -m tests.support.surface` writes it to `tests/released` at a release.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.support.inclusion import narrowings
from tests.support.paths import ROOT
from tests.support.surface import RELEASED, answers, names, schema, shape

RELEASED_SCHEMA: dict[str, Any] = json.loads((RELEASED / "scenario.schema.json").read_text(encoding="utf-8"))
PUBLIC = "forebay"


def test_the_record_is_that_of_the_last_release() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (newest, *_) = re.findall(r"^## (\d\S*) ", changelog, re.MULTILINE)
    assert (RELEASED / "version.txt").read_text(encoding="utf-8").strip() == newest, "python -m tests.support.surface"


# Scenarios -------------------------------------------------------------------------------------------------------
def test_every_scenario_of_the_released_schema_is_one_today() -> None:
    assert narrowings(RELEASED_SCHEMA, schema()) == []


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
    """Changes of a part, each of which lets fewer documents through."""
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


def _wider(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Changes of a part, each of which lets more documents through."""
    if "enum" in node:
        yield {"enum": [*node["enum"], "a word that is new"]}
    for key in ("maximum", "maxItems"):
        if key in node:
            yield {key: node[key] + 1}
    if node.get("pattern", "").endswith("|h|d)$"):
        yield {"pattern": node["pattern"].replace("|d)", "|d|w)")}
    if "properties" in node:
        yield {"properties": {**node["properties"], "a_key_that_is_new": {"type": "string"}}}
    if node.get("required") and "oneOf" not in node and not _tells_branches_apart(node):
        yield {"required": node["required"][:-1]}


def _tells_branches_apart(node: dict[str, Any]) -> bool:
    """Whether what is required is by what a branch of `oneOf` is known."""
    kinds = [node.get("properties", {}).get(key, {}) for key in node["required"]]
    return any({"const", "enum"} & set(kind) for kind in kinds) or "type" not in node


#: Every how manyth change is made: a part in three of several hundred, at all depths.
STRIDE = 3


def _changed(changes: Callable[[dict[str, Any]], Iterator[dict[str, Any]]]) -> Iterator[tuple[str, dict[str, Any]]]:
    parts = enumerate(_nodes(RELEASED_SCHEMA))
    for number, change in [(number, change) for number, node in parts for change in changes(node)][::STRIDE]:
        document = copy.deepcopy(RELEASED_SCHEMA)
        next(itertools.islice(_nodes(document), number, None)).update(change)
        yield f"{number}: {json.dumps(change)[:100]}", document


def test_whatever_makes_the_schema_narrower_is_seen() -> None:
    """One change at a time, at every part of the real schema: words gone, bounds closer, keys gone or required."""
    changed = list(_changed(_narrower))
    assert len(changed) > 100
    assert [what for what, document in changed if not narrowings(RELEASED_SCHEMA, document)] == []


def test_what_makes_the_schema_wider_is_no_alarm() -> None:
    changed = list(_changed(_wider))
    assert len(changed) > 70
    assert [(what, found) for what, document in changed if (found := narrowings(RELEASED_SCHEMA, document))] == []


@pytest.mark.parametrize(
    ("old", "new", "document"),
    [
        ({"type": "integer"}, {"type": "number"}, None),
        ({"type": "number"}, {"type": "integer"}, 0.5),
        ({"enum": ["a"]}, {"type": "string"}, None),
        ({"type": "string"}, {"enum": ["a"]}, "b"),
        ({"type": "string"}, {"oneOf": [{"type": "string"}, {"type": "object"}]}, None),
        ({"type": "string"}, {"oneOf": [{"type": "string"}, {"enum": ["a"]}]}, "a"),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "string"}, 3),
        ({"type": "array", "items": {"type": "string"}},
         {"type": "array", "items": {"type": "string"}, "minItems": 1}, []),
        ({"type": "array", "prefixItems": [{}, {}]},
         {"type": "array", "prefixItems": [{}, {"type": "string"}]}, [1, 2]),
        ({"type": "array", "maxItems": 2, "items": {"type": "string"}},
         {"type": "array", "prefixItems": [{"type": "string"}, {"type": "string"}], "items": False}, None),
        ({"type": "object"}, {"type": "object", "properties": {"a": {"type": "string"}}}, {"a": 1}),
        ({"type": "object"}, {"type": "object", "additionalProperties": False}, {"a": 1}),
        ({"type": "object"}, {"type": "object", "required": ["a"]}, {}),
        ({"type": "object", "required": ["a", "b"]}, {"type": "object", "required": ["a"]}, None),
        ({"type": "object", "additionalProperties": False, "properties": {"a": {}}},
         {"type": "object", "additionalProperties": {"type": "string"}}, {"a": 1}),
        ({"type": "object", "propertyNames": {"pattern": "^(a|b)$"}},
         {"type": "object", "propertyNames": {"pattern": "^(a)$"}}, {"b": 1}),
        ({"minimum": 1}, {"exclusiveMinimum": 0}, None),
        ({"minimum": 0}, {"exclusiveMinimum": 0}, 0),
        ({"type": "string", "pattern": "^(a|b)$"}, {"type": "string", "pattern": "^(a|b|c)$"}, None),
    ],
)  # fmt: skip
def test_the_comparison_is_right_where_one_document_tells(old: Any, new: Any, document: Any) -> None:
    """A document that is valid under the old one alone is what a narrowing means; `None`: there is none."""
    assert bool(narrowings(old, new)) == (document is not None)
    if document is not None:
        assert jsonschema.Draft202012Validator(old).is_valid(document)
        assert not jsonschema.Draft202012Validator(new).is_valid(document)


def test_what_the_comparison_does_not_know_it_says() -> None:
    assert narrowings({"type": "string"}, {"type": "string", "format": "date"}) == [
        ": the comparison does not know format"
    ]


# Answers ---------------------------------------------------------------------------------------------------------
def _released_answers() -> dict[str, dict[str, set[str]]]:
    found: dict[str, dict[str, set[str]]] = {}
    for line in (RELEASED / "answers.txt").read_text(encoding="utf-8").splitlines():
        name, told = line.split(": ", 1)
        place, kind = told.rsplit(" ", 1)
        found.setdefault(name, {}).setdefault(place, set()).add(kind)
    return found


def _allowed(place: str, kinds: set[str]) -> set[str]:
    """The kinds of a place; a half width is a number or null in every release, null where too few runs tell it."""
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
        assert other == {}, f"{name}: kinds that nobody expects there"


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
