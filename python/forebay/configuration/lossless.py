"""The lossless side of a port: the values of `pfc` that a router's configuration has, and those that it lacks.

A platform says which of the values it has, and in which steps (`Platform.pauses`). `configuring` fits a port with it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forebay.configuration.quantities import count_text, exact, scenario_size

__all__ = ["PRIORITY", "Lossless", "lossless_differences", "lossless_lines"]

#: The first lossless priority of SONiC's templates (qos_config.j2); also that of the RoCE guides of other vendors.
PRIORITY = 3


@dataclass(frozen=True, slots=True)
class Lossless:
    """Levels of a lossless queue, in bytes of each sender; None if a configuration leaves one to the device.

    Attributes
    ----------
    xoff : int or None
        Waiting bytes above which the port pauses the sender.
    xon : int or None
        Waiting bytes at which the sender may resume.
    headroom : int or None
        Bytes beyond `xoff` for which there is memory.
    """

    xoff: int | None = None
    xon: int | None = None
    headroom: int | None = None

    @classmethod
    def of(cls, link: Mapping[str, Any]) -> Lossless | None:
        """The levels of a resolved link; None without `pfc`."""
        if "pfc" not in link:
            return None
        names = [each.name for each in dataclasses.fields(cls)]
        return cls(**{name: math.ceil(exact(link["pfc"][name])[0]) for name in names if name in link["pfc"]})

    def fitted(self, steps: Mapping[str, int]) -> Lossless:
        """The levels that a platform has, each rounded up to its steps."""
        levels = {name: getattr(self, name) for name in steps}
        found = {
            name: math.ceil(level / steps[name]) * steps[name] for name, level in levels.items() if level is not None
        }
        return Lossless(**found)

    @property
    def complete(self) -> bool:
        """Whether a scenario can have these levels."""
        return None not in (self.xoff, self.xon, self.headroom)


def lossless_differences(requested: Lossless | None, fitted: Lossless | None) -> Iterator[tuple[str, str, str]]:
    """The differences between two lossless sides: the name of each level and both figures."""
    if requested is None or fitted is None:
        if requested is not fitted:
            yield "pfc", "none" if requested is None else "on", "none" if fitted is None else "on"
        return
    for each in dataclasses.fields(Lossless):
        one, other = getattr(requested, each.name), getattr(fitted, each.name)
        if one != other:
            texts = ["none" if level is None else count_text(level, "byte") for level in (one, other)]
            yield each.name, texts[0], texts[1]


def lossless_lines(found: Lossless | None) -> Iterator[str]:
    """The key `pfc` of a [link] table; a comment if the configuration lacks a level."""
    if found is None:
        return
    levels = {each.name: getattr(found, each.name) for each in dataclasses.fields(Lossless)}
    texts = {name: '""' if level is None else f'"{scenario_size(level)}"' for name, level in levels.items()}
    table = f"pfc = {{ {', '.join(f'{name} = {text}' for name, text in texts.items())} }}"
    if found.complete:
        yield table
    else:
        unknown = ", ".join(name for name, level in levels.items() if level is None)
        yield f"# {table}  # unknown: {unknown}; the device shows them"
