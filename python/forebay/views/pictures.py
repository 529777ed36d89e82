"""`plot`: pictures from the files that a sweep, a recommendation or a traced run left on disk."""

from __future__ import annotations

from pathlib import Path

from forebay.errors import InputError
from forebay.extras import need
from forebay.views.report_picture import TABLES

__all__ = ["draw"]


def draw(path: Path, out: Path | None = None) -> list[Path]:
    """Draw what is at `path`.

    Parameters
    ----------
    path : Path
        A folder that `sweep --out` or `run --trace` wrote.
    out : Path, optional
        Folder of the pictures; `path` itself by default.

    Returns
    -------
    list of Path
        The pictures, PNG and SVG.

    Raises
    ------
    InputError
        If there is nothing to draw.
    MissingPackageError
        Without polars or matplotlib.
    """
    need("polars", "matplotlib")
    if not path.is_dir():
        found = "a file" if path.exists() else "no such folder"
        raise InputError(f"{path}: found {found}; allowed: a folder that sweep or run --trace wrote")
    target = out or path
    if (path / "manifest.json").is_file():
        from forebay.views.sweep_picture import draw_sweep

        return draw_sweep(path, target)
    if any((path / f"{name}.parquet").is_file() for name in TABLES):
        from forebay.views import plots
        from forebay.views.report_picture import traces_of

        return plots.save_both(traces_of(path), target / "traces")
    raise InputError(
        f"{path}: found neither manifest.json nor traces; allowed: a folder that sweep or run --trace wrote"
    )
