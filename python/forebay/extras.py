"""Packages that only some answers need: whether they are there, and how to get them where they are not.

What `recommend` needs is always there. The rest is chosen as `pip` has it, by extras: `forebay[plots]`.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from forebay.errors import MissingPackageError

__all__ = ["EXTRAS", "Extra", "extra_of", "how_to_get", "missing", "need", "there"]


@dataclass(frozen=True, slots=True)
class Extra:
    """An extra of the package.

    Attributes
    ----------
    name : str
        In `forebay[NAME]`.
    modules : tuple of str
        What is imported of it; the first says whether it is there.
    packages : tuple of str
        What an index calls them.
    purpose : str
        What it does, as in "found no matplotlib, which draws pictures".
    """

    name: str
    modules: tuple[str, ...]
    packages: tuple[str, ...]
    purpose: str


EXTRAS = (
    Extra("plots", ("matplotlib",), ("matplotlib",), "draws pictures"),
    Extra("tables", ("polars",), ("polars",), "makes data frames and Parquet files"),
    Extra("cluster", ("distributed", "dask"), ("dask", "distributed"), "runs on the workers of a cluster"),
    Extra("xarray", ("xarray", "pandas"), ("xarray", "pandas"), "holds numbers over axes"),
    Extra("notebook", ("anywidget", "traitlets"), ("anywidget",), "shows the laboratory in notebooks"),
    Extra("zstd", ("backports.zstd",), ("backports.zstd",), "reads zstd"),
)


def extra_of(module: str) -> Extra | None:
    """The extra that a module comes with; None where it is not one of these."""
    known = (extra for extra in EXTRAS for each in extra.modules if f"{module}.".startswith(f"{each}."))
    return next(known, None)


def there(module: str) -> bool:
    """Whether a module could be imported; it is not."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # of a parent that is not there, or of one that is no module
        return False


def need(*modules: str) -> None:
    """Go on only where modules of extras are there: before the work that would be lost without them.

    Raises
    ------
    MissingPackageError
        Says what they are for, and how to get all that are not there at once.
    """
    absent = [module for module in modules if not there(module)]
    if absent:
        raise missing(*absent)


def missing(*modules: str) -> MissingPackageError:
    """What to raise where modules of extras are not there."""
    extras = {module: extra_of(module) for module in modules}
    told = " and ".join(f"no {module}, which {extra.purpose}" for module, extra in extras.items() if extra is not None)
    names = dict.fromkeys(extra.name for extra in extras.values() if extra is not None)
    return MissingPackageError(f"found {told}; allowed: after `{how_to_get(*names)}`")


def how_to_get(*names: str) -> str:
    """The command that adds extras to this installation, as whoever installed it would."""
    packages = [package for extra in EXTRAS if extra.name in names for package in extra.packages]
    # Each keeps its own notes in the environment that it makes for a program.
    if (Path(sys.prefix) / "pipx_metadata.json").is_file():
        return " ".join(["pipx inject forebay", *packages])
    if (Path(sys.prefix) / "uv-receipt.toml").is_file():
        return " ".join(["uv tool install", *(f"--with {package}" for package in packages), "forebay"])
    # Double quotes are quotes in every shell, also in those of Windows.
    return f'pip install "forebay[{",".join(names)}]"'
