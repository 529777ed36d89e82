"""Computes the atlas, cell by cell, and continues where it was interrupted."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path

from checks.atlas.cells import TARGETS, Cell, cells
from checks.atlas.drawing import write_pictures
from checks.atlas.judging import rule_results
from checks.atlas.page import renew
from forebay.atlas.rows import TABLE, Row, write
from forebay.errors import ForebayError
from forebay.inputs.goals import Goal
from forebay.search.buffer_variable import BufferVariable
from forebay.search.measurements import Means, Measurements
from forebay.search.plan import Plan
from forebay.search.planning import reach
from forebay.search.quick import QUICK_CONFIDENCE, QuickLook
from forebay.storage import build, journal
from forebay.text.formatting import counted

__all__ = ["computed", "main"]

#: Largest relative distance of an answer from the smallest buffer.
RESOLUTION = 0.1


def rows(cell: Cell, jobs: int | None = None) -> Iterator[Row]:
    """The rows of one cell, one for each utilization; simulations for one utilization count for the next."""
    measure = Measurements(BufferVariable(cell.scenario()), Means("packet", jobs))
    largest, ceiling = reach(cell.bdp)
    plan = Plan(smallest=1, largest=largest, ceiling=ceiling, resolution=RESOLUTION, confidence=QUICK_CONFIDENCE)
    for target in TARGETS:
        before = len(measure.reports)
        outcome = QuickLook(measure, [Goal("utilization", ">=", target)], plan).run()
        made = list(measure.reports.values())[before:]
        ends = outcome.lower_end or (outcome.buffer, outcome.buffer)
        yield Row(
            cell.rate,
            cell.rtt,
            cell.bdp,
            cell.flows,
            cell.controller,
            cell.background,
            target,
            outcome.buffer,
            *(ends if outcome.buffer is not None else (None, None)),
            None if outcome.buffer is None else outcome.confidence,
            len(made),
            sum(report.cost.data_packets for report in made),
        )


def computed(requested: Iterable[Cell], stored: Path) -> Iterator[tuple[bool, list[Row]]]:
    """Every cell's rows, and whether they existed already; the rows of a cell are stored once they are computed."""
    stored.parent.mkdir(parents=True, exist_ok=True)
    with stored.open("a+b") as file:
        file.seek(0)
        raw = file.read()
        # A line that was not completely written does not count.
        file.truncate(len(journal.complete(raw)))
        known = dict(_known(raw))
        for cell in requested:
            found = known.get(cell.name)
            if found is not None:
                yield True, found
                continue
            found = list(rows(cell))
            values = [asdict(row) for row in found]
            file.write(journal.line({"build": build.fingerprint(), "cell": cell.name, "rows": values}))
            file.flush()
            yield False, found


def _known(raw: bytes) -> Iterator[tuple[str, list[Row]]]:
    """The cells that an interrupted run of this build has stored."""
    names = {field.name for field in fields(Row)}
    for _, entry in journal.entries(raw):
        match entry:
            case {"build": str(built), "cell": str(cell), "rows": list(told)} if built == build.fingerprint():
                if all(isinstance(row, Mapping) and set(row) == names for row in told):
                    yield cell, [Row(**row) for row in told]


def main() -> None:
    """Compute, and write the table, its pictures and the page's figures."""
    parser = argparse.ArgumentParser(prog="make atlas", description=__doc__)
    parser.add_argument("folder", type=Path, help="where what is done is kept, and the table is written")
    parser.add_argument("--quick", action="store_true", help="a part of the cells, in minutes")
    parser.add_argument("--docs", type=Path, help="renew the manual's page here, and the table that comes with forebay")
    options = parser.parse_args()
    required = list(cells(quick=options.quick))
    every, done, found = sum(cell.packets for cell in required), 0.0, list[Row]()
    try:
        for number, (cell, (_, stated)) in enumerate(
            zip(required, computed(required, options.folder / "cells.jsonl"), strict=True)
        ):
            found += stated
            done += cell.packets
            share = f"{number + 1} of {counted(len(required), 'cell')}, {100 * done / every:.0f} % of the packets"
            print(f"\r{f'{share}: {cell.name}':79.79}", end="", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on from here", file=sys.stderr)
        raise SystemExit(130) from None
    except ForebayError as error:
        raise SystemExit(f"\natlas: {error}") from None
    print(file=sys.stderr)
    rules = list(rule_results(found))
    write(found, options.folder / TABLE.name)
    if options.docs is not None:
        write(found, TABLE)
        renew(options.docs / "reference" / "atlas.md", found, rules)
    for path in write_pictures(found, rules, options.folder):
        print(f"wrote {path}")
        if options.docs is not None and path.suffix == ".png":
            shutil.copyfile(path, options.docs / "images" / path.name)


if __name__ == "__main__":
    main()
