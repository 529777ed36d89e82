"""Packages that only some answers need: whether they are installed, and how to install them.

The packages that `recommend` needs are always installed. Others are chosen by extras of `pip`: `forebay[plots]`.
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
        Name of the extra, as in `forebay[NAME]`.
    modules : tuple of str
        Modules that are imported; the first one shows whether the extra is installed.
    packages : tuple of str
        Names of the packages in an index.
    purpose : str
        Purpose of the extra, as in "found no matplotlib, which draws pictures".
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
    """The extra to which a module belongs; None if it belongs to none."""
    known = (extra for extra in EXTRAS for each in extra.modules if f"{module}.".startswith(f"{each}."))
    return next(known, None)


def there(module: str) -> bool:
    """Whether a module could be imported; it is not imported."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # a parent is missing, or is no module
        return False


def need(*modules: str) -> None:
    """Continue only if modules of extras are installed. Call it before work that would be lost without them.

    Raises
    ------
    MissingPackageError
        If one is missing; the text gives the purpose of each, and one command to install all of them.
    """
    absent = [module for module in modules if not there(module)]
    if absent:
        raise missing(*absent)


def missing(*modules: str) -> MissingPackageError:
    """The error for missing modules of extras."""
    extras = {module: extra_of(module) for module in modules}
    text = " and ".join(f"no {module}, which {extra.purpose}" for module, extra in extras.items() if extra is not None)
    names = dict.fromkeys(extra.name for extra in extras.values() if extra is not None)
    return MissingPackageError(f"found {text}; allowed: after `{how_to_get(*names)}`")


def how_to_get(*names: str) -> str:
    """The command that adds extras to this installation, with the tool that made it."""
    packages = [package for extra in EXTRAS if extra.name in names for package in extra.packages]
    # Each tool stores its own notes in the environment that it makes for a program.
    if (Path(sys.prefix) / "pipx_metadata.json").is_file():
        return " ".join(["pipx inject forebay", *packages])
    if (Path(sys.prefix) / "uv-receipt.toml").is_file():
        return " ".join(["uv tool install", *(f"--with {package}" for package in packages), "forebay"])
    # Double quotes are quotes in every shell, also in those of Windows.
    return f'pip install "forebay[{",".join(names)}]"'
