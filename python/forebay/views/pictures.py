"""`plot`: pictures from what a sweep, a recommendation or a traced run left on disk."""

from __future__ import annotations

from pathlib import Path

from forebay.errors import InputError

__all__ = ["draw"]

#: What `run --trace` may have written.
TABLES = ("flows", "queue", "packets", "transfers")


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
        Where there is nothing to draw.
    """
    if not path.exists():
        raise InputError(f"{path}: found nothing there; allowed: a folder that sweep or run --trace wrote")
    target = out or path
    if (path / "manifest.json").is_file():
        from forebay.views.sweep_picture import draw_sweep

        return draw_sweep(path, target)
    if any((path / f"{name}.parquet").is_file() for name in TABLES):
        return draw_traces(path, target)
    raise InputError(
        f"{path}: found neither manifest.json nor traces; allowed: a folder that sweep or run --trace wrote"
    )


def draw_traces(path: Path, target: Path) -> list[Path]:
    """Windows, queue and utilisation over time, one panel each for what was recorded."""
    import polars as pl

    from forebay.views import plots

    tables = {
        name: pl.read_parquet(path / f"{name}.parquet") for name in TABLES if (path / f"{name}.parquet").is_file()
    }
    panels = [name for name in ("cwnd", "queue", "utilization", "packets", "transfers") if _recorded(name, set(tables))]
    found, axes = plots.figure(8.6, 0.8 + 2.0 * len(panels), len(panels))
    for axis, panel in zip(axes, panels, strict=True):
        if panel == "cwnd":
            flows = tables["flows"]
            for index, flow in enumerate(flows["flow"].unique().sort().to_list()[:12]):
                mine = flows.filter(pl.col("flow") == flow)
                color = plots.PALETTE[index % len(plots.PALETTE)]
                axis.plot(mine["time_s"], mine["cwnd_packets"], color=color, linewidth=0.9, label=f"flow {flow}")
            axis.set_ylabel("window (packets)")
            axis.legend(fontsize=7, loc="upper right", ncols=4, frameon=False)
        elif panel == "queue":
            axis.plot(tables["queue"]["time_s"], tables["queue"]["packets"], color=plots.PALETTE[0], linewidth=0.9)
            axis.set_ylabel("waiting (packets)")
            axis.set_ylim(bottom=0)
        elif panel == "utilization":
            share = 100 * tables["queue"]["utilization"]
            axis.plot(tables["queue"]["time_s"], share, color=plots.PALETTE[2], linewidth=0.9)
            axis.set_ylabel("utilization (%)")
        elif panel == "transfers":
            over = tables["transfers"].filter(pl.col("completed_s").is_finite())
            for index, (text, kind) in enumerate(
                (("no loss", pl.col("dropped") == 0), ("losses", pl.col("dropped") > 0))
            ):
                mine = over.filter(kind)
                took = mine["completed_s"] - mine["begun_s"]
                axis.plot(mine["begun_s"], took, ".", color=plots.PALETTE[index], markersize=2.5, label=text)
            axis.set_ylabel("completion time (s)")
            axis.set_yscale("log")
            axis.legend(fontsize=7, loc="upper right", ncols=2, framealpha=0.9)
        else:
            dropped = tables["packets"].filter(pl.col("dropped"))
            axis.plot(dropped["time_s"], dropped["flow"], ".", color=plots.PALETTE[1], markersize=2)
            axis.set_ylabel("drops (flow)")
    axes[-1].set_xlabel("time (s)")
    return plots.save_both(found, target / "traces")


def _recorded(panel: str, tables: set[str]) -> bool:
    return {"cwnd": "flows", "utilization": "queue"}.get(panel, panel) in tables
