"""Documents that use every key and every form which a JSON Schema allows.

The laws of compatibility validate the documents of the released schema with the schema of today, and the reader of
today reads those that the reader of the release accepted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from jsonschema import Draft202012Validator

__all__ = ["MOST_ITEMS", "documents", "examples"]

Schema = Mapping[str, Any]

UNITS = (
    "Mbps", "ms", "p", "", "%", "B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "BDP", "bps", "kbps", "Gbps",
    "Tbps", "s", "ps", "ns", "us", "µs", "min", "h", "d",
)  # fmt: skip
#: Texts that the patterns of quantities and goals allow.
TEXTS = (*(f"1{unit}" for unit in UNITS), ">= 1", "<= 1")
#: Longer lists are left out, because their validation takes seconds.
MOST_ITEMS = 1000
#: The alternatives at the end of a pattern of names.
NAMES = re.compile(r"\(([^()]*)\)\$$")


def documents(schema: Schema) -> list[Any]:
    """The examples of a whole schema that are valid under it, each once."""
    validator = Draft202012Validator(schema)
    texts = dict.fromkeys(json.dumps(example) for example in examples(schema, schema.get("$defs", {})))
    return [document for document in map(json.loads, texts) if validator.is_valid(document)]


def examples(schema: Schema, definitions: Schema) -> Iterator[Any]:
    """Values that a schema allows, the plainest first: each key, branch, word, bound and unit in at least one of them.

    Parameters
    ----------
    schema
        A schema or a part of one, with the keywords that forebay's schema uses.
    definitions
        The schemas that `$ref` names, from `$defs`.
    """
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        yield from examples({**definitions[name], **rest}, definitions)
        return
    for kind in ("oneOf", "anyOf"):
        if kind in schema:
            rest = {key: value for key, value in schema.items() if key != kind}
            for branch in schema[kind]:
                required = [*rest.get("required", []), *branch.get("required", [])]
                yield from examples({**rest, **branch, "required": required}, definitions)
            return
    if "const" in schema or "enum" in schema:
        yield from [schema["const"]] if "const" in schema else schema["enum"]
        return
    kinds = schema.get("type", "object")
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        yield from _OF_KIND[kind](schema, definitions)


def _objects(schema: Schema, definitions: Schema) -> Iterator[dict[str, Any]]:
    properties = schema.get("properties", {})
    if isinstance(other := schema.get("additionalProperties"), Mapping):
        names = examples({"type": "string", **schema.get("propertyNames", {})}, definitions)
        properties = {**properties, **dict.fromkeys(names, other)}
    each = {key: list(examples(value, definitions)) for key, value in properties.items()}
    required_only = {key: each[key][0] for key in schema.get("required", [])}
    yield required_only
    for key, values in each.items():
        for value in values:
            if key not in required_only or value != required_only[key]:
                yield {**required_only, key: value}


def _arrays(schema: Schema, definitions: Schema) -> Iterator[list[Any]]:
    first = [list(examples(part, definitions)) for part in schema.get("prefixItems", [])]
    plain = [values[0] for values in first]
    rest = schema.get("items", True)
    items = list(examples(rest, definitions)) if isinstance(rest, Mapping) else []
    least = schema.get("minItems", len(plain))
    if items:
        plain += [items[0]] * (least - len(plain))
    yield plain
    for number, values in enumerate(first):
        yield from ([*plain[:number], value, *plain[number + 1 :]] for value in values[1:])
    for value in items:
        yield [*plain[: len(first)], *[value] * max(1, least - len(first))]
    if items and schema.get("maxItems", MOST_ITEMS + 1) <= MOST_ITEMS:
        yield [*plain, *[items[0]] * (schema["maxItems"] - len(plain))]


def _strings(schema: Schema, _: Schema) -> Iterator[str]:
    if "pattern" in schema:
        pattern = schema["pattern"]
        names = NAMES.search(pattern)
        texts = [text for text in TEXTS if re.search(pattern, text)]
        yield from texts or (names[1].split("|") if names else ())
    else:
        yield "a"
    if "maxLength" in schema:
        yield "a" * schema["maxLength"]


def _numbers(schema: Schema, _: Schema) -> Iterator[float]:
    least = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
    yield least
    if "maximum" in schema:
        yield schema["maximum"]
    if schema["type"] == "number" and schema.get("maximum", least + 1) > least:
        yield (least + schema.get("maximum", least + 1)) / 2


def _truths(_: Schema, __: Schema) -> Iterator[bool]:
    yield from (False, True)


_OF_KIND = {
    "object": _objects,
    "array": _arrays,
    "string": _strings,
    "integer": _numbers,
    "number": _numbers,
    "boolean": _truths,
}
