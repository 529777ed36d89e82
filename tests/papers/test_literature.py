"""The claims of the literature: their sources, the reasons of deviations, the pictures, and a sample of runs."""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from forebay import models
from forebay.errors import InputError
from forebay.papers import drawing
from forebay.papers.catalog import PAPERS, Figure, load
from forebay.papers.claims import SIGNS, Claim, Measured, Verdict, judge
from forebay.papers.gallery import Drawn, Gallery
from forebay.papers.page import write_page
from forebay.papers.renewal import verdicts, verdicts_page
from forebay.papers.reproduction import reproduce
from forebay.papers.view import summary, table
from tests.support.paths import ROOT

LITERATURE = load("literature")
CLAIMS = [claim for figure in LITERATURE.figures for claim in figure.claims]
COUNTED = [claim for claim in CLAIMS if not claim.recalled]
PAGE = verdicts_page("literature", ROOT / "docs")


# Sources ------------------------------------------------------------------------------------------------------------


def test_forty_claims_of_fifteen_sources_count() -> None:
    assert len(COUNTED) >= 40
    assert len({claim.source.split(",")[0] for claim in COUNTED}) >= 15


def test_at_most_five_claims_are_of_one_table() -> None:
    assert max(Counter(claim.source for claim in COUNTED).values()) <= 5


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.quantity)
def test_every_claim_has_a_source_a_number_and_a_tolerance(claim: Claim) -> None:
    assert claim.source
    assert claim.recalled or claim.seen
    assert claim.measure is not None
    assert claim.region is not None
    assert claim.why
    assert (claim.at is None) == (not claim.series)


def test_a_source_needs_a_text_in_which_it_was_looked_up() -> None:
    values = {"quantity": "a number", "why": "because", "measure": "1", "claimed": {"at_least": 1}, "source": "a paper"}
    for wrong in (values, {**values, "seen": "its text", "recalled": True}, {**values, "recalled": "yes"}):
        with pytest.raises(InputError, match="recalled"):
            Claim.parse(wrong, "here")
    assert Claim.parse({**values, "recalled": True}, "here").recalled
    assert Claim.parse({**values, "seen": "its text"}, "here").seen == "its text"


def test_recalled_claims_are_judged_and_not_counted(tmp_path: Path) -> None:
    found = _judged(lambda claim: Measured(_published(claim), 0.0))
    gallery = Gallery(tuple(found), False, tmp_path / "page.html")
    assert sum(gallery.counts().values()) == len(COUNTED)
    assert gallery.recalled == len(CLAIMS) - len(COUNTED) > 0
    assert f"{len(COUNTED)} claims: {len(COUNTED)} reproduced" in summary(gallery)
    assert f"{gallery.recalled} recalled, not counted" in summary(gallery)
    text = verdicts([each.as_dict() for each in found], quick=False)
    assert f"The full version judges {len(COUNTED)} claims: {len(COUNTED)} reproduced." in text
    assert text.count("(recalled, not counted)") == gallery.recalled
    assert write_page(gallery).read_text(encoding="utf-8").count("(recalled, not counted)") == gallery.recalled


def test_the_answer_comes_first_and_fits_eighty_columns() -> None:
    from rich.console import Console

    console = Console(width=80, file=io.StringIO(), record=True)
    console.print(table(Gallery(tuple(_judged(lambda claim: Measured(_published(claim), 0.0))), False, PAGE)))
    lines = console.export_text().splitlines()
    assert lines[0].startswith(f"{len(LITERATURE.figures)} figures, {len(COUNTED)} claims: {len(COUNTED)} reproduced")
    assert max(len(line.rstrip()) for line in lines) <= 80


# Pictures -----------------------------------------------------------------------------------------------------------


class Known:
    """Results whose measurements are known."""

    def __init__(self, measure: Callable[[Claim], Measured]) -> None:
        self._measure = measure

    def judge(self, claim: Claim) -> Verdict:
        return judge(claim, self._measure(claim))


def _published(claim: Claim) -> float:
    assert claim.region is not None
    low, high = claim.region.low, claim.region.high
    return (low + high) / 2 if math.isfinite(low + high) else low if math.isfinite(low) else high


def _judged(measure: Callable[[Claim], Measured]) -> list[Drawn]:
    results = Known(measure)
    return [
        Drawn(LITERATURE, figure, tuple(results.judge(claim) for claim in figure.claims), None, "not drawn")
        for figure in LITERATURE.figures
    ]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("figure", LITERATURE.figures, ids=lambda figure: figure.name)
def test_every_picture_shows_each_published_value_beside_ours(figure: Figure) -> None:
    """A row has both numbers in its text; a curve has an open mark at the published value and a point at ours."""
    module = import_module("forebay.papers.literature.drawing")
    drawn = getattr(module, figure.name.replace("-", "_"))
    results = Known(lambda claim: Measured(1.5 * _published(claim), 0.0))
    picture = drawn(results, figure)
    drawing.complete(picture, "the link", [results.judge(claim) for claim in figure.claims])
    picture.canvas.draw()
    texts = [text.get_text() for axis in picture.axes for text in axis.texts]
    points = {
        (marker, float(x), float(y))
        for axis in picture.axes
        for line in axis.lines
        for marker in [line.get_marker()]
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    }
    for claim in figure.claims:
        assert claim.region is not None
        verdict = judge(claim, Measured(1.5 * _published(claim), 0.0))
        if claim.at is None:
            words = f"published {claim.region.text}, forebay {verdict.ours} {SIGNS[verdict.verdict]}"
            assert words in texts, claim.quantity
        else:
            low, high = claim.region.low, claim.region.high
            mark = "s" if math.isfinite(low + high) else "^" if math.isfinite(low) else "v"
            assert (mark, claim.at, _published(claim)) in points, claim.quantity
            assert ("o", claim.at, 1.5 * _published(claim)) in points, claim.quantity


@pytest.mark.sampled(1)
@pytest.mark.parametrize("paper", [name for name in PAPERS if name != "literature"])
def test_rows_of_published_values_lie_below_every_panel_and_legend(paper: str) -> None:
    results = Known(lambda claim: Measured(1.5 * _published(claim), 0.01))
    for figure in load(paper).figures:
        claims = [claim for claim in figure.claims if claim.region is not None]
        verdicts = [results.judge(claim) for claim in claims]
        picture, axes = drawing.grid(1, 2)
        for axis in axes.flat:
            axis.plot([1, 2], [3, 4], label="a curve")
            axis.set_xlabel("time (s)")
        drawing.legend_below(picture, list(axes.flat))
        drawing.title(picture, figure.title)
        drawing.complete(picture, "the link", verdicts)
        measured = [each for each in verdicts if each.measured is not None]
        if not measured:
            continue
        picture.canvas.draw()
        *panels, rows = picture.axes
        top = rows.get_tightbbox().y1
        (legend,) = (each.get_window_extent() for each in picture.legends)
        assert legend.y0 > top, figure.id
        joined = " ".join(text.get_text() for text in rows.texts if text.get_ha() == "left")
        assert all(verdict.claim.quantity in joined for verdict in measured), "no claim is cut"
        entries = [] if rows.get_legend() is None else rows.get_legend().texts[1:]
        colors = {text.get_text().removeprefix("forebay, ") for text in entries}
        known = {each.verdict.replace("_", " ") for each in measured if _published(each.claim)}
        assert colors == known, "a color for each verdict, and for no other"
        assert all(axis.get_tightbbox().y0 > legend.y1 for axis in panels), figure.id
        texts = [text.get_text() for text in rows.texts]
        for verdict in measured:
            assert verdict.claim.region is not None
            words = f"published {verdict.claim.region.text}, forebay {verdict.ours} {SIGNS[verdict.verdict]}"
            assert words in texts, verdict.claim.quantity
        boxes = [text.get_window_extent() for text in rows.texts]
        assert all(picture.bbox.x0 <= box.x0 and box.x1 <= picture.bbox.x1 for box in boxes), figure.id


# Reasons of deviations ----------------------------------------------------------------------------------------------

#: Window after a loss, and after another round trip that ends a number of seconds later.
Law = tuple[Callable[[float, float], dict[str, float]], Callable[[dict[str, float], float, float], float]]


def reno() -> Law:
    """RFC 5681: one packet more in a round trip, half after a loss."""
    return (lambda window, _last: {"window": max(1.0, window / 2)}), (lambda _state, window, _time: window + 1)


def cubic(rtt: float, scaling: float = 0.4, retained: float = 0.7) -> Law:
    """RFC 9438, sections 4.2 to 4.7, with fast convergence and the Reno-friendly window."""

    def cut(window: float, last: float) -> dict[str, float]:
        plateau = window if window >= last else window * (1 + retained) / 2
        begin = retained * window
        delay = float(np.cbrt((plateau - begin) / scaling))
        return {"window": begin, "plateau": plateau, "begin": begin, "peak": window, "delay": delay}

    def grow(state: dict[str, float], _window: float, time: float) -> float:
        slope = 3 * (1 - retained) / (1 + retained)
        friendly = state["begin"] + slope * time / rtt
        if friendly > state["peak"]:
            friendly = state["peak"] + time / rtt - (state["peak"] - state["begin"]) / slope
        return max(1.0, scaling * (time - state["delay"]) ** 3 + state["plateau"], friendly)

    return cut, grow


def mean_window(law: Law, loss: float, rtt: float, *, evenly: bool, losses: int = 4000) -> float:
    """Mean window of a law alone, round by round, over `losses` losses."""
    cut, grow = law
    random = np.random.default_rng(1)
    window, last, packets, rounds = 1.2 / math.sqrt(loss), 0.0, 0.0, 0.0
    for _ in range(losses):
        state = cut(window, last)
        last, window = window, state["window"]
        left, time = (1 / loss if evenly else float(random.geometric(loss))), 0.0
        while left > window:
            packets, rounds, left, time = packets + window, rounds + 1, left - window, time + rtt
            window = grow(state, window, time)
        packets, rounds = packets + left, rounds + left / window
    return packets / rounds


def test_independent_losses_explain_the_windows_above_the_tables() -> None:
    for loss, printed in ((1e-3, 38), (1e-4, 120)):
        even = mean_window(reno(), loss, 0.1, evenly=True)
        independent = mean_window(reno(), loss, 0.1, evenly=False)
        assert even == pytest.approx(printed, rel=0.02)
        assert 1.04 < independent / even < 1.10
    for rtt, loss, printed in ((0.1, 1e-3, 38), (0.1, 1e-4, 187), (0.01, 1e-3, 38), (0.01, 1e-4, 120)):
        even = mean_window(cubic(rtt), loss, rtt, evenly=True)
        independent = mean_window(cubic(rtt), loss, rtt, evenly=False)
        assert even == pytest.approx(printed, rel=0.05)
        assert 1.10 < independent / even < 1.22


def test_the_script_of_rfc_3649_rounds_the_response_function() -> None:
    """Table 6 from the RFC's own rounded growth, and from the exact one."""

    def decrease(window: float) -> float:
        return 0.5 + (0.1 - 0.5) * math.log(window / 38) / math.log(83000 / 38)

    def rounded(window: float) -> float:
        cut = decrease(window)
        return max(1.0, window**0.8 * 2 * cut / ((2 - cut) * 12.8))

    def exact(window: float) -> float:
        return float(models.call("hstcp-throughput", "increase", window=window)) if window > 38 else 1.0

    def after(growth: Callable[[float], float]) -> float:
        window = 1.0
        for _ in range(999):
            window += growth(window)
        return window

    assert after(rounded) == pytest.approx(17_409, abs=1)
    assert after(exact) == pytest.approx(18_004, abs=2)


def test_the_example_of_rfc_3742_contradicts_its_formula() -> None:
    formula = math.log2(100) + (83_000 - 100) / (100 / 2)
    assert round(formula) == 1665
    assert round(math.log2(100) + (83_000 - 100) / 100) == 836


def test_the_claims_about_bbr_are_the_models_numbers() -> None:
    """Ware et al., equations (9) to (11): 10 Mb/s, 40 ms, packets of 1500 bytes, one BBR flow, a cap of two BDP."""
    capacity, rtt = 10e6 / 8 / 1500, 0.040
    found = 0
    for claim in CLAIMS:
        if claim.source.startswith("Ware et al. 2019, equations"):
            buffer = claim.at or 64.0
            queue = buffer * capacity * rtt
            others = max(0.0, 1 / 2 - 1 / (2 * buffer) - 4 / queue)
            probing = (queue / capacity + 0.2 + rtt) / 10
            assert _published(claim) == pytest.approx((1 - others) * (1 - probing), abs=0.0006)
            found += 1
    assert found == 5


# A sample of runs ---------------------------------------------------------------------------------------------------


def _verdicts_of_the_page() -> dict[tuple[str, str], str]:
    rows = re.findall(r"^\| ([\w-]+) \| [^|]* \| (.*?) \| .*? \| .*? \| (\S) ", PAGE.read_text(encoding="utf-8"), re.M)
    return {(figure, quantity): sign for figure, quantity, sign in rows}


def test_the_page_has_every_claim() -> None:
    page = _verdicts_of_the_page()
    assert {(figure.name, claim.quantity) for figure in LITERATURE.figures for claim in figure.claims} == set(page)


def test_a_claim_that_is_not_reproduced_has_a_cause() -> None:
    page = _verdicts_of_the_page()
    for figure in LITERATURE.figures:
        for claim in figure.claims:
            if page[figure.name, claim.quantity] == SIGNS["not_reproduced"]:
                assert claim.otherwise, (figure.name, claim.quantity)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["dctcp", "fairness"])
def test_a_sample_has_the_verdicts_of_the_page(name: str, tmp_path: Path) -> None:
    """Every verdict of the coarse version agrees with the page; an open one may be either."""
    page = _verdicts_of_the_page()
    (drawn,) = reproduce(f"literature/{name}", quick=True, out=tmp_path).drawn
    assert drawn.trouble == ""
    decided = [each for each in drawn.verdicts if each.verdict != "not_checkable"]
    assert len(decided) >= len(drawn.verdicts) / 2
    for verdict in decided:
        expected = page[name, verdict.claim.quantity]
        assert expected in (SIGNS[verdict.verdict], SIGNS["not_checkable"]), verdict
