"""The count of runs of a grid in which simultaneous events decide the losses.

`sweep` says it after the last run. Rows have the texts of warnings and no kinds, so that rows of an earlier call count
by their texts.
"""

from __future__ import annotations

from collections.abc import Sequence

from forebay.results.warning import Kind, Warning
from forebay.sweeps.jobs import Row
from forebay.text.formatting import counted

__all__ = ["counted_events"]

#: Part of the text of the engine's warning (`crates/simulation/src/report.rs`) that no other warning has.
PHRASE = "simultaneous events decide which flow loses"


def counted_events(rows: Sequence[Row]) -> tuple[Warning, ...]:
    """Warn once of all runs in which simultaneous events decide the losses; nothing if there are none.

    Parameters
    ----------
    rows : sequence of Row
        The rows of all runs, those of earlier calls included.
    """
    concerned = [row for row in rows if PHRASE in row["warnings"]]
    if not concerned:
        return ()
    in_cells, cells = ({row["cell"] for row in found} for found in (concerned, rows))
    where = f"{len(in_cells)} of {counted(len(cells), 'cell')}"
    text = (
        f"In {len(concerned)} of {counted(len(rows), 'run')} ({where}), {PHRASE} (a phase effect): set "
        '`processing = "packet"`, so that the hosts\' processing time varies.'
    )
    values = {"runs": len(concerned), "of_runs": len(rows), "cells": len(in_cells), "of_cells": len(cells)}
    return (Warning(Kind.SIMULTANEOUS_EVENTS, text, values=values),)
