"""The gallery as users meet it: a real figure by the command, the page in a browser, and the pages of the manual."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from forebay.papers import catalog
from forebay.papers.catalog import PAPERS, Figure, load
from forebay.papers.claims import SIGNS, Measured, judge, reason
from forebay.papers.gallery import Drawn, Gallery
from forebay.papers.page import write_page
from forebay.papers.renewal import MARKS, main, renew, verdicts, verdicts_page
from forebay.papers.reproduction import reproduce
from tests.support.commands import forebay
from tests.support.gallery import claim, finished
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """One real figure, simulated, judged and drawn by the command."""
    out = tmp_path_factory.mktemp("gallery")
    answer = forebay("reproduce", "auge/fig4", "--quick", "--json", "--out", out)
    assert answer.code == 0, answer.err
    return out, json.loads(answer.out)


def test_a_real_figure(real: tuple[Path, dict[str, object]]) -> None:
    out, data = real
    figures = data["figures"]
    assert isinstance(figures, list)
    (figure,) = figures
    assert (figure["paper"], figure["figure"]) == ("auge", "fig4")
    (found,) = figure["claims"]
    assert set(found) >= {"quantity", "claimed", "ours", "half_width", "verdict", "why"}
    assert found["verdict"] == "reproduced"
    assert found["ours"] > 2
    assert 0 < found["half_width"] < found["ours"]
    assert (out / "auge" / "fig4.svg").stat().st_size > 10_000
    before = finished(out)
    repeated = forebay("reproduce", "auge/fig4", "--quick", "--out", out)
    assert repeated.code == 0, repeated.err
    assert "core" in repeated.err  # what it costs, said beforehand
    assert "1 reproduced" in repeated.out
    assert finished(out) == before


@pytest.mark.long
@pytest.mark.parametrize("paper", [each.name for each, _ in catalog.select("all")])
def test_the_coarse_gallery_draws_every_figure_and_judges_its_claims(paper: str, tmp_path: Path) -> None:
    answer = forebay("reproduce", paper, "--quick", "--json", "--out", tmp_path, timeout_s=7200)
    assert answer.code == 0, answer.err
    figures = json.loads(answer.out)["figures"]
    ((_, expected),) = catalog.select(paper)
    assert [f"{figure['paper']}/{figure['figure']}" for figure in figures] == [each.id for each in expected]
    for figure in figures:
        assert not figure["trouble"], figure["figure"]
        assert (tmp_path / paper / f"{figure['figure']}.svg").stat().st_size > 10_000
        assert {claim["verdict"] for claim in figure["claims"]} <= {"reproduced", "not_reproduced", "not_checkable"}


def test_a_folder_keeps_its_figures(real: tuple[Path, dict[str, object]], tmp_path: Path) -> None:
    """Figures reproduced into one folder add to its gallery, in the catalog's order and without repetitions."""
    out = tmp_path / "gallery"
    shutil.copytree(real[0], out)

    def ids() -> list[str]:
        page = (out / "gallery.html").read_text(encoding="utf-8")
        found = re.findall(r'<section id="([^"]+)">', page)
        figures = json.loads((out / "gallery.json").read_text(encoding="utf-8"))["figures"]
        assert found == [f"{figure['paper']}/{figure['figure']}" for figure in figures]
        assert page.count("data:image/png") == len(found)
        return found

    before = json.loads((out / "gallery.json").read_text(encoding="utf-8"))["figures"]
    answer = forebay("reproduce", "avrachenkov/fig4", "--json", "--out", out)
    assert answer.code == 0, answer.err
    assert [figure["figure"] for figure in json.loads(answer.out)["figures"]] == ["fig4"], "what was asked for"
    assert ids() == ["auge/fig4", "avrachenkov/fig4"]
    after = json.loads((out / "gallery.json").read_text(encoding="utf-8"))
    (retained,) = (figure for figure in after["figures"] if figure["paper"] == "auge")
    assert {**retained, "picture": ""} == {**before[0], "picture": ""}, "verdicts and all"
    assert [figure["quick"] for figure in after["figures"]] == [True, False]
    assert "(coarse)" in (out / "gallery.html").read_text(encoding="utf-8")
    assert forebay("reproduce", "avrachenkov/fig1", "--out", out).code == 0
    assert forebay("reproduce", "avrachenkov/fig4", "--out", out).code == 0
    assert ids() == ["auge/fig4", "avrachenkov/fig1", "avrachenkov/fig4"]
    (out / "auge" / "fig4.png").unlink()
    assert forebay("reproduce", "avrachenkov/fig1", "--out", out).code == 0
    assert ids() == ["avrachenkov/fig1", "avrachenkov/fig4"], "a deleted picture"
    (out / "gallery.json").write_text("not JSON", encoding="utf-8")
    assert forebay("reproduce", "avrachenkov/fig1", "--out", out).code == 0
    assert ids() == ["avrachenkov/fig1"]


def test_the_page_is_self_contained(real: tuple[Path, dict[str, object]]) -> None:
    out, _ = real
    page = (out / "gallery.html").read_text(encoding="utf-8")
    assert not re.search(r'(?:src|href)="(?!data:|#)', page)
    assert "<script" not in page
    picture = re.search(r'src="data:image/png;base64,([^"]+)"', page)
    assert picture is not None
    assert base64.b64decode(picture[1]) == (out / "auge" / "fig4.png").read_bytes()


def test_a_failed_drawing_leaves_the_page(tmp_path: Path) -> None:
    paper = load("auge")
    figure = Figure("auge", "fig0", "A <title> & more", "What it shows.", (), (claim({"at_least": 1}),))
    verdict = judge(figure.claims[0], Measured(2.0, 0.0))
    page = write_page(Gallery((Drawn(paper, figure, (verdict,), None, "no data"),), True, tmp_path / "page.html"))
    text = page.read_text(encoding="utf-8")
    assert "No picture: no data" in text
    assert "A &lt;title&gt; &amp; more" in text


CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium to open the page (Debian: apt-get install chromium)")
def test_the_page_in_a_browser(real: tuple[Path, dict[str, object]], tmp_path: Path) -> None:
    """Opened offline at two widths: the picture decodes, nothing is wider than the window, nothing complains."""
    out, _ = real
    probe = (
        "<script>addEventListener('load', () => parent.postMessage({width: innerWidth, "
        "scroll: document.documentElement.scrollWidth, pictures: [...document.images].map(i => i.naturalWidth), "
        "rows: document.querySelectorAll('tbody tr').length}, '*'))</script></body>"
    )
    page = (out / "gallery.html").read_text(encoding="utf-8").replace("</body>", probe)
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    frames = "".join(
        f'<iframe src="page.html" style="width:{width}px;height:800px;border:0"></iframe>' for width in (360, 1600)
    )
    (tmp_path / "frames.html").write_text(
        "<!doctype html><body><pre id=found></pre><script>const all = []; addEventListener('message', e => { "
        "all.push(e.data); document.getElementById('found').textContent = JSON.stringify(all) })</script>" + frames,
        encoding="utf-8",
    )
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--enable-logging=stderr",
            "--virtual-time-budget=10000",
            "--window-size=1700,900",
            "--dump-dom",
            (tmp_path / "frames.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    match = re.search(r'<pre id="found">(.*?)</pre>', done.stdout)
    assert match is not None, done.stderr[-2000:]
    found = {each["width"]: each for each in json.loads(match[1])}
    assert set(found) == {360, 1600}
    for width, each in found.items():
        assert each["scroll"] <= width
        assert each["pictures"] == [1300]
        assert each["rows"] == 1
    assert "CONSOLE" not in done.stderr, done.stderr[-2000:]


def test_reproduce_from_python(tmp_path: Path) -> None:
    messages: list[str] = []
    found = reproduce(
        "avrachenkov/fig6", out=tmp_path, quick=True, progress=lambda _done, _all, name: messages.append(name)
    )
    assert found.counts() == {"reproduced": 2, "not_reproduced": 2, "not_checkable": 0}
    assert messages == ["avrachenkov/fig6"] * len(messages)
    assert (tmp_path / "avrachenkov" / "fig6.png").is_file()


# The documentation's pages ------------------------------------------------------------------------------------------


def test_pages_are_renewed_from_a_gallery(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, docs = tmp_path / "out", tmp_path / "docs"
    found = reproduce("avrachenkov/fig3", quick=True, out=out)
    for folder in (docs / "background" / "papers", docs / "images" / "papers"):
        folder.mkdir(parents=True)
    page = docs / "background" / "papers" / "avrachenkov.md"
    stale = "\n".join(
        ["Above.", "![x](../../images/papers/avrachenkov-fig3.png)", MARKS[0], "stale", MARKS[1], "Below."]
    )
    page.write_text(stale, encoding="utf-8")
    gallery = json.loads((out / "gallery.json").read_text(encoding="utf-8"))
    assert main([str(out), str(docs)]) == 0
    renewed = page.read_text(encoding="utf-8")
    assert "stale" not in renewed
    assert renewed.startswith("Above.")
    assert renewed.endswith("Below.")
    rows = [line for line in renewed.splitlines() if line.startswith("| fig3")]
    assert len(rows) == len(found.drawn[0].verdicts) == 2
    assert all("✓ reproduced" in row for row in rows)
    assert "75 %" in rows[0]
    assert "95 %" in rows[1]
    assert (docs / "images/papers/avrachenkov-fig3.png").read_bytes().startswith(b"\x89PNG")
    renew(gallery, out, docs)
    assert page.read_text(encoding="utf-8") == renewed
    page.write_text(renewed.replace(MARKS[1], ""), encoding="utf-8")
    assert main([str(out), str(docs)]) == 2
    assert MARKS[1] in capsys.readouterr().err
    assert main([str(tmp_path / "nowhere"), str(docs)]) == 2


def test_a_page_says_why_a_claim_is_not_reproduced() -> None:
    values = {"quantity": "loss", "claimed": "≤ 1 %", "ours": 0.02, "half_width": 0.001, "unit": "%"}
    agreed = {**values, "verdict": "reproduced", "why": "the text says so", "evidence": ["ns-2: 0.9 %"]}
    contradicted = {**values, "verdict": "not_reproduced", "why": "bursts overflow", "evidence": ["ns-2: 2.1 %"]}
    text = verdicts([{"figure": "fig1", "claims": [agreed, contradicted]}], quick=False)
    assert "The full version judges 2 claims: 1 reproduced, 1 not reproduced." in text
    assert text.rstrip().splitlines()[-1] == "- **fig1: loss.** Bursts overflow. Elsewhere: ns-2: 2.1 %."
    assert text.count("- **") == 1


def test_every_page_can_be_renewed() -> None:
    docs = ROOT / "docs"
    for name in PAPERS:
        text = verdicts_page(name, docs).read_text(encoding="utf-8")
        assert text.count(MARKS[0]) == text.count(MARKS[1]) == 1, name
        text = (docs / "background" / "papers" / f"{name}.md").read_text(encoding="utf-8")
        for path in re.findall(r"\.\./(images/papers/[\w-]+\.png)", text):
            assert (docs / path).is_file(), path


@pytest.mark.parametrize("name", PAPERS)
def test_a_page_has_the_words_of_the_claims(name: str) -> None:
    """Claims, sources, claimed values and reasons of a page are those of the paper's files."""
    paper = load(name)
    text = verdicts_page(name, ROOT / "docs").read_text(encoding="utf-8")
    table, _, reasons = text.partition(MARKS[0])[2].partition(MARKS[1])[0].partition("\n\nThese claims")
    reasons = " ".join(reasons.split())
    rows = [re.split(r" (?<!\\)\| ", line[2:-2]) for line in table.splitlines() if line.startswith("| ")][1:]
    claims = [(figure.name, each) for figure in paper.figures for each in figure.claims]
    assert len(rows) == len(claims)
    for (figure, *source, quantity, claimed, _ours, verdict), (expected, each) in zip(rows, claims, strict=True):
        region = "–" if each.region is None else each.region.text
        shown = (figure, "".join(source), quantity.replace("\\|", "|"), claimed)
        assert shown == (expected, each.source, each.quantity, region)
        if verdict.startswith(SIGNS["not_reproduced"]):
            entry = f"- **{figure}: {each.quantity}.** {reason(each.otherwise or each.why, each.evidence)}"
            assert entry in reasons


def test_the_list_of_figures_is_json_if_that_is_asked_for() -> None:
    answer = forebay("reproduce", "list", "--json")
    papers = json.loads(answer.out)
    lines = forebay("reproduce", "list").out
    assert [each["name"] for each in papers] == [
        line.partition(":")[0] for line in lines.splitlines() if line[0] != " "
    ]
    figures = [figure for paper in papers for figure in paper["figures"]]
    assert len(figures) > 20
    assert max(map(len, lines.splitlines())) <= 80
    unwrapped = lines.replace("\n" + 25 * " ", " ")
    for figure in figures:
        claims = "1 claim" if figure["claims"] == 1 else f"{figure['claims']} claims"
        assert any(line.split()[0] == figure["id"] and line.endswith(f"({claims})") for line in unwrapped.splitlines())
