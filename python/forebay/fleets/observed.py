"""Profiles that `observe` makes of a port's captures, flow records or counters.

Only what the input states is used. If a key of the traffic has no value, or if the scenario rests on an assumption, the
port has no answer, and the reason is that of `observe`. The rate, the buffer and the queue are those of the inventory.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from typing import Any

from forebay.errors import InputError
from forebay.fleets.columns import file_names
from forebay.fleets.profiles import Profile
from forebay.fleets.reading import FileReader, Request
from forebay.inputs.observed_bounds import bounds_of
from forebay.text.formatting import counted

__all__ = ["Observations"]

#: Name of the profiles, and the keys of the link that come from the inventory.
NAME = "observed"
OF_LINK = ("rate", "buffer", "queue")


class Observations:
    """The profiles of files.

    Parameters
    ----------
    reader : FileReader
        Reads the files and has their results.
    """

    def __init__(self, reader: FileReader) -> None:
        self._reader = reader
        self._tables: dict[str, Mapping[str, Any] | str] = {}

    def read(self, ports: Iterable[tuple[str, int, str]]) -> None:
        """Read the files of ports: of each the text of its column `observe`, its rate in bits per second and its name.

        Profiles are made faster if all files are read first, because several are read at the same time.
        """
        self._reader.read(Request(tuple(file_names(text)), rate_bps, port) for text, rate_bps, port in ports)

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
        request = Request(tuple(file_names(text)), rate_bps, port)
        self._reader.read([request])
        found = self._reader.find(request)
        assert found is not None, "it was read"
        scenario = found.get("scenario")
        if scenario is None:
            raise InputError(f"observe: {found.get('fault') or found['refusal']}")
        if scenario not in self._tables:
            try:
                self._tables[scenario] = tables_of(scenario)
            except InputError as error:
                self._tables[scenario] = str(error)
        known = self._tables[scenario]
        if isinstance(known, str):
            raise InputError(f"observe: {known}")
        tables = {**known, **({"goal": goals} if goals else {})}
        return Profile(NAME, f"observe {text}", tables, ("queue", "rate_bps"))


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
