"""The answer of `fleet` as text: three lines that fit 80 columns, and the ports to change first."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from forebay.fleets.answer import VERDICTS, WRONG, FleetAnswer, Judgment
from forebay.sanitize import sanitize
from forebay.text.formatting import counted, duration, size

__all__ = ["CHANGE_COLUMNS", "ROWS", "answer_lines", "change_cells", "fleet_text", "ratio"]

#: Columns of the changes, the place of the ports' names among them without the verdict, and the width of a gap.
CHANGE_COLUMNS = ("ports", "first port", "verdict", "buffer", "p99 delay", "loss")
NAME, MIN_NAME, GAP = 1, 10, 2
#: Width of the first lines in columns, and number of rows of the table.
COLUMNS, ROWS = 80, 10
#: Most reasons why ports have no verdict.
REASONS = 3
#: Shorter words for a line that is too long.
SHORT = {"too small": "small", "too large": "large", "not answerable": "no answer"}


def answer_lines(answer: FleetAnswer) -> tuple[str, str, str]:
    """The counts, the change to make first, and the evidence; each at most 80 columns wide."""
    return _counts(answer), _first(answer), _evidence(answer)


def fleet_text(answer: FleetAnswer, folder: str, width: int) -> RenderableType:
    """The whole answer."""
    parts: list[RenderableType] = [Text(line) for line in answer_lines(answer)]
    if answer.first:
        parts += [Text(""), Text("From the present to the recommended buffer:"), _table(answer, width)]
        rising = sum(answer.ports_of[digest] for digest in answer.first if answer.judgments[digest].raises_loss)
        if rising:
            parts.append(Text(f"The changes raise the loss of {counted(rising, 'port')}."))
    parts.append(Text(""))
    warned = answer.ports["notes"].count()
    if warned:
        parts.append(Text(f"The runs of {counted(warned, 'port')} have warnings: {folder}/index.html"))
    reasons = _reasons(answer)
    parts += [Text(reason) for reason in reasons[:REASONS]]
    if len(reasons) > REASONS:
        parts.append(Text(f"Ports have {len(reasons) - REASONS:,} other reasons: {folder}/index.html"))
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
    if not present:
        return "0 ports"
    line = begin + ", ".join(f"{answer.counts[each]:,} {each}" for each in present)
    if len(line) > COLUMNS:
        line = begin + ", ".join(f"{answer.counts[each]:,} {SHORT.get(each, each)}" for each in present)
    return _cut(line)


def _first(answer: FleetAnswer) -> str:
    if not answer.first:
        reasons = _reasons(answer)
        if not answer.ports.height:
            return "No row of the inventory is a port that can be judged."
        return _cut(f"No wrong buffer was found. {reasons[0]}") if reasons else "No port has to be changed."
    digest = answer.first[0]
    port, others = answer.example(digest), answer.ports_of[digest] - 1
    judgment = answer.judgments[digest]
    name = sanitize(f"{port['device']} {port['port']}")
    also = f" and {counted(others, 'port')} like it" if others else ""
    change = "" if judgment.recommended_bytes is None else f", {_buffers(answer, digest)}"
    # A larger loss may be a reason against the change.
    loss = f", loss {_losses(judgment)}" if judgment.raises_loss else ""
    lines = (f"Change first: {name}{like}: {judgment.verdict}{change}{loss}" for like in (also, ""))
    return _cut(next((line for line in lines if len(line) <= COLUMNS), f"Change first: {name}: {judgment.verdict}"))


def _reasons(answer: FleetAnswer) -> list[str]:
    """The reasons why ports have no verdict, the most frequent one first."""
    import polars as pl

    counts = (
        answer.ports.filter(pl.col("verdict").is_in(["undecided", "not answerable"]))
        .group_by("verdict", "reason", maintain_order=True)
        .agg(pl.len().alias("ports"), pl.first("device", "port"))
        .sort("ports", descending=True, maintain_order=True)
    )
    return [
        f"{counted(ports, 'port')} {verdict}, {'' if ports == 1 else 'such as '}{sanitize(f'{device} {port}')}: "
        f"{sanitize(reason)}"
        for verdict, reason, ports, device, port in counts.iter_rows()
    ]


def _evidence(answer: FleetAnswer) -> str:
    sample = answer.sample
    line = f"Evidence: {counted(len(answer.questions), 'question')}, {counted(answer.runs, 'run')}"
    if sample is None:
        return _cut(line)
    if not sample.checked:
        return _cut(f"{line}; atlas not checked")
    checked = f"{sample.wrong} of {sample.checked} wrong, at most {100 * sample.upper:.1f} %"
    if sample.withdrawn:
        return _cut(f"{line}; atlas withdrawn: {checked}")
    return _cut(f"{line}; atlas {sample.decided}: {checked}")


def _cut(line: str) -> str:
    return line if len(line) <= COLUMNS else f"{line[: COLUMNS - 1]}…"


def _table(answer: FleetAnswer, width: int) -> Table:
    """The wrongly sized questions to change first; the arrow of the buffers stands for the verdict."""
    rows = [change_cells(answer, digest) for digest in answer.first[:ROWS]]
    cells = [(ports, sanitize(name), *others) for ports, name, _, *others in rows]
    heads = [name for name in CHANGE_COLUMNS if name != "verdict"]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    # Only the name of the port is shortened.
    widths[NAME] = max(MIN_NAME, min(widths[NAME], width - sum(widths) + widths[NAME] - GAP * (len(widths) - 1)))
    table = Table(box=None, pad_edge=False)
    for name, each in zip(heads, widths, strict=True):
        table.add_column(name, no_wrap=True, overflow="ellipsis", width=each)
    for row in cells:
        table.add_row(*row)
    return table


def change_cells(answer: FleetAnswer, digest: str) -> tuple[str, ...]:
    """A question to change: number of ports, the first port, verdict, and buffer, delay and loss now and then."""
    port, judgment = answer.example(digest), answer.judgments[digest]
    return (
        f"{answer.ports_of[digest]:,}",
        f"{port['device']} {port['port']}",
        judgment.verdict,
        _buffers(answer, digest),
        _arrow(judgment.delay_s, judgment.recommended_delay_s, lambda delay: duration(delay, 2)),
        _losses(judgment),
    )


def _buffers(answer: FleetAnswer, digest: str) -> str:
    """The configured and the recommended buffer of a question."""
    judgment = answer.judgments[digest]
    margin, needed = judgment.margin, judgment.needed_bytes
    configured = None if margin is None or needed is None else margin * needed
    return _arrow(configured, judgment.recommended_bytes, size)


def _losses(judgment: Judgment) -> str:
    return _arrow(judgment.loss, judgment.recommended_loss, lambda loss: f"{100 * loss:.2g} %")


def _arrow(now: float | None, then: float | None, show: Callable[[float], str]) -> str:
    """Two values with an arrow between them; a common unit is written once."""
    before, after = ("–" if each is None else show(each) for each in (now, then))
    number, _, unit = before.rpartition(" ")
    return f"{number if number and after.endswith(f' {unit}') else before} → {after}"


def ratio(number: float) -> str:
    """A configured over a needed buffer, with two digits."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.2g}"


def _column_line(answer: FleetAnswer, column: str) -> str:
    """The counts of one of the columns of growth and replacement."""
    counts = answer.ports[column].drop_nulls().value_counts(sort=True)
    rows = [(counted(number, "port"), each) for each, number in sorted(counts.iter_rows())]
    if column == "too_small_in":
        years = (f"{ports} {f'in year {year}' if year else 'today'}" for ports, year in rows)
        return f"Too small: {', '.join(years) or 'no port'}"
    name = column.removeprefix("would_do_")
    return f"Would {name} do: {', '.join(f'{word} for {ports}' for ports, word in rows)}"
