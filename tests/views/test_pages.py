"""Pages: whatever texts they are given, their markup is that of their templates, and no markup is written elsewhere."""

from __future__ import annotations

import ast
import dataclasses
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from forebay import Scenario, Warning, recommend
from forebay.configuration.configuring import Configuration
from forebay.papers.catalog import Figure, load
from forebay.papers.claims import Claim, Measured, Region, Verdict
from forebay.papers.gallery import Drawn, Gallery
from forebay.papers.page import write_page
from forebay.search.answer import Recommendation
from forebay.search.answer_parts import JudgedGoal
from forebay.search.tradeoff import front
from forebay.views import pages
from forebay.views.webpage import recommendation_page
from tests.support.markup import HARMLESS, HOSTILE, PACKAGE, VIEWS, Reading
from tests.support.scenarios import SMALL

#: Style sheets and scripts of pages.
ASSETS = ("webpage.css", "webpage.js", "gallery.css", "fleet.css", "fleet.js")
#: Values that are words of the program, not of a user.
FIXED = {"sense", "met_replications", "replications"}


def said_by(text: str, data: Any) -> Any:
    """The same data with another text wherever a text is, and in the place of the group "bulk"."""
    if isinstance(data, Scenario):
        return data
    if dataclasses.is_dataclass(data) and not isinstance(data, type):
        names = [field.name for field in dataclasses.fields(data) if field.name not in FIXED]
        return dataclasses.replace(data, **{name: said_by(text, getattr(data, name)) for name in names})
    if isinstance(data, Mapping):
        return {key.replace("bulk", text): said_by(text, value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return type(data)(said_by(text, each) for each in data)
    if isinstance(data, str):
        statements = data.replace("bulk", text) if "bulk." in data else text
        return data.saying(statements) if isinstance(data, Warning) else statements
    return data


@pytest.fixture(scope="module")
def answers() -> tuple[Recommendation, ...]:
    """With everything that a page can show: goals of a group, a front, a configuration, warnings, a conflict."""
    scenario = Scenario.parse(SMALL)
    found = recommend(scenario, ["utilization>=0.85", "bulk.goodput>=0.5Mbps"], also=["5p"], sensitivity=True)
    configuration = Configuration("any", ("one", "two"), "a manual", ("a quirk",))
    complete = dataclasses.replace(
        found,
        pareto=front(found, "utilization,queue_delay_p99"),
        configurations=(configuration,),
        warnings=(Warning("note", "one"), Warning("note", "two")),
    )
    conflict = recommend(scenario, ["bulk.goodput>=1.2Mbps", "queue_delay_p99<=20ms"])
    assert conflict.conflict is not None
    return complete, conflict


def page_saying(text: str, answer: Recommendation) -> str:
    """The page of an answer all of whose texts are the same."""
    resolved = answer.scenario.resolved
    traffic = {
        "links": [{**link, "name": text, "queue": {"kind": text}} for link in resolved["links"] * 2],
        "flows": [{**group, "name": text, "cca": {"kind": text}, "rtt": text} for group in resolved["flows"]],
        "run": {"warmup": text, "measure": text},
    }
    scenario: Any = SimpleNamespace(title=text, resolved=traffic, core=answer.scenario.core)
    statements: Recommendation = said_by(text, answer)
    # Names of metrics, and of goals beside their group, are checked when the scenario is read.
    goals = {name.replace("bulk", text): _judged(text, goal) for name, goal in answer.goals.items()}
    return recommendation_page(
        dataclasses.replace(
            statements, scenario=scenario, goals=goals, pareto=answer.pareto, binding_goal=answer.binding_goal
        ),
        source=text,
        command=text,
    )


def _judged(text: str, judged: JudgedGoal) -> JudgedGoal:
    return dataclasses.replace(
        judged, goal=dataclasses.replace(judged.goal, name=judged.goal.name.replace("bulk", text))
    )


def test_a_report_takes_no_text_for_markup(answers: tuple[Recommendation, ...]) -> None:
    for answer in answers:
        page, harmless = page_saying(HOSTILE, answer), page_saying(HARMLESS, answer)
        found = Reading(page)
        assert found.elements == Reading(harmless).elements
        assert found.inside("script") == (VIEWS / "webpage.js").read_text(encoding="utf-8").strip()
        assert found.inside("style") == (VIEWS / "webpage.css").read_text(encoding="utf-8").strip()
        # Every text arrives, as often as a harmless one.
        arrived = sum(text.count(HOSTILE) for text in [*found.values, *(text for _, text in found.texts)])
        assert arrived == harmless.count(HARMLESS) > 50
        assert "alert(1)</script>" not in page
        assert "<img" not in page


def test_a_report_shows_each_of_its_texts(answers: tuple[Recommendation, ...]) -> None:
    """A text that is there once arrives."""
    found, conflict = answers
    changed = dataclasses.replace(
        found,
        warnings=(Warning("note", "be careful"), Warning("note", "be more careful")),
        configurations=(Configuration("any", ("line a", "line b"), "a manual", ("odd",)),),
    )
    page = recommendation_page(changed, source="# its text", command="the command")
    read = Reading(page)
    items = [text for owner, text in read.texts if owner == "li"]
    assert [item for item in items if item.startswith(("be ", "odd"))] == ["odd", "be careful", "be more careful"]
    assert {"line a\nline b", "# its text", "the command"} <= {text for owner, text in read.texts if owner == "pre"}
    assert ("p", "Source: a manual") in read.texts
    assert page.count('<tr class="met">') == len(found.goals)
    missed = recommendation_page(conflict, source="", command="")
    states = [goal.met for goal in conflict.goals.values()]
    assert [missed.count(f'<tr class="{state}">') for state in ("met", "missed")] == [sum(states), states.count(False)]
    assert not all(states)


def test_urgent_warnings_stand_above_the_answer(answers: tuple[Recommendation, ...]) -> None:
    urgent, other = Warning("high_loss", "much is lost"), Warning("note", "a remark")
    for answer in answers:
        page = recommendation_page(dataclasses.replace(answer, warnings=(other, urgent)), source="", command="")
        assert page.count("much is lost") == page.count("a remark") == 1
        places = [page.index(text) for text in ("much is lost", "The answer</h2>", "a remark")]
        assert places == sorted(places)


def test_the_page_of_an_undecided_search_recommends_nothing(answers: tuple[Recommendation, ...]) -> None:
    found, conflict = answers
    ends = found.points[0].buffer, found.points[1].buffer
    for answer in (found, conflict):
        changed = dataclasses.replace(answer, verdict="undecided", buffer=None, between=ends, warnings=())
        read = Reading(recommendation_page(changed, source="", command=""))
        text = " ".join(text for _, text in read.texts)
        assert f"Undecided: a buffer between {ends[0].number:,.0f} and {ends[1].number:,.0f} packets may meet" in text
        assert not any(name in text for name in ("recommend ", "recommended", "nearest miss", "No buffer"))


def test_each_cell_carries_its_column(answers: tuple[Recommendation, ...]) -> None:
    """Where there is no room for a table's head, as on a telephone."""
    page = recommendation_page(answers[0], source="", command="")
    tables = re.findall(r'<table class="stack">.*?</table>', page, re.DOTALL)
    assert len(tables) == 5
    for table in tables:
        root = ElementTree.fromstring(table)
        head = [cell.text for cell in root.findall("thead/tr/th")]
        rows = [[cell.get("data-label") for cell in row] for row in root.findall("tbody/tr")]
        assert rows == [head] * len(rows)
        assert rows


def test_charts_are_well_formed_whatever_they_say(answers: tuple[Recommendation, ...]) -> None:
    for answer in answers:
        drawn = re.findall(r"<svg.*?</svg>", page_saying(HOSTILE, answer), re.DOTALL)
        assert len(drawn) >= 8
        texts = [text for drawing in drawn for text in ElementTree.fromstring(drawing).itertext()]
        assert sum(HOSTILE in text for text in texts) > 10


def test_a_gallery_takes_no_text_for_markup(tmp_path: Path) -> None:
    def gallery(text: str) -> str:
        region = Region(0.0, 1.0, text)
        claims = [Claim(text, region, text, text, text, text, (text, text), text) for _ in range(2)]
        figure = Figure(text, text, text, text, (), tuple(claims))
        paper = dataclasses.replace(
            load("auge"), name=text, title=text, authors=text, venue=text, question=text, figures=(figure,)
        )
        verdicts = tuple(Verdict(each, Measured(0.5, 0.1), "not_reproduced", text) for each in claims)
        picture = tmp_path / "picture.png"
        picture.write_bytes(b"\x89PNG")
        drawn = (Drawn(paper, figure, verdicts, picture), Drawn(paper, figure, (), None, text))
        return write_page(Gallery(drawn, True, tmp_path / "page.html")).read_text(encoding="utf-8")

    page, harmless = gallery(HOSTILE), gallery(HARMLESS)
    found = Reading(page)
    assert found.elements == Reading(harmless).elements
    assert "script" not in {element[0] for element in found.elements}
    assert found.inside("style") == (VIEWS / "gallery.css").read_text(encoding="utf-8").strip()
    arrived = sum(text.count(HOSTILE) for text in [*found.values, *(text for _, text in found.texts)])
    assert arrived == harmless.count(HARMLESS) > 30


def test_a_template_refuses_what_its_page_has_not() -> None:
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="title"):
        pages.render("recommendation.html.j2", SimpleNamespace())


def test_only_pages_import_jinja() -> None:
    """The command line starts, and a report's view model is built, without it."""
    code = "import sys, forebay, forebay.__main__, forebay.views.webpage, forebay.papers.page; "
    code += "print({'jinja2', 'markupsafe', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# Markup stands in templates ------------------------------------------------------------------------------------------

#: Elements of HTML and SVG.
ELEMENTS = (
    "a|abbr|article|aside|b|base|blockquote|body|br|button|caption|circle|code|col|colgroup|defs|desc|details|div|dl|dt|dd"
    "|ellipse|em|figcaption|figure|footer|form|g|h1|h2|h3|h4|h5|h6|head|header|hr|html|i|iframe|image|img|input|label|li"
    "|line|link|main|marker|mask|meta|nav|object|ol|option|p|path|pattern|polygon|polyline|pre|rect|script|section|select"
    "|small|source|span|strong|style|sub|summary|sup|svg|symbol|table|tbody|td|text|textarea|tfoot|th|thead|title|tr|tspan"
    "|u|ul|use|var|video"
)
GAP = "\N{REPLACEMENT CHARACTER}"
MARKUP = re.compile(
    rf"""
    </?(?:{ELEMENTS})(?:\s[^<>]*)?/?>  # a tag
    | <(?:{ELEMENTS})\s+[\w-]+=  # the beginning of one
    | </?{GAP}[^<>]*>  # one whose name is filled in
    | <!doctype | &(?:\w+|\#x?\w+);
    """,
    re.IGNORECASE | re.VERBOSE,
)
#: Placeholders for the file name of a scenario that is given as text.
PLACEHOLDERS = {"<text>"}


def texts(code: str) -> Iterator[tuple[int, str]]:
    """Every text of a module but what documents it, by line; f-strings with a mark for what is filled in."""
    tree = ast.parse(code)
    passed = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            passed.add(node.value)  # documentation
        if isinstance(node, ast.JoinedStr):
            passed |= set(node.values)
    for node in ast.walk(tree):
        if node in passed:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [str(part.value) if isinstance(part, ast.Constant) else GAP for part in node.values]
            yield node.lineno, "".join(parts)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def markup(code: str) -> list[str]:
    """The tags and entities in a module's texts, by line."""
    found = [(line, MARKUP.search(text)) for line, text in texts(code) if text not in PLACEHOLDERS]
    return [f"{line}: {match[0]}" for line, match in found if match is not None]


def test_markup_stands_in_templates_only() -> None:
    # Readers of inputs name how a text begins that is one.
    readers = PACKAGE / "observation" / "inputs"
    paths = [path for path in PACKAGE.rglob("*.py") if readers not in path.parents]
    found = {path.name: markup(path.read_text(encoding="utf-8")) for path in paths}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "code",
    [
        'print("<p>")',
        "page += '</table>'",
        'cell = f"<td>{text}</td>"',
        "cell = f\"<td data-label='{name}'>{text}\"",
        'tag = f"<{name}>"',
        'tag = f"</{name}>"',
        'head = "<!doctype html>"',
        "point = f'<circle cx=\"{x}\"'",
        'join = "<br>".join(lines)',
        'gap = "&nbsp;"',
        'def drawn():\n    """Says what."""\n    return "<svg>"',
    ],
)
def test_markup_is_seen(code: str) -> None:
    assert len(markup(code)) == 1


@pytest.mark.parametrize(
    "code",
    [
        '"""Writes `<p>`."""',
        'def drawn():\n    """Writes <p>."""',
        'name = "<text>"',
        'usage = "queue-limit <value>"',
        'marks = ("<!-- verdicts: begin -->",)',
        'both = f"{low} < {middle} > {high}"',
        'group = r"(?P<low>\\d+)"',
    ],
)
def test_other_signs_are_not_taken_for_markup(code: str) -> None:
    assert markup(code) == []


def test_escaping_is_left_to_the_templates() -> None:
    """Nothing escapes by hand, and nothing but a page's own files is exempt."""
    for path in PACKAGE.rglob("*.py"):
        names = re.findall(r"^\s*(?:from|import) (html|markupsafe|jinja2)\b", path.read_text("utf-8"), re.MULTILINE)
        assert path == VIEWS / "pages.py" or not names, path
    templates = sorted((VIEWS / "templates").iterdir())
    assert {path.suffix for path in templates} == {".j2"}
    for path in templates:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\|\s*safe\b|autoescape|Markup", text), path
        assert set(re.findall(r'asset\("([^"]*)"\)', text)) <= set(ASSETS), path


@pytest.mark.parametrize("name", ASSETS)
def test_assets_do_not_end_their_element(name: str) -> None:
    assert "</" not in (VIEWS / name).read_text(encoding="utf-8")
