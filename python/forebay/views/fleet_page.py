"""An audit of a network as one HTML file: the answer, the changes to make first, a picture, and a table of the ports.

The page holds each distinct answer once, with its measured buffers and its scenario. Its script shows them for each
port. Equal audits have equal pages, so that no time and no folder of results is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from forebay.errors import ForebayError
from forebay.fleets.answer import VERDICTS, WRONG, FleetAnswer
from forebay.fleets.changes import ChangeSet
from forebay.fleets.profiles import BUFFER
from forebay.results.metric import find
from forebay.sanitize import sanitize
from forebay.text.formatting import confidence, counted, duration, size, value
from forebay.views.fleet_chart import SERIES, FleetPicture, fleet_picture
from forebay.views.fleet_table import NONE, FleetTable, fleet_table
from forebay.views.fleet_text import CHANGE_COLUMNS, ROWS, answer_lines, change_cells
from forebay.views.page_charts import Figure, Switch, missing
from forebay.views.pages import Row, Table, render
from forebay.views.wording import goal_phrase

if TYPE_CHECKING:
    from forebay.fleets.measuring import MeasuredGoal, MeasuredPoint
    from forebay.fleets.questions import Question
    from forebay.scenario import Scenario

__all__ = ["fleet_page"]

#: Meaning of each verdict.
MEANINGS = {
    "fine": "Every goal is met, and the buffer is not needlessly large.",
    "too small": "A goal is missed, and a larger buffer meets every goal.",
    "too large": "A goal is missed and a smaller buffer meets every goal, or the excess only costs delay.",
    "undecided": "The runs do not decide a goal, or whether another buffer meets every goal.",
    "not answerable": "The port has no buffer or no profile, or no measured buffer meets every goal.",
}
#: Most characters of all scenarios in the page, and most rejected rows.
MOST_SCENARIOS, MOST_REJECTED = 8_000_000, 50
#: Longest text of a name in the parts that Python writes.
NAME = 60


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A verdict with its number of ports; `series` is its name in style sheets."""

    verdict: str
    series: str
    ports: str
    share: str
    meaning: str


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """Ports to change: the address of the first one in the page, its name, and the cells of its row."""

    address: str
    name: str
    series: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FleetPage:
    """The page, section by section."""

    title: str
    state: str
    lines: tuple[str, ...]
    verdicts: tuple[VerdictRow, ...]
    changes: tuple[ChangeRow, ...]
    change_columns: tuple[str, ...]
    more_changes: str
    figure: Figure | None
    switches: tuple[Switch, ...]
    below_figure: tuple[str, ...]
    missing: str
    rejected: Table | None
    rejected_count: str
    evidence: tuple[str, ...]
    options: Table
    version: str
    data: Mapping[str, Any]


def fleet_page(
    answer: FleetAnswer,
    *,
    source: str,
    options: Sequence[tuple[str, str]] = (),
    changes: Iterable[ChangeSet] = (),
) -> str:
    """Write the page.

    Parameters
    ----------
    answer : FleetAnswer
    source : str
        The inventory as the user named it.
    options : sequence of (str, str)
        Options that the verdicts depend on, with their values.
    changes : iterable of ChangeSet
        The lines that change the wrong ports.

    Returns
    -------
    str
        The whole document.
    """
    table = fleet_table(answer, changes)
    picture = fleet_picture(answer, table)
    rejected = counted(answer.rejected.height, "row")
    page = FleetPage(
        title=f"{counted(answer.ports.height, 'port')} of {_short(source)}",
        state=_state(answer),
        lines=tuple(map(sanitize, answer_lines(answer))),
        verdicts=tuple(_verdicts(answer)),
        changes=tuple(_changes(answer)),
        change_columns=CHANGE_COLUMNS,
        more_changes=_more_changes(answer),
        figure=picture.figure,
        switches=() if missing() else picture.switches,
        below_figure=tuple(_below_figure(picture)),
        missing=missing() if picture.figure else "",
        rejected=_rejected(answer) if answer.rejected.height else None,
        rejected_count=f"{rejected} of the inventory {'was' if answer.rejected.height == 1 else 'were'} rejected",
        evidence=tuple(_evidence(answer)),
        options=Table(("option", "value"), tuple(Row((name, sanitize(text))) for name, text in options)),
        version=answer.version,
        data=_data(answer, table, picture),
    )
    return render("fleet.html.j2", page)


# The answer ------------------------------------------------------------------------------------------------------


def _state(answer: FleetAnswer) -> str:
    """The class of the answer in the style sheet."""
    if any(answer.counts[verdict] for verdict in WRONG):
        return "impossible"
    return "undecided" if answer.exit_code() else "good"


def _verdicts(answer: FleetAnswer) -> list[VerdictRow]:
    every = max(1, answer.ports.height)
    return [
        VerdictRow(
            verdict,
            SERIES[verdict],
            f"{answer.counts[verdict]:,}",
            f"{100 * answer.counts[verdict] / every:.1f} %",
            MEANINGS[verdict],
        )
        for verdict in VERDICTS
    ]


def _changes(answer: FleetAnswer) -> list[ChangeRow]:
    found = []
    for digest in answer.first[:ROWS]:
        port, judgment = answer.example(digest), answer.judgments[digest]
        ports, _, *cells = change_cells(answer, digest)
        name = f"{_short(port['device'])} {_short(port['port'])}"
        found.append(ChangeRow(_address(port), name, SERIES[judgment.verdict], (ports, *cells)))
    return found


def _more_changes(answer: FleetAnswer) -> str:
    others = answer.first[ROWS:]
    if not others:
        return ""
    ports = counted(sum(answer.ports_of[digest] for digest in others), "other port")
    return f"The table of all ports begins with these ports. It continues with {ports} to change, in this order."


def _address(port: Mapping[str, Any]) -> str:
    """The part of the page's address that shows a port."""
    names = (port["device"], port["port"], port["service_class"])
    return "#port=" + "/".join(quote(sanitize(name), safe="") for name in names if name is not None)


def _short(name: str) -> str:
    shown = sanitize(name)
    return shown if len(shown) <= NAME else f"{shown[: NAME - 1]}…"


def _below_figure(picture: FleetPicture) -> list[str]:
    """Sentences on the ports that the picture does not show one by one."""
    sentences = []
    if picture.has_bars:
        sentences.append("A bar is the range of the ratio. A bar up to the edge has an end that is not known.")
    if picture.joined:
        sentences.append("A mark stands for ports with similar rates and buffers.")
    if picture.missing:
        number = sum(picture.missing.values())
        kinds = ", ".join(f"{ports:,} {verdict}" for verdict, ports in picture.missing.items())
        verb = "is" if number == 1 else "are"
        sentences.append(
            f"{counted(number, 'port')} {verb} not in the picture, because the needed buffer is not known: {kinds}."
        )
    return sentences


def _rejected(answer: FleetAnswer) -> Table:
    shown = answer.rejected.head(MOST_REJECTED)
    rows = tuple(
        Row((sanitize(file or ""), "" if line is None else str(line), sanitize(reason or "")))
        for file, line, reason in shown.select("file", "line", "reason").iter_rows()
    )
    return Table(("file", "line", "reason"), rows)


def _evidence(answer: FleetAnswer) -> list[str]:
    """The stages, and the error rate of the first one."""
    stages = answer.to_dict()["stages"]
    kinds = ", ".join(f"{number:,} by {stage}" for stage, number in stages.items() if number)
    sentences = [
        f"Equal ports share one question: {counted(answer.ports.height, 'port')} have "
        f"{counted(len(answer.questions), 'question')}, answered with {counted(answer.runs, 'packet run')}.",
        f"Ports by the stage of their verdict: {kinds or 'none'}.",
    ]
    if answer.sample is not None:
        sample = answer.sample
        checked = (
            f"Packet runs checked {sample.checked:,} of the {sample.decided:,} questions that closed forms decide."
        )
        found = f"Of those checked, {sample.wrong:,} had another verdict."
        bound = f"With 95 % confidence at most {100 * sample.upper:.1f} % of the verdicts by closed forms are wrong."
        sentences.append(f"{checked} {found} {bound}")
        if sample.withdrawn:
            sentences.append("This is above 5 %, so that packet runs decided all of these questions.")
    return sentences


# The data of the script ------------------------------------------------------------------------------------------


def _data(answer: FleetAnswer, table: FleetTable, picture: FleetPicture) -> dict[str, Any]:
    """All that the script shows, with each text once."""
    links: dict[str, int] = {}
    scenarios: list[Mapping[str, Any]] = []
    rows: dict[str, list[Any]] = {"link": [], "size": [], "point": [], "advice": [], "text": []}
    texts: dict[str, int] = {}
    room = MOST_SCENARIOS
    for digest in table.frame["question"].to_list():
        if digest is None:
            found: tuple[Any, ...] = (NONE, "", NONE, NONE, NONE)
        else:
            question, judgment = answer.questions[digest], answer.judgments[digest]
            text = judgment.text
            scenario, points = _scenario(question), answer.points.get(question.link, ())
            if question.link not in links:
                links[question.link] = len(links)
                room -= len(question.text)
                shown = question.text if room >= 0 else None
                scenarios.append({"scenario": shown, **_measured(scenario, points)})
            place = texts.setdefault(text, len(texts)) if text else NONE
            configured = None if scenario is None else scenario.buffer.bytes
            places = (_place(each, points) for each in (configured, judgment.recommended_bytes))
            found = links[question.link], str(question.size), *places, place
        for column, each in zip(rows.values(), found, strict=True):
            column.append(each)
    return {
        "columns": [column.to_data() for column in table.columns],
        "answer": table.answers,
        "answers": {**rows, "spot": picture.spots},
        "links": scenarios,
        "texts": list(texts),
        "series": SERIES,
        "mark": BUFFER,
    }


def _scenario(question: Question) -> Scenario | None:
    """The scenario of a question; None if it is refused."""
    try:
        return question.scenario()
    except ForebayError:
        return None


def _place(size: float | None, points: Sequence[MeasuredPoint]) -> int:
    """The number of the measured point of a buffer in bytes; -1 if no verdict rests on runs there."""
    return next((number for number, point in enumerate(points) if point.bytes == size), NONE)


def _measured(scenario: Scenario | None, points: Sequence[MeasuredPoint]) -> dict[str, Any]:
    """The goals of a scenario, and a table of its measured buffers with the value of each goal."""
    goals = () if scenario is None else tuple(scenario.goals)
    # Goals on these metrics have their columns.
    known = {metric.goal_name for goal in goals if (metric := find(goal.name)) is not None}
    others = [each for each in COSTS if each[0] not in known]
    rows = [
        [
            size(point.bytes),
            f"{point.runs:,}",
            *(_at(goal.name, point.goal(goal.key)) for goal in goals),
            *(show(point) for *_, show in others),
        ]
        for point in points
    ]
    phrases = list(map(goal_phrase, goals))
    return {
        "goals": phrases,
        "heads": ["buffer", "runs", *phrases, *(title for _, title, _ in others)],
        "measured": rows,
    }


#: Metrics that a point has without a goal: the name of the goal, a title, and the text of the value.
COSTS: tuple[tuple[str, str, Callable[[MeasuredPoint], str]], ...] = (
    ("queue_delay_p99", "p99 delay", lambda point: "–" if point.delay_s is None else duration(point.delay_s)),
    ("loss_rate", "loss", lambda point: "–" if point.loss is None else value("loss_rate", point.loss)),
)


def _at(name: str, goal: MeasuredGoal) -> str:
    """The value of a goal at a point, and its verdict."""
    sure = "" if goal.verdict == "undecided" else _sure(goal.confidence)
    return f"{value(name, goal.mean)}: {goal.verdict}{sure}"


def _sure(share: float | None) -> str:
    return "" if share is None else f" ({confidence(share, 0)} sure)"
