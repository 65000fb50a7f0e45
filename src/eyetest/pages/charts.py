"""Charts as files, and as parts of pages with allowed elements only; drawn offline."""

import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

import vl_convert
from altair.typing import ChartType
from markupsafe import Markup

from eyetest.pages.item_counts import ItemCount
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
_ON_PAGE = 1.15  # how much larger a figure is on a page than in a paper, as the page's own type is
ElementTree.register_namespace("", _SVG)


class ChartLinks(dict[str, ItemCount]):
    """Link targets of chart parts. A renderer changes addresses, so a chart holds letters, which this maps."""

    def mark(self, count: ItemCount) -> str:
        """The ``href`` of a part inside a chart."""
        mark = f"{_MARK}{len(self)}"
        self[mark] = count
        return mark


def as_svg(chart: ChartType) -> str:
    """The chart as an SVG file."""
    return str(vl_convert.vegalite_to_svg(_printable(chart.to_dict()), allowed_base_urls=[]))


def as_png(chart: ChartType) -> bytes:
    """The chart as a PNG file, sharp enough for print."""
    spec = _printable(chart.to_dict())
    return bytes(vl_convert.vegalite_to_png(spec, scale=_PAPER_DPI_SCALE, allowed_base_urls=[]))


def for_page(svg: str, label: str, links: ChartLinks | None = None) -> Markup:
    """A drawn SVG as a scalable page element: only shapes, text and known links, no background."""
    root = ElementTree.fromstring(svg)  # noqa: S314 (drawn by us a moment ago)
    paper = root.find(f"{{{_SVG}}}rect")
    if paper is not None:
        root.remove(paper)
    _strip(root, links or {})
    for side in ("width", "height"):
        root.set(side, f"{float(root.attrib[side]) * _ON_PAGE:g}")
    root.set("role", "group" if root.find(f".//{{{_SVG}}}a") is not None else "img")
    root.set("aria-label", label)
    return Markup(ElementTree.tostring(root, encoding="unicode"))  # noqa: S704 (escaped in the writing of it)


def _printable(part: Any) -> Any:
    """A specification without characters that XML forbids, on which the renderer fails."""
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
    element.tag = f"{{{_SVG}}}a"
    element.set("href", to.href)
    element.set("data-items", str(to.items))
    title = ElementTree.Element(f"{{{_SVG}}}title")
    title.text = counted(to.items, "item")
    element.insert(0, title)
