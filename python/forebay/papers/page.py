"""The gallery as one HTML page: every picture inside, no script, nothing from the network."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING

from forebay.files import write_whole
from forebay.papers.claims import SIGNS

if TYPE_CHECKING:
    from pathlib import Path

    from forebay.papers.claims import Verdict
    from forebay.papers.gallery import Drawn, Gallery

__all__ = ["write_page"]

_WORDS = {"reproduced": "reproduced", "not_reproduced": "not reproduced", "not_checkable": "not checkable"}

_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 1rem; color: #1b1b1b; background: #fff;
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; margin: .5rem 0; } h2 { margin-top: 3rem; border-bottom: 2px solid #ccc; }
h3 { margin: 2.2rem 0 .3rem; } a { color: #00558c; }
.picture { overflow-x: auto; margin: .8rem 0; } img { display: block; width: 100%; max-width: 56rem; height: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { border-top: 1px solid #ddd; padding: .3rem .5rem; text-align: left; vertical-align: top; }
td.number, th.number { white-space: nowrap; } .why { color: #444; font-size: .88rem; }
.reproduced { color: #00664a; } .not_reproduced { color: #a33f00; } .not_checkable { color: #555; }
.verdict { white-space: nowrap; font-weight: 600; }
@media (max-width: 640px) { thead { display: none; } table, tbody, tr, td { display: block; width: 100%; }
  tr { border-top: 1px solid #bbb; padding: .4rem 0; } td { border: 0; padding: .1rem 0; }
  td[data-title]::before { content: attr(data-title) ": "; color: #555; font-weight: 400; }
  td.number { white-space: normal; } img { min-width: 40rem; } }
@media print { body { max-width: none; } h3, img, tr { break-inside: avoid; } @page { size: A4; margin: 14mm; } }
"""


def write_page(gallery: Gallery) -> Path:
    """Write the page; it appears complete or not at all."""
    papers = list(dict.fromkeys(each.paper.name for each in gallery.drawn))
    counts = gallery.counts()
    said = ", ".join(f"{number} {_WORDS[name]}" for name, number in counts.items())
    kind = "the coarse version (--quick)" if gallery.quick else "the full version"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        f"<title>The paper gallery</title><style>{_STYLE}</style></head><body>",
        "<h1>Router buffers: published figures, reproduced and judged</h1>",
        f"<p>{len(gallery.drawn)} figures and {sum(counts.values())} claims in {kind}: {escape(said)}. Every number is "
        "forebay's own, with a 95 % interval over replications; a claim is reproduced where the whole interval lies in "
        "what the paper claims, not reproduced where it lies outside, and undecided claims count as not checkable. "
        "<code>forebay reproduce all</code> makes this page.</p>",
        "<nav><ul>",
    ]
    for name in papers:
        mine = [each for each in gallery.drawn if each.paper.name == name]
        links = " ".join(f'<a href="#{escape(each.figure.id)}">{escape(each.figure.name)}</a>' for each in mine)
        parts.append(f"<li>{escape(mine[0].paper.title)}: {links}</li>")
    parts.append("</ul></nav><main>")
    for name in papers:
        mine = [each for each in gallery.drawn if each.paper.name == name]
        paper = mine[0].paper
        parts.append(f'<h2 id="{escape(name)}">{escape(paper.title)}</h2>')
        parts.append(f"<p>{escape(paper.authors)}, {escape(paper.venue)}, {paper.year}. {escape(paper.question)}</p>")
        parts.extend(_figure(each) for each in mine)
    parts.append("</main></body></html>\n")
    write_whole(gallery.page, "\n".join(parts))
    return gallery.page


def _figure(drawn: Drawn) -> str:
    figure = drawn.figure
    parts = [
        f'<section id="{escape(figure.id)}"><h3>{escape(figure.id)}: {escape(figure.title)}</h3>',
        f"<p>{escape(figure.shows)}</p>",
    ]
    if drawn.picture is None:
        parts.append(f"<p>No picture: {escape(drawn.trouble)}</p>")
    else:
        data = base64.b64encode(drawn.picture.read_bytes()).decode("ascii")
        image = f'<img src="data:image/png;base64,{data}" alt="{escape(figure.title)}">'
        parts.append(f'<div class="picture" tabindex="0">{image}</div>')
    if drawn.verdicts:
        parts.append(
            '<table><thead><tr><th>claim</th><th class="number">claimed</th><th class="number">ours</th>'
            "<th>verdict</th></tr></thead><tbody>"
        )
        parts.extend(_row(verdict) for verdict in drawn.verdicts)
        parts.append("</tbody></table>")
    return "\n".join([*parts, "</section>"])


def _row(verdict: Verdict) -> str:
    claim = verdict.claim
    claimed = "–" if claim.region is None else claim.region.text
    evidence = "".join(f"<br>Elsewhere: {escape(entry)}" for entry in claim.evidence)
    return (
        f'<tr><td>{escape(claim.quantity)}<div class="why">{escape(verdict.why)}{evidence}</div></td>'
        f'<td class="number" data-title="claimed">{escape(claimed)}</td>'
        f'<td class="number" data-title="ours">{escape(verdict.ours)}</td>'
        f'<td class="verdict {verdict.verdict}">{SIGNS[verdict.verdict]} {_WORDS[verdict.verdict]}</td></tr>'
    )
