"""Charts become pictures: as a file for a paper, and as part of a page that needs no script.

Drawing is done here and offline; nothing in a chart may fetch anything. For a page the drawing is taken apart and put
together again from the few elements that figures are made of, so that whatever a dataset is called stays text.
"""

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import vl_convert
from altair.typing import ChartType
from markupsafe import Markup

from eyetest.pages.item_counts import ItemCount
from eyetest.pages.narrow import ROOM, narrowed
from eyetest.pages.page import printable
from eyetest.wording import counted

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_MARK = "https://items.invalid/"
_ELEMENTS = {"svg", "g", "path", "rect", "line", "circle", "text", "tspan"}
_ATTRIBUTES = {
    *("d", "x", "y", "dy", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "width", "height", "viewBox", "transform"),
    *("fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-miterlimit"),
    *("opacity", "text-anchor", "dominant-baseline", "font-size", "font-weight"),
}
_LONG_NUMBER = re.compile(r"-?\d*\.\d{3,}(e-\d+)?")
_PAPER_DPI_SCALE = 3.0
_TRIES, _LEAST_PLOT, _MARGIN = 3, 60.0, 14
_TOLERATED = 12
"""Pixels by which a page may shrink a narrow drawing, rather than have it drawn again."""
_ON_PAGE = 1.15
"""How much larger a figure is on a page than in a paper, as the page's own type is."""
ElementTree.register_namespace("", _SVG)


class ChartLinks:
    """Where parts of charts lead. A renderer changes addresses, so a chart holds marks, and a page what they mean."""

    def __init__(self) -> None:
        self._counts: dict[str, ItemCount] = {}

    def mark(self, count: ItemCount) -> str:
        """What a chart holds as ``href`` of a part."""
        mark = f"{_MARK}{len(self._counts)}"
        self._counts[mark] = count
        return mark

    @property
    def known(self) -> Mapping[str, ItemCount]:
        """By mark where it leads."""
        return self._counts


def as_svg(chart: ChartType) -> str:
    """The chart as an SVG file."""
    return str(vl_convert.vegalite_to_svg(_spec(chart), allowed_base_urls=[]))


def as_narrow_svg(chart: ChartType) -> str:
    """The chart as an SVG that fits a phone; words around a plot take room that only drawing it shows."""
    spec, plot = _spec(chart), float(ROOM - _MARGIN)
    for _ in range(_TRIES):
        svg = str(vl_convert.vegalite_to_svg(narrowed(spec, plot), allowed_base_urls=[]))
        over = _width(svg) - ROOM
        if over <= _TOLERATED:
            break
        plot = max(plot - over, _LEAST_PLOT)
    return svg


def on_page(wide: str, narrow: str, label: str, links: "ChartLinks | None" = None) -> Markup:
    """Both drawings of a chart; the width of the screen decides which is seen."""
    return for_page(wide, label, links, "wide") + for_page(narrow, label, links, "narrow", 1.0)


def as_png(chart: ChartType) -> bytes:
    """The chart as a PNG file, sharp enough for print."""
    return bytes(vl_convert.vegalite_to_png(_spec(chart), scale=_PAPER_DPI_SCALE, allowed_base_urls=[]))


def for_page(
    svg: str, label: str, links: ChartLinks | None = None, kind: str = "", larger: float = _ON_PAGE
) -> Markup:
    """A drawn SVG as an element of a page: no paper behind it, and nothing in it but shapes, words and our links."""
    root = ElementTree.fromstring(svg)  # noqa: S314 (drawn by us a moment ago)
    paper = root.find(f"{{{_SVG}}}rect")
    if paper is not None:
        root.remove(paper)
    _strip(root, links.known if links else {})
    for side in ("width", "height"):
        root.set(side, f"{float(root.attrib[side]) * larger:g}")
    if kind:
        root.set("class", kind)
    root.set("role", "group" if root.find(f".//{{{_SVG}}}a") is not None else "img")
    root.set("aria-label", label)
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704 (escaped in the writing of it)


def _width(svg: str) -> float:
    return float(ElementTree.fromstring(svg).attrib["width"])  # noqa: S314 (drawn by us a moment ago)


def _spec(chart: ChartType) -> Any:
    """The chart as the renderer takes it, which dies of a character that XML does not know."""
    return _printable(chart.to_dict())


def _printable(part: Any) -> Any:
    if isinstance(part, str):
        return printable(part)
    if isinstance(part, dict):
        return {name: _printable(value) for name, value in part.items()}
    return [_printable(value) for value in part] if isinstance(part, list | tuple) else part


def _strip(element: ElementTree.Element, links: Mapping[str, ItemCount]) -> None:
    for name in list(element.attrib):
        value = element.attrib[name]
        if name not in _ATTRIBUTES or (name == "opacity" and value == "1"):
            del element.attrib[name]
        else:
            element.attrib[name] = _LONG_NUMBER.sub(lambda match: f"{round(float(match[0]), 2):g}", value)
    for child in list(element):
        kind = child.tag.removeprefix(f"{{{_SVG}}}")
        leads = links.get(child.attrib.get(_LINK, "")) if kind == "a" else None
        if kind == "a":
            child.tag, kind = f"{{{_SVG}}}g", "g"
        unseen = kind == "path" and not {"fill", "stroke"} & child.attrib.keys()
        if kind not in _ELEMENTS or unseen:
            element.remove(child)
            continue
        _strip(child, links)
        if kind == "g" and not len(child):
            element.remove(child)
        elif leads is not None and leads.href:
            _lead(child, leads)


def _lead(element: ElementTree.Element, to: ItemCount) -> None:
    """Make a group a link, which a keyboard reaches and a pointer names."""
    element.tag = f"{{{_SVG}}}a"
    element.set("href", to.href)
    element.set("data-items", str(to.items))
    title = ElementTree.Element(f"{{{_SVG}}}title")
    title.text = counted(to.items, "item")
    element.insert(0, title)
