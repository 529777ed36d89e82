"""Whether one JSON Schema takes all that another takes, shown by comparing them keyword by keyword.

What cannot be shown is told as a place and a reason: a false alarm is possible, a missed narrowing is not, as a keyword
that is not known here is one. The keywords are those of draft 2020-12 that forebay's schema uses.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator

__all__ = ["narrowings"]

Schema = Mapping[str, Any]

#: What says nothing of which documents are valid.
ANNOTATIONS = {"$schema", "$defs", "title", "description", "default", "examples", "deprecated"}
#: Bounds from below and from above.
LEAST = ("minLength", "minItems", "minProperties", "minimum")
MOST = ("maxLength", "maxItems", "maxProperties", "maximum")
#: What is compared, each below.
KNOWN = {
    "type", "enum", "const", "pattern", "properties", "required", "additionalProperties", "propertyNames", "items",
    "prefixItems", "anyOf", "oneOf", "$ref", "exclusiveMinimum", *LEAST, *MOST,
}  # fmt: skip
#: Of a branch of `oneOf`: the other branches, of which whatever it takes is none.
NONE_OF = "forebay: none of"
#: A pattern with one group of alternatives: what is before, the alternatives, what is behind.
ONE_GROUP = re.compile(r"([^()|]*(?:\((?:[^()|]|\\.)*\)\?)?)\(([^()]*)\)([^()|]*)")


def narrowings(old: Schema, new: Schema) -> list[str]:
    """Where `new` may refuse what `old` takes; none where it takes all of it."""
    return _Comparison(old, new).of(old, new, "")


class _Comparison:
    """Two documents of schemas, for their definitions, and the pairs that are being compared."""

    def __init__(self, old: Schema, new: Schema) -> None:
        self._old, self._new = old, new
        mine, others = old.get("$defs", {}), new.get("$defs", {})
        equal = {name for name in mine if mine[name] == others.get(name)}
        # A definition is the same where all that it refers to is.
        while other := {name for name in equal if not _references(mine[name]) <= equal}:
            equal -= other
        self._equal = equal
        self._told: dict[tuple[str, str], list[str]] = {}

    def of(self, old: Any, new: Any, at: str) -> list[str]:
        """Where the part `new` may refuse what the part `old` takes."""
        names = (_reference(old), _reference(new))
        if names[0] is None or names[1] is None:
            return self._parts(_resolved(old, self._old), _resolved(new, self._new), at)
        pair = (names[0], names[1])
        if pair not in self._told:
            self._told[pair] = []  # what is under way: a reference back to it finds nothing more
            self._told[pair] = self._parts(_resolved(old, self._old), _resolved(new, self._new), at)
        return self._told[pair]

    def _parts(self, old: Schema, new: Schema, at: str) -> list[str]:
        if not set(new) - ANNOTATIONS or (old == new and _references(old) <= self._equal):
            return []
        if unknown := sorted(set(new) - KNOWN - ANNOTATIONS):
            return [f"{at}: the comparison does not know {', '.join(unknown)}"]
        return self._values(old, new, at)

    def _values(self, old: Schema, new: Schema, at: str) -> list[str]:
        values = [old["const"]] if "const" in old else old.get("enum")
        if values is not None:
            validator = Draft202012Validator({**new, "$defs": self._new.get("$defs", {})})
            return [f"{at}: {json.dumps(one)} is no longer taken" for one in values if not validator.is_valid(one)]
        for kind in ("anyOf", "oneOf"):
            if kind in old:
                rest = {key: what for key, what in old.items() if key != kind}
                found = []
                for number, branch in enumerate(old[kind]):
                    one = _both(rest, _resolved(branch, self._old))
                    if kind == "oneOf":
                        others = [other for other in old[kind] if other is not branch]
                        one[NONE_OF] = [*rest.get(NONE_OF, []), *others]
                    found += self.of(one, new, f"{at}/{kind}/{number}")
                return found
        return [*self._keywords(old, new, at), *self._branches(old, new, at)]

    def _branches(self, old: Schema, new: Schema, at: str) -> list[str]:
        """Some branch of `anyOf` and of `oneOf` takes all of it, and of `oneOf` no other takes any."""
        found = []
        for kind in ("anyOf", "oneOf"):
            if kind not in new:
                continue
            told = [self.of(old, branch, f"{at}/{kind}/{number}") for number, branch in enumerate(new[kind])]
            if all(told):
                found.append(f"{at}: no branch of {kind} takes all of it: {min(told, key=len)[0]}")
            elif kind == "oneOf":
                taken = told.index([])
                found += [
                    f"{at}: branches {taken} and {number} of oneOf may both take it"
                    for number, branch in enumerate(new[kind])
                    if number != taken and not self._apart(old, _resolved(branch, self._new))
                ]
        return found

    def _apart(self, old: Schema, branch: Schema) -> bool:
        """Whether nothing that `old` takes is taken by `branch`, as far as that can be seen."""
        types, others = _types(old), _types(branch)
        kinds_apart = types is not None and others is not None and not types & others
        if kinds_apart or any(_resolved(one, self._old) == branch for one in old.get(NONE_OF, [])):
            return True
        if "enum" in branch or "const" in branch:
            values = branch.get("enum", [branch.get("const")])
            validator = Draft202012Validator({**old, "$defs": self._old.get("$defs", {})})
            return not any(validator.is_valid(one) for one in values)
        for first, second in ((old, branch), (branch, old)):
            closed = first.get("additionalProperties") is False
            for key in second.get("required", []):
                if closed and key not in first.get("properties", {}):
                    return True
        closed = all(part.get("additionalProperties") is False and _types(part) == {"object"} for part in (old, branch))
        if closed and not set(old.get("properties", {})) & set(branch.get("properties", {})):
            # Only an empty table could be both, and another branch of the old schema has taken that.
            return any(Draft202012Validator(_resolved(one, self._old)).is_valid({}) for one in old.get(NONE_OF, []))
        both = set(old.get("required", [])) & set(branch.get("required", []))
        words = [[_words(part.get("properties", {}).get(key, {})) for part in (old, branch)] for key in both]
        return any(one and other and not one & other for one, other in words)

    def _keywords(self, old: Schema, new: Schema, at: str) -> list[str]:
        if "enum" in new or "const" in new:
            return [f"{at}: only some values are taken"]
        found = []
        types, others = _types(old), _types(new)
        if others is not None and (types is None or not types <= others):
            found.append(f"{at}: type {new['type']} for {old.get('type', 'any')}")
        for bounds, wider in ((LEAST, min), (MOST, max)):
            for key in bounds:
                if key in new and (key not in old or wider(old[key], new[key]) != new[key]):
                    found.append(f"{at}: {key} {new[key]} for {old.get(key, 'none')}")
        if "exclusiveMinimum" in new:
            bound = new["exclusiveMinimum"]
            if not (old.get("minimum", bound) > bound or old.get("exclusiveMinimum", bound - 1) >= bound):
                found.append(f"{at}: exclusiveMinimum {bound}")
        if "pattern" in new and not _pattern_within(old.get("pattern"), new["pattern"]):
            found.append(f"{at}: pattern {new['pattern']!r} for {old.get('pattern')!r}")
        return [*found, *self._object(old, new, at), *self._array(old, new, at)]

    def _object(self, old: Schema, new: Schema, at: str) -> list[str]:
        types = _types(old)
        if types is not None and "object" not in types:
            return []
        found = [f"{at}: {key} is required" for key in new.get("required", []) if key not in old.get("required", [])]
        mine, others = old.get("properties", {}), new.get("properties", {})
        rest, other_rest = old.get("additionalProperties", True), new.get("additionalProperties", True)
        for key in sorted({*mine, *others}):
            if key not in mine and rest is False:
                continue
            target = others.get(key, other_rest)
            if target is False:
                found.append(f"{at}/{key}: the key is gone")
            else:
                found += self.of(mine.get(key, rest), target, f"{at}/{key}")
        if other_rest is False and rest is not False:
            found.append(f"{at}: other keys are no longer taken")
        elif other_rest not in (True, False) and rest is not False:
            found += self.of(rest, other_rest, f"{at}/*")
        if "propertyNames" in new:
            names = old.get("propertyNames", {})
            if rest is False and "propertyNames" not in old:
                names = {"enum": sorted(mine)}
            found += self.of({"type": "string", **names}, new["propertyNames"], f"{at}/propertyNames")
        return found

    def _array(self, old: Schema, new: Schema, at: str) -> list[str]:
        types = _types(old)
        if types is not None and "array" not in types:
            return []
        first, other_first = old.get("prefixItems", []), new.get("prefixItems", [])
        rest, other_rest = old.get("items", True), new.get("items", True)
        found = []
        for number in range(max(len(first), len(other_first))):
            mine = first[number] if number < len(first) else rest
            if mine is False or number >= old.get("maxItems", number + 1):
                break
            found += self._item(
                mine, other_first[number] if number < len(other_first) else other_rest, f"{at}/{number}"
            )
        listed = max(len(first), len(other_first))
        if rest is not False and old.get("maxItems", listed + 1) > listed:
            found += self._item(rest, other_rest, f"{at}/items")
        return found

    def _item(self, old: Any, new: Any, at: str) -> list[str]:
        return [f"{at}: no longer taken"] if new is False else self.of(old, new, at)


def _resolved(schema: Any, document: Schema) -> Any:
    """A part without references; True becomes the schema that takes everything."""
    if schema is True:
        return {}
    while "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        rest = {key: what for key, what in schema.items() if key != "$ref"}
        schema = _both(rest, document["$defs"][name])
    return schema


def _reference(schema: Any) -> str | None:
    """The name of the definition that a part is, where it is nothing else."""
    if not isinstance(schema, Mapping) or set(schema) - ANNOTATIONS != {"$ref"}:
        return None
    return str(schema["$ref"])


def _references(part: Any) -> set[str]:
    """The names of the definitions that a part refers to."""
    if isinstance(part, Mapping):
        named = {part["$ref"].removeprefix("#/$defs/")} if isinstance(part.get("$ref"), str) else set()
        return named.union(*(_references(what) for what in part.values()))
    return set().union(*(_references(what) for what in part)) if isinstance(part, list) else set()


def _both(one: Schema, other: Schema) -> dict[str, Any]:
    """A schema that takes what both take, or more: what only one of them says is kept."""
    both = {**one, **other}
    both["required"] = [*one.get("required", []), *other.get("required", [])]
    both["properties"] = {**one.get("properties", {}), **other.get("properties", {})}
    return {key: what for key, what in both.items() if what or key not in ("required", "properties")}


def _words(schema: Schema) -> set[str]:
    """The texts that are taken, where only some are."""
    values = [schema["const"]] if "const" in schema else schema.get("enum", [])
    return (
        {value for value in values if isinstance(value, str)} if all(isinstance(one, str) for one in values) else set()
    )


def _types(schema: Schema) -> set[str] | None:
    if "const" in schema:
        return {_type_of(schema["const"])}
    if "enum" in schema:
        return {_type_of(one) for one in schema["enum"]}
    if "type" not in schema:
        return None
    types = {schema["type"]} if isinstance(schema["type"], str) else set(schema["type"])
    return types | {"integer"} if "number" in types else types


def _type_of(value: Any) -> str:
    names: dict[type, str] = {bool: "boolean", str: "string", int: "integer", float: "number", type(None): "null"}
    return names.get(type(value), "array" if isinstance(value, list) else "object")


def _pattern_within(old: str | None, new: str) -> bool:
    """Whether the new pattern is the old one, or has more alternatives in its one group."""
    if old is None or old == new:
        return old == new
    parts, others = ONE_GROUP.fullmatch(old), ONE_GROUP.fullmatch(new)
    if parts is None or others is None or (parts[1], parts[3]) != (others[1], others[3]):
        return False
    return set(parts[2].split("|")) <= set(others[2].split("|"))
