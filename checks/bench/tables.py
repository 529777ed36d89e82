"""Tables of the manual that `make bench WRITE=docs/background` renews, from the lines that it prints.

A run may measure some of the scenarios. The rows of the others stay as they are, and a scenario without a row is named
with the command that measures it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from checks.pages import Marks, block, renewed, write_pages
from forebay.text.formatting import markdown_table

__all__ = ["CAPTURES", "COUNTED", "TIMED", "captures_table", "counted_table", "timed_table", "write"]

#: Marks around the table of speeds, of instructions, and of programs that read captures.
TIMED: Marks = ("<!-- bench: begin -->", "<!-- bench: end -->")
COUNTED: Marks = ("<!-- counted: begin -->", "<!-- counted: end -->")
CAPTURES: Marks = ("<!-- captures: begin -->", "<!-- captures: end -->")

#: Million packets per second that a scenario should reach.
AIMS = {"W1": 60, "W2": 50, "W3": 40, "W4": 15, "W5": 5, "W6": 15, "W7a": 10, "W7b": 10, "W8": 8}

TIMED_HEAD = ("scenario", "million packets per CPU second", "aim", "packets per yardstick event", "events per packet")
COUNTED_HEAD = ("scenario", "instructions per data packet")
CAPTURES_HEAD = ("capture and program", "CPU s", "million packets per CPU second", "times `forebay observe`")

Line = Mapping[str, Any]


def timed_table(lines: Iterable[Line], files: Mapping[str, Path], before: str = "") -> str:
    """The speed of each scenario file.

    Parameters
    ----------
    lines : iterable of mappings
        Lines of `make bench`; those of other scenarios and of errors are ignored.
    files : mapping from str to Path
        The scenario files by their names.
    before : str
        The present table.
    """
    known = _known(lines, files, "million_packets_per_cpu_s")
    rows = {
        name: (
            f"{line['million_packets_per_cpu_s']:.3g} ({line['slowest']:.3g}-{line['fastest']:.3g})",
            str(AIMS.get(name, "–")),
            f"{line['packets_per_yardstick_event']:.2f}",
            f"{line['events_per_packet']:.2f}",
        )
        for name, line in known.items()
    }
    return _table(TIMED_HEAD, rows, files, before, "make bench ONLY={name} WRITE=docs/background")


def counted_table(lines: Iterable[Line], files: Mapping[str, Path], before: str = "") -> str:
    """The instructions of a data packet in each scenario file, with parameters as for `timed_table`."""
    known = _known(lines, files, "instructions_per_packet")
    rows = {name: (f"{line['instructions_per_packet']:.0f}",) for name, line in known.items()}
    return _table(COUNTED_HEAD, rows, files, before, "make bench COUNT=1 ONLY={name} WRITE=docs/background")


def captures_table(lines: Iterable[Line], before: str = "") -> str:
    """The processor time of each program that reads a capture; the rows of other captures stay."""
    rows = _rows(before)
    for line in lines:
        if "capture" in line:
            first = f"{line['capture']}: {line['program']}"
            speed, ratio = line["million_packets_per_cpu_s"], line["times_forebay_observe"]
            rows[first] = (first, f"{line['cpu_s']:.2f}", f"{speed:.2f}", f"{ratio:.2f}")
    return "\n".join(markdown_table(CAPTURES_HEAD, rows.values()))


def write(where: Path, lines: Sequence[Line], files: Mapping[str, Path]) -> None:
    """Renew the tables of which there are lines, on the page or in the folder of pages that has their marks.

    Raises
    ------
    InputError
        If a page lacks the marks.
    """
    blocks: dict[Marks, str] = {}
    if any("million_packets_per_cpu_s" in line and line["name"] in files for line in lines):
        blocks[TIMED] = timed_table(lines, files, block(where, TIMED))
    if any("instructions_per_packet" in line for line in lines):
        blocks[COUNTED] = counted_table(lines, files, block(where, COUNTED))
    if any("capture" in line for line in lines):
        blocks[CAPTURES] = captures_table(lines, block(where, CAPTURES))
    write_pages(renewed(where, blocks))


def _known(lines: Iterable[Line], files: Mapping[str, Path], key: str) -> dict[str, Line]:
    """The lines of scenario files that have a value for the key."""
    return {line["name"]: line for line in lines if line["name"] in files and line.get(key) is not None}


def _table(
    head: Sequence[str], rows: Mapping[str, Sequence[str]], files: Mapping[str, Path], before: str, command: str
) -> str:
    """A table with a row for each file: the new one, the present one, or the command that measures it."""
    present = {first.partition(":")[0]: cells for first, cells in _rows(before).items()}
    made = []
    for name, path in files.items():
        title = str(tomllib.loads(path.read_text(encoding="utf-8")).get("title", name))
        rest = rows.get(name) or present.get(name, ())[1:]
        missing = (f"not measured yet: `{command.format(name=name)}`", *[""] * (len(head) - 2))
        made.append((title, *(rest if len(rest) == len(head) - 1 else missing)))
    return "\n".join(markdown_table(head, made))


def _rows(table: str) -> dict[str, tuple[str, ...]]:
    """The rows of a table in Markdown by their first cells, without its head."""
    lines = [line for line in table.splitlines() if line.startswith("|")][2:]
    cells = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    return {row[0]: row for row in cells}
