"""The answer of `fleet` as text: three lines that fit 80 columns, and the ports to change first."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from forebay.fleets.answer import VERDICTS, WRONG, FleetAnswer, Judgment
from forebay.text.formatting import counted, duration, size, value

__all__ = ["ROWS", "answer_lines", "change_cells", "fleet_text", "ratio"]

#: Width of the first lines in columns, and number of rows of the table.
COLUMNS, ROWS = 80, 10
#: Shorter words for a line that is too long.
SHORT = {"too small": "small", "too large": "large", "not answerable": "no answer"}


def answer_lines(answer: FleetAnswer) -> tuple[str, str, str]:
    """The counts, the change to make first, and the evidence; each at most 80 columns wide."""
    return _counts(answer), _first(answer), _evidence(answer)


def fleet_text(answer: FleetAnswer, folder: str, width: int) -> RenderableType:
    """The whole answer."""
    parts: list[RenderableType] = [Text(line) for line in answer_lines(answer)]
    if answer.first:
        parts += [Text(""), _table(answer)]
    parts.append(Text(""))
    if answer.rejected.height:
        parts.append(Text(f"{counted(answer.rejected.height, 'row')} rejected: {folder}/rejected.csv"))
    for column in answer.ports.columns:
        if column == "too_small_in" or column.startswith("would_do_"):
            parts.append(Text(_column_line(answer, column)[: max(width, COLUMNS)]))
    if any(answer.counts[each] for each in WRONG):
        parts.append(Text(f"Lines to change the wrong ports: {folder}/changes"))
    parts.append(Text(f"Every port: {folder}/index.html, {folder}/ports.parquet"))
    return Group(*parts)


def _counts(answer: FleetAnswer) -> str:
    begin = f"{counted(answer.ports.height, 'port')}: "
    present = [verdict for verdict in VERDICTS if answer.counts[verdict]]
    line = begin + ", ".join(f"{answer.counts[each]:,} {each}" for each in present)
    if len(line) > COLUMNS:
        line = begin + ", ".join(f"{answer.counts[each]:,} {SHORT.get(each, each)}" for each in present)
    return _cut(line)


def _first(answer: FleetAnswer) -> str:
    if not answer.first:
        unknown = answer.counts["undecided"] + answer.counts["not answerable"]
        known = f"No wrong buffer was found. Ports without a verdict: {unknown:,}."
        return known if unknown else "No port has to be changed."
    digest = answer.first[0]
    port, others = answer.example(digest), answer.ports_of[digest] - 1
    judgment = answer.judgments[digest]
    also = f" and {counted(others, 'port')} like it" if others else ""
    enough = "" if judgment.enough_bytes is None else f", {size(judgment.enough_bytes)} is enough"
    return _cut(f"Change first: {port['device']} {port['port']}{also}: {judgment.verdict}{enough}")


def _evidence(answer: FleetAnswer) -> str:
    sample = answer.sample
    line = f"Evidence: {counted(len(answer.questions), 'question')}, {counted(answer.runs, 'run')}"
    if sample is None:
        return _cut(line)
    checked = f"{sample.wrong} of {sample.checked} wrong, at most {100 * sample.upper:.1f} %"
    if sample.withdrawn:
        return _cut(f"{line}; atlas withdrawn: {checked}")
    return _cut(f"{line}; atlas {sample.decided}: {checked}")


def _cut(line: str) -> str:
    return line if len(line) <= COLUMNS else f"{line[: COLUMNS - 1]}…"


def _table(answer: FleetAnswer) -> Table:
    """The wrongly sized questions to change first."""
    table = Table("ports", "first port", "verdict", "configured / needed", "enough", "cost", box=None, pad_edge=False)
    for digest in answer.first[:ROWS]:
        table.add_row(*change_cells(answer, digest))
    return table


def change_cells(answer: FleetAnswer, digest: str) -> tuple[str, ...]:
    """A question to change: number of ports, the first port, verdict, margin, a buffer that is enough, and cost."""
    port, judgment = answer.example(digest), answer.judgments[digest]
    return (
        f"{answer.ports_of[digest]:,}",
        f"{port['device']} {port['port']}",
        judgment.verdict,
        "–" if judgment.margin is None else ratio(judgment.margin),
        "–" if judgment.enough_bytes is None else size(judgment.enough_bytes),
        _cost(judgment),
    )


def ratio(number: float) -> str:
    """A configured over a needed buffer, with two digits."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.2g}"


def _cost(judgment: Judgment) -> str:
    delay, loss = judgment.cost_delay_s, judgment.cost_loss
    parts = [duration(delay)] if delay else []
    parts += [f"{value('loss_rate', loss)} loss"] if loss else []
    return ", ".join(parts) or "–"


def _column_line(answer: FleetAnswer, column: str) -> str:
    """The counts of one of the columns of growth and replacement."""
    counts = answer.ports[column].drop_nulls().value_counts(sort=True)
    rows = [("today" if each == 0 else each, number) for each, number in sorted(counts.iter_rows())]
    listed = ", ".join(f"{each}: {number:,}" for each, number in rows)
    name = "Too small in year" if column == "too_small_in" else f"Would {column.removeprefix('would_do_')} do"
    return f"{name} - {listed or 'no port'}"
