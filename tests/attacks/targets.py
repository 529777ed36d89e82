"""The targets by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.attacks import files, texts

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True, slots=True)
class Target:
    """Something that reads what it cannot trust.

    Attributes
    ----------
    name : str
        That of its corpus, too.
    reads : str
        Description of the target.
    feed : callable
        Takes any bytes; raises where a law is broken.
    """

    name: str
    reads: str
    feed: Callable[[bytes], None]


TARGETS = {
    target.name: target
    for target in (
        Target("document", "a JSON text", files.document_),
        Target("bundle", "a bundle of a sweep: a ZIP file, or members whose hashes are made right", files.bundle),
        Target("manifest", "the manifest of a sweep", files.manifest),
        Target("cell", "a finished cell, whose checksums are made right", files.cell),
        Target("table", "a sealed Parquet table, whose seal is made right", files.table),
        Target("hashes", "the hashes of a folder", files.hashes),
        Target("search", "what an unfinished search has kept, whose checksums are made right", files.search),
        Target("gallery", "figures, findings and rows of reference numbers", files.gallery),
        Target("router", "a router's configuration, behind the number of its platform", texts.router),
        Target("loading", "a scenario, as Python reads it", texts.loading),
        Target("options", "values of options: axes, goals, ranges, sizes", texts.options),
    )
}
