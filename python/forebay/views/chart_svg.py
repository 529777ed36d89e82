"""A drawn chart as an element of SVG for a page: small, without names that must be unique, the same at each writing.

Colors are variables of the page's style sheet, texts stay texts in the page's font, and each series has a class by
which the page hides it. A marker with a tip has the class `pt`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import numpy as np

# Before anything of Matplotlib.
import forebay.views.backend  # noqa: F401

# isort: split
from matplotlib.backend_bases import RendererBase
from matplotlib.colors import to_hex
from matplotlib.path import Path
from matplotlib.transforms import Affine2D, Bbox

from forebay.sanitize import sanitize_lines
from forebay.views.chart import COLORS, Chart, Medium, Tip
from forebay.views.chart_figure import draw

if TYPE_CHECKING:
    from matplotlib.backend_bases import GraphicsContextBase
    from matplotlib.font_manager import FontProperties
    from matplotlib.text import Text
    from matplotlib.transforms import Transform
    from matplotlib.typing import ColorType

__all__ = ["svg"]

_VARIABLES = {color: f"var(--{name})" for name, color in COLORS.items()}
_ANCHORS = {"left": "start", "center": "middle", "right": "end"}
_DRAWN = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C", Path.CLOSEPOLY: "Z"}


def svg(chart: Chart, medium: Medium) -> ET.Element:
    """Draw a chart for a page."""
    made = draw(chart, medium)
    for patch in (made.patch, *(axes.patch for axes in made.axes)):
        patch.set_visible(False)
    width, height = (float(each) for each in made.bbox.size)
    renderer = _Renderer(width, height, made.tips)
    made.draw(renderer)
    root = renderer.root
    root.set("class", medium.name)
    root.set("role", "img")
    root.set("tabindex", "0")
    root.set("aria-label", sanitize_lines(chart.label))
    root.set("xmlns", "http://www.w3.org/2000/svg")
    return root


class _Renderer(RendererBase):
    """Builds the element while Matplotlib draws."""

    def __init__(self, width: float, height: float, tips: dict[str, Sequence[Tip]]) -> None:
        super().__init__()
        self.width, self.height, self.tips = width, height, tips
        self.root = ET.Element("svg", {"viewBox": f"0 0 {_px(width)} {_px(height)}"})
        self.open: list[tuple[ET.Element, str]] = [(self.root, "")]

    def get_canvas_width_height(self) -> tuple[float, float]:
        return self.width, self.height

    def flipy(self) -> bool:
        return True

    def open_group(self, s: str, gid: str | None = None) -> None:  # noqa: ARG002
        """Begin the group of an artist; an artist without a mark has none."""
        parent, _ = self.open[-1]
        if gid is not None:
            series, _, _ = gid.partition("-")
            parent = ET.SubElement(parent, "g", {"class": f"s-{series}" if "-" in gid else gid})
        self.open.append((parent, gid or ""))

    def close_group(self, s: str) -> None:  # noqa: ARG002
        """End a group; one without content leaves the page."""
        self.open.pop()

    def _add(self, tag: str, style: str, **attributes: str) -> ET.Element:
        return ET.SubElement(self.open[-1][0], tag, attributes | {"style": style})

    def draw_path(
        self,
        gc: GraphicsContextBase,
        path: Path,
        transform: Transform,
        rgbFace: ColorType | None = None,  # noqa: N803
    ) -> None:
        """Draw lines and areas, of which only what lies in the panel."""
        clip = gc.get_clip_rectangle()
        if rgbFace is None:
            bounds = None if clip is None else clip.extents
            shown = path.cleaned(transform, remove_nans=True, clip=bounds, simplify=path.should_simplify)
        else:
            shown = transform.transform_path(path)
            shown = shown if clip is None else shown.clip_to_bbox(Bbox(clip.get_points()))
        drawn = self._drawn(shown)
        if drawn:
            self._add("path", self._style(gc, rgbFace), d=drawn)

    def draw_markers(
        self,
        gc: GraphicsContextBase,
        marker_path: Path,
        marker_trans: Transform,
        path: Path,
        trans: Transform,
        rgbFace: ColorType | None = None,  # noqa: N803
    ) -> None:
        """Draw a marker at each point; a marker with curves is a circle."""
        shape, style = marker_trans.transform_path(marker_path), self._style(gc, rgbFace)
        curved = shape.codes is not None and bool(np.isin(Path.CURVE4, shape.codes))
        tips = self.tips.get(self.open[-1][1], ())
        clip = gc.get_clip_rectangle()
        for number, (x, y) in enumerate(trans.transform(path.vertices)):
            if clip is not None and not clip.padded(1).contains(x, y):
                continue
            if curved:
                place = {"cx": _px(x), "cy": _px(self.height - y), "r": _px(shape.get_extents().width / 2)}
                element = self._add("circle", style, **place)
            else:
                element = self._add("path", style, d=self._drawn(shape.transformed(Affine2D().translate(x, y))))
            if number < len(tips):
                tip = tips[number]
                element.set("class", "pt")
                element.set("data-buffer", tip.key)
                element.set("data-tip", sanitize_lines(tip.text))
                # For readers without scripts.
                ET.SubElement(element, "title").text = sanitize_lines(tip.text)

    def draw_text(
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: Any = False,  # noqa: ARG002
        mtext: Text | None = None,
    ) -> None:
        """Write a line of text from where it is anchored, so that it fits its place in each font."""
        anchor = "start"
        if mtext is not None:
            anchor = _ANCHORS[mtext.get_horizontalalignment()]
            at_x, at_y = mtext.get_transform().transform(mtext.get_unitless_position())
            # Along the line the anchor counts, and across it the place of this line.
            x, y = (x, self.height - at_y) if angle else (at_x, y)
        style = f"font-size:{_px(prop.get_size_in_points())}px;fill:{_variable(gc)}"
        if prop.get_weight() == "bold":
            style += ";font-weight:700"
        element = self._add("text", style, x=_px(x), y=_px(y))
        element.set("text-anchor", anchor)
        if angle:
            element.set("transform", f"rotate({_px(-angle)} {_px(x)} {_px(y)})")
        element.text = sanitize_lines(s)

    def _drawn(self, path: Path) -> str:
        parts = []
        for vertices, code in path.iter_segments(remove_nans=False, simplify=False, curves=True):
            places = [_px(self.height - v if number % 2 else v) for number, v in enumerate(vertices.tolist())]
            parts.append("Z" if code == Path.CLOSEPOLY else _DRAWN[code] + " ".join(places) if code in _DRAWN else "")
        return "".join(parts)

    def _style(self, gc: GraphicsContextBase, face: ColorType | None) -> str:
        """The colors and the line of a path."""
        parts = ["fill:none" if face is None else f"fill:{_name(face)}"]
        forced = gc.get_alpha() if gc.get_forced_alpha() else None
        if face is not None and (shade := _shade(face, forced)) < 1:
            parts.append(f"fill-opacity:{shade:.2g}")
        if gc.get_linewidth() > 0 and (shade := _shade(gc.get_rgb(), forced)) > 0:
            parts += [f"stroke:{_variable(gc)}", f"stroke-width:{gc.get_linewidth():.2g}"]
            parts += [f"stroke-opacity:{shade:.2g}"] if shade < 1 else []
            _, dashes = gc.get_dashes()
            if dashes is not None:
                parts.append(f"stroke-dasharray:{' '.join(map(_px, np.asarray(dashes).tolist()))}")
        return ";".join(parts)


def _px(length: float) -> str:
    """A length to a tenth of a pixel."""
    return f"{length + 0.0:.1f}".removesuffix(".0")


def _variable(gc: GraphicsContextBase) -> str:
    return _name(gc.get_rgb())


def _name(color: Any) -> str:
    """The variable of a color of the description."""
    found = to_hex(color)
    return _VARIABLES.get(found, found)


def _shade(color: Any, forced: float | None) -> float:
    return float(color[3] if len(color) > 3 else 1.0) if forced is None else float(forced)
