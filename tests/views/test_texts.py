"""Texts of others, a title above all: they say something wherever they are shown, and do nothing anywhere."""

from __future__ import annotations

import ast
import io
import itertools
import json
import re
import xml.etree.ElementTree as ET
from contextlib import suppress
from html.parser import HTMLParser
from pathlib import Path

import pytest

from forebay import ForebayError, InputError, Scenario, sweep
from forebay.commands.program import main
from forebay.commands.streams import say, say_json, say_lines
from forebay.commands.terminal import show
from forebay.configuration.drafting import Wishes, draft
from forebay.sanitize import LONGEST, sanitize, sanitize_lines
from forebay.views.chart import Chart, Curve, Flag, Key, Look, Panel, Row, Tip, Words
from forebay.views.chart_figure import draw as draw_chart
from forebay.views.chart_svg import svg
from forebay.views.headline import Headline
from forebay.views.page_charts import WIDE
from forebay.views.pictures import draw
from forebay.views.scales import Axis
from tests.support.paths import ROOT
from tests.support.scenarios import SMALL

#: Every character that does something, or that is none in XML.
CONTROLS = [
    *map(chr, [*range(32), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)]),
    *map(chr, [0xFEFF, 0xFFFE, 0xFFFF]),
]
#: Ends of lines and tabs, which stay where several lines are shown.
ENDS = "\t\n\u2028\u2029"
ANY = re.compile("[" + "".join(re.escape(letter) for letter in CONTROLS if letter not in ENDS) + "]")
BREAKS = "\t\n\x0b\x0c\r\x85\u2028\u2029"
#: Titles that say something, however odd.
ODD = [
    r"$\frac$ and $x_", "100$ and $200", "<script>alert(1)</script>&amp;]]>--><!--", "日本語 😀 עברית", "=cmd|'/c'!A1",
    "[red]x[/red][/nothing] :smile: [link=http://a]b", "\"'`; {{ 7*7 }} {% x %} %s {0}", "a\\nb", "x" * 1000, "_", "\\",
]  # fmt: skip
REFUSED = [
    "a\x1b[31mred\x1b[0m",
    "a\x9b31mz",
    "a\u202egnp\u2066x",
    "a\0b",
    "\ufeffa",
    "\ufffe",
    "x\uffff",
    "\x7f",
    "x" * 1001,
]


def titled(title: str) -> Scenario:
    return Scenario.parse(SMALL.replace('"Small link"', toml(title)))


def toml(text: str) -> str:
    return '"' + "".join(f"\\U{ord(letter):08x}" for letter in text) + '"'


@pytest.mark.parametrize("title", ODD)
def test_a_title_is_what_it_says(title: str) -> None:
    assert titled(title).title == title
    assert Scenario.parse(titled(title).core.canonical_json(), "json").title == title


@pytest.mark.parametrize("title", REFUSED)
def test_a_title_of_controls_is_refused_in_one_line(title: str) -> None:
    for read in (
        lambda: titled(title),
        lambda: Scenario.of({**json.loads(titled("").core.canonical_json()), "title": title}),
        lambda: Scenario.parse(SMALL).changed(f"title={title}"),
        lambda: draft(Wishes(rate="1Mbps", rtt="10ms", long=1, title=title)),
    ):
        with pytest.raises(InputError, match=r"title: found .*allowed: a text of at most 1000 characters") as found:
            read()
        assert not ANY.search(str(found.value))
        assert len(str(found.value)) < 300


@pytest.mark.parametrize("letter", CONTROLS)
def test_no_control_stays_in_a_title(letter: str) -> None:
    if letter in BREAKS:
        assert titled(f"{letter}a{letter}{letter}b{letter}").title == "a b"
        return
    with pytest.raises(InputError, match="title"):
        titled(f"a{letter}b")


@pytest.mark.parametrize("letter", [*CONTROLS, "\udc80"])
def test_what_is_shown_does_nothing(letter: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert letter not in sanitize(f"a{letter}b")
    assert sanitize_lines(f"a{letter}b") == (f"a{letter}b" if letter in ENDS else sanitize(f"a{letter}b"))
    assert (
        letter not in str(ForebayError(f"a{letter}b")) + str(InputError(f"a{letter}b", "x")) + InputError(letter).text
    )
    from rich.text import Text

    say(f"a{letter}b")
    say_lines(f"a{letter}b\n")
    show(Text(f"a{letter}b"))
    say_json(json.dumps(f"a{letter}b"))
    out = capsys.readouterr().out
    assert not ANY.search(out)
    assert json.loads(out.splitlines()[-1]) == f"a{letter}b"


def test_what_is_shown_is_bounded() -> None:
    assert len(sanitize("x" * 10**6)) < LONGEST + 100
    assert len(str(InputError("x" * 10**6))) < LONGEST + 100


def test_one_place_writes_to_the_terminal() -> None:
    """Code that prints by other ways would have to handle control characters again."""
    for path in (ROOT / "python" / "forebay" / "commands").glob("*.py"):
        called = {
            ast.unparse(node.func) for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)
        }
        writes = {
            name for name in called if name in {"click.echo", "print", "click.secho"} or name.endswith(".stdout.write")
        }
        assert writes <= ({"click.echo"} if path.name == "streams.py" else set()), path


class _Page(HTMLParser):
    """Counts scripts and gathers what is read."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.scripts, self.read = 0, ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.scripts += tag == "script"

    def handle_data(self, data: str) -> None:
        self.read += data


@pytest.mark.long
def test_hostile_text_is_only_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripts = set()
    for number, title in enumerate(["plain", "a\nb\u2028c" + " ".join(ODD)[:990]]):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        comment = "# \u202e <script>alert(2)</script> \u2066\n" + SMALL.replace('"Small link"', toml(title))
        (folder / "a\u202eb.toml").write_text(comment, encoding="utf-8")
        for verb in (
            ["run", "a\u202eb.toml", "--trace", "traces", "--set", "run.measure=3s"],
            ["recommend", "a\u202eb.toml", "--engine", "fluid", "--fresh", "--report", "r.html", "--for", "linux"],
            ["sweep", "a\u202eb.toml", "--over", "link.buffer=5p,9p", "--out", "sweep", "--bundle", "b.zip"],
            ["compare", "a\u202eb.toml", "--points", "2", "--replications", "1", "--set", "run.measure=3s"],
            ["plot", "traces"],
            ["plot", "sweep"],
        ):  # fmt: skip
            monkeypatch.setattr("sys.argv", ["forebay", *verb])
            main()
            output = capsys.readouterr()
            assert not ANY.search(output.out + output.err)
            assert "Warning" not in output.err
        for path in folder.rglob("*.svg"):
            text = path.read_text(encoding="utf-8")
            assert not ANY.search(text), path
            assert ET.fromstring(text).tag.endswith("svg")
            assert "<script" not in text
        page = (folder / "r.html").read_text(encoding="utf-8")
        assert not ANY.search(page)
        scripts.add(_Page(page).scripts)
        assert re.sub("[\n\u2028]", " ", title) in _Page(page).read
    assert len(scripts) == 1, "the package's own, and no other"


@pytest.mark.long
def test_labels_of_a_forged_folder_do_nothing(tmp_path: Path) -> None:
    hostile = [r"$\frac$", "\x1b[31m", "\u202ex", "\ufffe", "<b>&"]
    for number, (first, second) in enumerate(itertools.pairwise(hostile)):
        out = tmp_path / f"sweep{number}"
        sweep(Scenario.parse(SMALL), ["link.buffer=5p,9p", "flows.bulk.count=1,2"], out, engine="fluid")
        manifest = out / "manifest.json"
        forged = json.loads(manifest.read_text())
        for axis, text in zip(forged["axes"], (first, second), strict=True):
            axis["values"] = [f"{value}{text}" for value in axis["values"]]
        manifest.write_text(json.dumps(forged))
        with suppress(InputError):
            draw(out)
        for path in out.glob("*.svg"):
            ET.fromstring(path.read_text(encoding="utf-8"))
            assert not ANY.search(path.read_text(encoding="utf-8"))


def test_charts_of_any_label_are_xml() -> None:
    row = Row("c\x9b\0d", series="rule")
    curve = Curve([(1, 0)], Look("blue", marker="o"), [Tip("1", "e\x1b\udc80")], "rule")
    heading = Headline("a\x1b\ufffe$\\frac$", "b\u202e\udc80")
    panel = Panel((row,), (curve, Words(1, 1, 0, "f\x9b", "ink")), note="g\u2066", flag=Flag(1, "h\x1b", "good"))
    legend = [Key("i\x9b\0j", curve.look)]
    chart = Chart(Axis("\ud800\x1b<&>", 0, 2), (panel,), "k\x1b\udc80", heading, legend)
    made = draw_chart(chart)
    for kind in ("svg", "png", "pdf"):
        data = io.BytesIO()
        made.savefig(data, format=kind)
        if kind == "svg":
            assert not ANY.search(data.getvalue().decode())
            ET.fromstring(data.getvalue().decode())
    page = ET.tostring(svg(chart, WIDE), encoding="unicode")
    assert not ANY.search(page)
    assert ET.fromstring(page).tag.endswith("svg")
