"""Reads `config_db.json`: tables of entries of fields, with the line of each; a fault costs only what is broken.

The format is that of "SONiC Configuration Database Manual" (src/sonic-yang-models/doc of sonic-net/sonic-buildimage).
A device loads only valid JSON. This reader goes on behind a fault, so that the rest can be audited.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from forebay.fabric.audit_answer import Finding
from forebay.sanitize import sanitize

__all__ = ["ConfigTables", "Entry", "parse_tables", "shown"]

#: Most levels of brackets.
MOST_LEVELS = 64
#: Longest key that a finding has in full.
MOST_KEY = 40
#: Most characters of a number.
MOST_DIGITS = 40
#: Most faults that are described one by one.
MOST_FAULTS = 100

_TOKEN = re.compile(r'[ \t\r\n]*+(?:("(?:[^"\\\n]|\\.)*+")|([{}\[\],:])|([^ \t\r\n{}\[\],:"]++)|(.)|\Z)')


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a table.

    Attributes
    ----------
    table, key : str
        Names of the table and of the entry.
    fields : mapping
        Texts of the fields; a list is a text with commas.
    line : int
        Line of the key.
    """

    table: str
    key: str
    fields: Mapping[str, str]
    line: int

    @property
    def place(self) -> str:
        """Table and key, as in "BUFFER_PG|Ethernet0|3-4"; of many ports the first one is named."""
        first, comma, others = self.key.partition(",")
        if len(self.key) <= MOST_KEY or not comma:
            return f"{self.table}|{self.key}"
        return f"{self.table}|{first},...{''.join(others.rpartition('|')[1:])}"


@dataclass(slots=True)
class ConfigTables:
    """The tables of a file: entries by table and key, and the faults of the text."""

    entries: dict[str, dict[str, Entry]] = field(default_factory=dict)
    faults: list[Finding] = field(default_factory=list)

    def table(self, name: str) -> Iterator[Entry]:
        """The entries of a table, in the order of the file."""
        yield from self.entries.get(name, {}).values()

    def get(self, table: str, key: str) -> Entry | None:
        """An entry by its key."""
        return self.entries.get(table, {}).get(key)

    def __contains__(self, table: str) -> bool:
        return table in self.entries


def parse_tables(text: str, known: Container[str]) -> ConfigTables:
    """Read the text of a `config_db.json`, of a part of one, or of a dump of the database.

    A dump has one name for table and key, as in "PORT|Ethernet0". Faults of tables that are not `known` are no
    findings.
    """
    found = ConfigTables()
    reader = _JsonReader(text.removeprefix("\ufeff"), found.faults, known)
    try:
        value = reader.document()
    except _BrokenError as error:
        found.faults.append(Finding("syntax", "file", f"{error}. Nothing after it is read.", (error.line,)))
        value = reader.root
    if isinstance(value, _Object):
        for name, (content, line) in value.members.items():
            table, _, key = name.partition("|")
            if key:
                fields = content.members.get("value", (content, line))[0] if isinstance(content, _Object) else content
                content = _Object({key: (fields, line)})  # noqa: PLW2901
            faults = found.faults if table in known else []
            found.entries.setdefault(table, {}).update(_table(table, content, line, faults))
    elif value is not None:
        found.faults.append(
            Finding("wrong-type", "file", f"Found {_type(value)} instead of an object of tables.", (1,))
        )
    if len(found.faults) > MOST_FAULTS:
        more = len(found.faults) - MOST_FAULTS
        last = found.faults[-1] if found.faults[-1].kind == "syntax" else None
        found.faults[MOST_FAULTS:] = [Finding("syntax", "file", f"{more:,} more faults of the text.")]
        found.faults += [] if last is None else [last]
    return found


def _table(name: str, content: Any, line: int, faults: list[Finding]) -> dict[str, Entry]:
    """The entries of one table."""
    if not isinstance(content, _Object):
        if content is not None:
            faults.append(Finding("wrong-type", name, f"Found {_type(content)} instead of a table.", (line,)))
        return {}
    entries: dict[str, Entry] = {}
    for key, (value, at) in content.members.items():
        place = f"{name}|{key}"
        if not isinstance(value, _Object):
            if value is not None:
                faults.append(Finding("wrong-type", place, f"Found {_type(value)} instead of an entry.", (at,)))
            continue
        fields = {}
        for word, (given, where) in value.members.items():
            texts = given if isinstance(given, list) else [given]
            if any(isinstance(each, _Object | list) for each in texts):
                text = f"Field {shown(word)} is {_type(given)} instead of a text."
                faults.append(Finding("wrong-type", place, text, (where,)))
            elif given is not None:
                fields[word] = ",".join(map(_text, texts))
        entries[key] = Entry(name, key, fields, at)
    return entries


def _text(value: Any) -> str:
    """A scalar as SONiC stores it."""
    return value if isinstance(value, str) else json.dumps(value)


def _type(value: Any) -> str:
    if isinstance(value, _Object):
        return "an object"
    return "a list" if isinstance(value, list) else f"the value {shown(_text(value))}"


def shown(text: str) -> str:
    """A text of the file for a message: quoted, short and without control characters."""
    return f"`{sanitize(text if len(text) <= 40 else f'{text[:37]}...')}`"


@dataclass(slots=True)
class _Object:
    """A JSON object: each value with its line."""

    members: dict[str, tuple[Any, int]] = field(default_factory=dict)


class _BrokenError(Exception):
    """A fault after which nothing can be read."""

    def __init__(self, text: str, line: int) -> None:
        super().__init__(text)
        self.line = line


class _JsonReader:
    """A reader of JSON that keeps what precedes a fault, and knows lines."""

    def __init__(self, text: str, faults: list[Finding], known: Container[str]) -> None:
        self.text, self.faults, self.known = text, faults, known
        self.at, self.line, self.counted = 0, 1, 0
        self.root: Any = None
        self.path: list[str] = []

    def document(self) -> Any:
        """The whole text."""
        word, kind = self.token()
        if kind == "end":
            self.fault("Found an empty file.")
            return None
        self.value(word, kind, self.set_root)
        word, kind = self.token()
        if kind != "end":
            self.fail(f"Found {shown(word)} after the end of the object")
        return self.root

    def set_root(self, value: Any) -> None:
        self.root = value

    def token(self) -> tuple[str, str]:
        """The next token and its kind: "text", "mark", "word", or "end"."""
        match = _TOKEN.match(self.text, self.at)
        if match is None:  # the pattern matches at every place
            return "", "end"
        kind = {1: "text", 2: "mark", 3: "word", 4: "stray"}.get(match.lastindex or 0, "end")
        start = match.start(match.lastindex or 0) if match.lastindex else match.end()
        self.line += self.text.count("\n", self.counted, start)
        self.counted, self.at = start, match.end()
        if kind == "stray":
            self.fail("Found a text without an end" if match[4] == '"' else f"Found {shown(match[4])}")
        return match[match.lastindex] if match.lastindex else "", kind

    def value(self, word: str, kind: str, store: Any) -> None:
        """Read a value from its first token, and store it before its content, so that a fault keeps the content."""
        if kind == "text":
            store(self.string(word))
        elif kind == "word":
            store(self.scalar(word))
        elif word in ("{", "["):
            if len(self.path) >= MOST_LEVELS:
                self.fail(f"Found more than {MOST_LEVELS} levels of brackets")
            (self.object if word == "{" else self.list)(store)
        else:
            self.fail(f"Found {shown(word)} instead of a value" if kind == "mark" else "Found the end of the file")

    def object(self, store: Any) -> None:
        found = _Object()
        store(found)
        while True:
            word, kind = self.token()
            if word == "}" and kind == "mark":
                if found.members:
                    self.fault("A comma before the closing bracket is no JSON.")
                return
            if kind != "text":
                self.fail(f"Found {shown(word)} instead of a key" if word else "Found the end of the file")
            key, line = self.string(word), self.line
            word, kind = self.token()
            if word != ":" or kind != "mark":
                self.fail(f"Found {shown(word)} instead of a colon" if word else "Found the end of the file")
            if key in found.members and self.path_is_known(key):
                before = found.members[key][1]
                place = "|".join((*self.path, key))
                text = f"Key {shown(key)} is here twice. The later one counts."
                self.faults.append(Finding("duplicate-key", place, text, (before, line)))

            def put(value: Any, key: str = key, line: int = line) -> None:
                found.members[key] = (value, line)

            self.path.append(key)
            self.value(*self.token(), put)
            self.path.pop()
            if self.closed("}"):
                return

    def path_is_known(self, key: str) -> bool:
        """Whether a key belongs to a known table, or names one."""
        return [*self.path, key][0].partition("|")[0] in self.known

    def list(self, store: Any) -> None:
        found: list[Any] = []
        store(found)
        word, kind = self.token()
        if word == "]" and kind == "mark":
            return
        while True:
            self.path.append("")
            self.value(word, kind, found.append)
            self.path.pop()
            if self.closed("]"):
                return
            word, kind = self.token()

    def closed(self, bracket: str) -> bool:
        """Whether the closing bracket follows a value; otherwise a comma has to."""
        word, kind = self.token()
        if kind == "mark" and word == bracket:
            return True
        if kind != "mark" or word != ",":
            self.fail(f"Found {shown(word)} instead of a comma" if word else "Found the end of the file")
        return False

    def string(self, word: str) -> str:
        if "\\" not in word:
            return word[1:-1]
        try:
            return str(json.loads(word, strict=False))
        except ValueError:
            self.fail(f"Found the text {shown(word)} with a wrong escape")

    def scalar(self, word: str) -> Any:
        if word in ("true", "false", "null"):
            return {"true": True, "false": False, "null": None}[word]
        if re.fullmatch(r"-?[0-9]++(\.[0-9]++)?+([eE][-+]?[0-9]++)?+", word) and len(word) <= MOST_DIGITS:
            return _Number(word)
        return self.fail(f"Found the word {shown(word)}")

    def fault(self, text: str) -> None:
        self.faults.append(Finding("syntax", "|".join(self.path) or "file", text, (self.line,)))

    def fail(self, text: str) -> NoReturn:
        place = "|".join(name for name in self.path if name)
        raise _BrokenError(f"{text}{f' in {sanitize(place[:60])}' if place else ''}", self.line)


class _Number(str):
    """A number as the file has it, because SONiC stores texts."""

    __slots__ = ()
