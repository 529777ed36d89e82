"""`conformance`: check that a user's congestion control or queue discipline meets the contract of all algorithms."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from forebay.commands.options import ALLOW_CODE, AS_JSON
from forebay.commands.streams import say, say_json
from forebay.commands.terminal import afterwards, progress_bar, show, writing
from forebay.commands.values import OutputFolder
from forebay.commands.verb import verb

__all__ = ["conformance"]


@verb(
    ("conformance mine.py:Mine --allow-code", "Check a congestion control or a queue discipline:"),
    ("conformance mine.py:Mine --set gain=2 --allow-code", "Check it with another parameter:"),
    ("conformance mine.py:Mine --out out/mine --allow-code", "Also write a page with pictures:"),
    refusal="A check failed.",
    heavy=True,
    groups={"Algorithm": ("--set", "--allow-code")},
)
@click.argument("place", metavar="FILE.py:CLASS")
@click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a parameter of the class, as in gain=2. May be repeated.",
)
@ALLOW_CODE
@click.option("--out", type=OutputFolder(), metavar="DIR", help="Write a page with pictures and the JSON here.")
@AS_JSON
def conformance(place: str, parameters: tuple[str, ...], out: Path | None, *, as_json: bool) -> None:
    """Check that your congestion control or queue discipline meets the contract of forebay's own algorithms.

    FILE.py:CLASS names a file and a class in it, a subclass of `CongestionControl` or `QueueDiscipline`.
    """
    from forebay.contract.conforming import conformance as check

    chosen = dict(map(_parameter, parameters))
    with progress_bar("checking", quiet=as_json) as progress:
        found = check(place, chosen, pictures=out is not None, progress=_Announced(progress, quiet=as_json))
    written: list[Path] = []

    def answer() -> None:
        if as_json:
            say_json(found.to_json(indent=2))
            return
        from forebay.views.conformance_text import conformance_text

        show(conformance_text(found))
        for path in written:
            say(f"wrote {path}")

    with afterwards(answer):
        if out is not None:
            from forebay.storage.files import write_atomically
            from forebay.views.conformance_page import conformance_page

            settings = " ".join(f"--set {each}" for each in parameters)
            command = " ".join(filter(None, ("forebay conformance", place, settings, "--allow-code")))
            with writing(out):
                out.mkdir(parents=True, exist_ok=True)
                for name, text in (
                    ("conformance.html", conformance_page(found, command=command)),
                    ("conformance.json", found.to_json(indent=2) + "\n"),
                ):
                    write_atomically(out / name, text)
                    written.append(out / name)
    if not found.passed:
        sys.exit(1)


def _parameter(given: str) -> tuple[str, Any]:
    """The name and the value of a parameter; a value that is no number or truth of TOML is text."""
    import tomllib

    from forebay.errors import InputError

    name, equals, value = given.partition("=")
    if not equals or not name.strip().isidentifier():
        raise InputError(f"found `{given}`; allowed: a parameter and its value, such as gain=2", "parameters")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), value.strip()


class _Announced:
    """Progress that prints an estimate after the first check, if all checks together take long."""

    def __init__(self, progress: Any, *, quiet: bool) -> None:
        import time

        self._progress, self._quiet, self._clock = progress, quiet, time.monotonic
        self._since = time.monotonic()

    def __call__(self, done: int, expected: int) -> None:
        """Report the number of finished checks and of all checks."""
        if done == 0:
            self._since = self._clock()
        elif done == 1 and not self._quiet:
            from forebay.commands.estimate import WORTH_SAYING
            from forebay.commands.streams import print_note

            seconds = (self._clock() - self._since) * expected
            if seconds >= WORTH_SAYING:
                print_note(f"this takes about {10 * round(seconds / 10)} s")
        if self._progress is not None:
            self._progress(done, expected)
