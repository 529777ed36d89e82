"""The interfaces that users rely on: the schema of scenarios, the shape of answers, names of Python and of commands.

`python -m tests.support.surface` keeps those of this version in `tests/released`, when a release is cut.
"""

from __future__ import annotations

import inspect
import json
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from forebay import InputError, Scenario
from tests.support.commands import forebay
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL
from tests.support.schema_examples import documents

__all__ = ["ASKED", "RELEASED", "answers", "names", "scenarios", "schema", "shape"]

RELEASED = ROOT / "tests/released"

#: Two flows on a slow link with a goal that no buffer meets.
IMPOSSIBLE = ["--goal", "utilization>=99%", "--goal", "queue_delay_max<=1ms"]
#: Questions about the small link, by the names of their stored answers, with the exit codes.
ASKED: dict[str, tuple[list[str], int]] = {
    "run": (["run", "small.toml", "--json"], 0),
    "run fluid": (["run", "small.toml", "--engine", "fluid", "--json"], 0),
    "run closed_form": (["run", "small.toml", "--engine", "closed_form", "--json"], 0),
    "recommend": (
        ["recommend", "small.toml", "--quick", "--json", "--no-picture", "--for", "linux", "--also", "5p"],
        0,
    ),
    "recommend impossible": (["recommend", "small.toml", "--quick", "--json", "--no-picture", *IMPOSSIBLE], 1),
    "recommend choice": (
        ["recommend", "small.toml", "--quick", "--json", "--no-picture", "--over", "link.queue=droptail,codel"],
        0,
    ),
    "check": (["check", "small.toml", "--json"], 0),
    "compare": (["compare", "small.toml", "--points", "2", "--json", "--no-picture"], 0),
    "sweep": (["sweep", "small.toml", "--over", "link.buffer=5p,20p", "--out", "grid", "--json"], 0),
    "explain": (["explain", "sqrt-n", "--json"], 0),
    "translate": (["translate", "bfifo limit 200kb", "--for", "linux", "--link", "100Mbps", "--json"], 0),
}
#: Tables whose keys are the user's, or whose rows are all of one kind: one row represents all.
BY_NAME = ("goals", "resolved", "parameters", "scenario", "changed", "values")


def schema() -> dict[str, Any]:
    """The JSON Schema of scenarios."""
    found: dict[str, Any] = json.loads(forebay("schema").out)
    return found


def scenarios() -> Iterator[str]:
    """Scenarios with every key and form of the schema, as far as the reader accepts them.

    A list of one link is left out, because it is the same as that link alone.
    """
    for document in documents(schema()):
        for group in document["flows"]:
            group.setdefault("rtt", "1ms")
        if len(document.get("links", [])) != 1:
            text = json.dumps(document)
            try:
                Scenario.parse(text, "json")
            except InputError:
                continue
            yield text


def shape(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """Each place of an answer, and the kind of its value."""
    kinds: dict[type, str] = {bool: "truth", str: "text", int: "number", float: "number", type(None): "nothing"}
    if isinstance(value, dict):
        yield at, "table"
        for key, what in value.items():
            place = "*" if at.rsplit(".", 1)[-1].removesuffix("[]") in BY_NAME else key
            yield from shape(what, f"{at}.{place}" if at else place)
    elif isinstance(value, list):
        yield at, "list"
        for what in value:
            yield from shape(what, f"{at}[]")
    else:
        yield at, kinds[type(value)]


def answers(folder: Path) -> dict[str, set[tuple[str, str]]]:
    """The shape of each answer, asked in an empty folder."""
    (folder / "small.toml").write_text(SMALL, encoding="utf-8")
    found = {}
    for name, (arguments, code) in ASKED.items():
        answer = forebay(*arguments, cwd=folder)
        assert answer.code == code, f"{name}: {answer.err}"
        found[name] = set(shape(json.loads(answer.out)))
    return found


def names() -> dict[str, list[str]]:
    """Names of Python, with parameters or members, and of the command line, each verb with its options."""
    import forebay as package
    from forebay.commands.program import cli

    found = {}
    for name in package.__all__:
        value = getattr(package, name)
        if inspect.isclass(value):
            members = [member for member in dir(value) if not member.startswith("_")]
            found[f"forebay.{name}"] = sorted(member for member in members if not hasattr(BaseException, member))
        else:
            found[f"forebay.{name}"] = list(inspect.signature(value).parameters) if callable(value) else []
    for verb, command in sorted(cli.commands.items()):
        assert isinstance(command, click.Command)
        members = [option for one in command.params for option in (*one.opts, *one.secondary_opts)]
        found[f"forebay {verb}"] = sorted(option for option in members if option.startswith("-"))
    return found


def main() -> None:
    """Store the interfaces of this version."""
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]["version"]
    RELEASED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        shapes = answers(Path(folder))
    lines = [f"{name}: {place} {kind}" for name, places in shapes.items() for place, kind in sorted(places)]
    retained = {
        "version.txt": version,
        "scenario.schema.json": json.dumps(schema(), indent=1, sort_keys=True),
        "scenarios.jsonl": "\n".join(scenarios()),
        "answers.txt": "\n".join(lines),
        "names.json": json.dumps(names(), indent=1),
    }
    for file, text in retained.items():
        (RELEASED / file).write_text(text + "\n", encoding="utf-8")
    sys.stdout.write(f"{RELEASED}: {version}\n")


if __name__ == "__main__":
    main()
