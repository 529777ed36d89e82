"""Profiles that `observe` makes of a port's captures, flow records or counters.

Only what the input states is used. If a key of the traffic has no value, or if the scenario rests on an assumption, the
port has no answer, and the reason is that of `observe`. The rate, the buffer and the queue are those of the inventory.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forebay.errors import ForebayError, InputError, Interrupted
from forebay.fleets.columns import file_names
from forebay.fleets.profiles import Profile
from forebay.inputs.observed_bounds import bounds_of
from forebay.observation.observing import observe
from forebay.observation.writing import scenario_text
from forebay.text.formatting import counted

__all__ = ["Observations"]

#: Name of the profiles, and the keys of the link that come from the inventory.
NAME = "observed"
OF_LINK = ("rate", "buffer", "queue")
#: Bytes that are read at once for a digest.
CHUNK = 2**20


@dataclass(frozen=True, slots=True)
class _Fault:
    """The reason why files give no profile, and the argument of `observe` that it is about."""

    reason: str
    argument: str | None


class Observations:
    """The profiles of files. Equal files are read once for each rate."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}
        self._found: dict[tuple[object, ...], Mapping[str, Any] | _Fault] = {}

    def profile(self, text: str, rate_bps: int, port: str, goals: Mapping[str, Any] | None) -> Profile:
        """The profile of a port.

        Parameters
        ----------
        text : str
            Files as the column `observe` has them.
        rate_bps : int
            Rate of the port in bits per second.
        port : str
            Name of the port, for files with several ports.
        goals : mapping or None
            The table `[goal]` of the profile that a rule assigns to the port; `observe` states no goal.

        Raises
        ------
        InputError
            The reason why the files give no profile.
        """
        names = file_names(text)
        try:
            key = (*(self._digest(name) for name in names), rate_bps)
        except OSError as error:
            raise InputError(f"observe: {error.filename}: {error.strerror or error}") from None
        found = self._tables(key, names, rate_bps, None)
        if isinstance(found, _Fault) and found.argument == "port":
            found = self._tables((*key, port), names, rate_bps, port)
        if isinstance(found, _Fault):
            raise InputError(f"observe: {found.reason}")
        tables = {**found, **({"goal": goals} if goals else {})}
        return Profile(NAME, f"observe {text}", tables, ("queue", "rate_bps"))

    def _digest(self, name: str) -> str:
        if name not in self._digests:
            digest = hashlib.sha256()
            with Path(name).open("rb") as file:
                while piece := file.read(CHUNK):
                    digest.update(piece)
            self._digests[name] = digest.hexdigest()
        return self._digests[name]

    def _tables(
        self, key: tuple[object, ...], names: Iterable[str], rate_bps: int, port: str | None
    ) -> Mapping[str, Any] | _Fault:
        if key not in self._found:
            try:
                finding = observe([Path(name) for name in names], rate_bps=float(rate_bps), port=port)
                self._found[key] = tables_of(scenario_text(finding))
            except Interrupted:
                raise
            except ForebayError as error:
                self._found[key] = _Fault(str(error), error.argument if isinstance(error, InputError) else None)
        return self._found[key]


def tables_of(text: str) -> Mapping[str, Any]:
    """The scenario of an observation with open keys of the link, without goals.

    Raises
    ------
    InputError
        If the observation leaves out a key of the traffic or assumes one.
    """
    unknown = [bound for bound in bounds_of(text) if bound.key not in {f"link.{name}" for name in OF_LINK}]
    if unknown:
        more = f", and {counted(len(unknown) - 1, 'other key')}" if len(unknown) > 1 else ""
        raise InputError(f"{unknown[0].key} is unknown{more}; {unknown[0].find}")
    tables = tomllib.loads(text)
    if assumed := tables.get("assumed"):
        more = f", and {counted(len(assumed) - 1, 'other assumption')}" if len(assumed) > 1 else ""
        raise InputError(f"the file does not show that {assumed[0]}{more}; name a profile that states it")
    link = {**tables["link"], **{name: f"{{{name}}}" for name in OF_LINK}}
    return {name: table for name, table in {**tables, "link": link}.items() if name not in ("goal", "observed")}
