"""A chart laid out anew for a phone.

Scaled down, a figure's words are too small to read; at full size it has to be scrolled. So it is drawn once more:
names stand above their rows, panels that stood side by side break into rows, legends into columns, and cells of
tables shrink.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from math import ceil
from typing import Any

Spec = dict[str, Any]
ROOM = 322
"""How wide a figure may be: a screen of 390 pixels less the margins of page and card."""
BESIDE = "beside"
"""The style of words that stand to the right of the plot; on a phone they stand above their row, at its end."""
_LEAST_PANEL = 60
"""A panel that would become narrower goes to the next row."""
HIGHEST = 260
"""How high a plot may be."""
_SIDE_AXIS = 46
_LABEL = 14
"""The height of a line of words above a row."""
_BAR_ROOM = 8
"""How much of a row's height is left between bars."""
_CELL_LABELS, _LEAST_NUMBERED_CELL = 92, 30
_LETTER, _SYMBOL = 6.6, 30
"""How wide letters of legends are on average, and what stands around their words."""
_LEGENDS = ("color", "shape", "size")
_BESIDE_SHARE = 0.45


def narrowed(spec: Mapping[str, Any], plot: float) -> Spec:
    """The same chart with plots that are together ``plot`` wide; words around them come on top."""
    laid = _laid(deepcopy(dict(spec)), plot)
    title = laid.setdefault("config", {}).setdefault("title", {})
    laid["config"]["title"] = {**title, "limit": ROOM, "subtitleFontSize": 10}
    return laid


def _laid(node: Spec, plot: float) -> Spec:
    if "vconcat" in node:
        node["vconcat"] = [_laid(part, plot) for part in node["vconcat"]]
        return node
    if "hconcat" in node:
        return _in_rows(node, plot)
    if "concat" in node:
        columns = min(node.get("columns", 1), 2)
        node |= {"columns": columns, "spacing": 14}
        node["concat"] = [_laid(part, plot / columns - 40) for part in node["concat"]]
        return node
    return _view(node, plot)


def _in_rows(node: Spec, plot: float) -> Spec:
    """Panels that share their rows, as many side by side as there is room for; the first has the names."""
    panels, spacing = node.pop("hconcat"), node.pop("spacing", 12)
    if any(isinstance(panel.get("width"), dict) for panel in panels):
        return node | {"hconcat": _with_cells(panels, plot - spacing), "spacing": spacing}
    widths = [float(panel["width"]) if isinstance(panel.get("width"), int | float) else plot for panel in panels]
    rows = next(
        rows for rows in range(1, len(panels) + 1) if _fits(widths, rows, plot, spacing) or rows == len(panels)
    )
    names: Spec = next((one["y"]["axis"] for one in _encodings(panels[0]) if one.get("y", {}).get("axis")), {})
    size, parts = ceil(len(panels) / rows), []
    for start in range(0, len(panels), size):
        chunk = list(zip(panels[start : start + size], widths[start : start + size], strict=True))
        for encoding in _encodings(chunk[0][0]):
            if _is_names(encoding.get("y")) and encoding["y"].get("axis", names) is None:
                encoding["y"]["axis"] = deepcopy(names)
        scale = (plot - spacing * (len(chunk) - 1)) / sum(width for _, width in chunk)
        parts.append({"hconcat": [_view(panel, width * scale) for panel, width in chunk], "spacing": spacing})
    return node | (parts[0] if len(parts) == 1 else {"vconcat": parts})


def _with_cells(panels: Sequence[Spec], plot: float) -> list[Spec]:
    """A table of cells with panels beside it, which stay as they are."""
    beside = sum(panel["width"] for panel in panels if not isinstance(panel["width"], dict))
    for panel in panels:
        if isinstance(panel["width"], dict):
            _view(panel, plot - beside)
    return list(panels)


def _fits(widths: Sequence[float], rows: int, plot: float, spacing: float) -> bool:
    size = ceil(len(widths) / rows)
    chunks = [widths[start : start + size] for start in range(0, len(widths), size)]
    return all((plot - spacing * (len(one) - 1)) / sum(one) * min(one) >= _LEAST_PANEL for one in chunks)


def _view(node: Spec, plot: float) -> Spec:
    """One panel."""
    if isinstance(node.get("width"), dict):
        _shrink_cells(node, plot)
    else:
        node["width"] = max(round(plot - (_SIDE_AXIS if _has_side_axis(node) else 0)), _LEAST_PANEL // 2)
        _name_rows(node, plot)
        _break_names(node)
    if isinstance(node.get("height"), int | float):
        node["height"] = min(node["height"], HIGHEST)
    for encoding in _encodings(node):
        for channel in _LEGENDS:
            _break_legend(encoding.get(channel))
    return node


def _encodings(node: Mapping[str, Any]) -> Iterator[Spec]:
    if "encoding" in node:
        yield node["encoding"]
    for layer in node.get("layer", ()):
        yield from _encodings(layer)


def _marks(node: Mapping[str, Any]) -> Iterator[Spec]:
    if isinstance(node.get("mark"), dict):
        yield node["mark"]
    for layer in node.get("layer", ()):
        yield from _marks(layer)


def _has_side_axis(node: Mapping[str, Any]) -> bool:
    """Whether numbers stand to the left of the plot."""
    sides = [one["y"] for one in _encodings(node) if one.get("y", {}).get("type") == "quantitative"]
    return any(side.get("axis", {}) is not None for side in sides)


def _is_names(channel: Any) -> bool:
    return isinstance(channel, dict) and channel.get("type") in ("nominal", "ordinal")


def _name_rows(node: Spec, plot: float) -> None:
    """Names go above their rows, which grow by a line."""
    rows = [one["y"] for one in _encodings(node) if _is_names(one.get("y"))]
    height = node.get("height")
    if not rows or not isinstance(height, dict):
        return
    offsets = [len(one["yOffset"].get("sort") or ()) for one in _encodings(node) if "yOffset" in one]
    if offsets:
        row = height["step"] * max(offsets)
        for y in rows:
            y["scale"] = {**y.get("scale", {}), "paddingInner": _LABEL / (row + _LABEL) + 0.12}
        half = row / 2
    else:
        half = (height["step"] - _BAR_ROOM) / 2
        node["height"] = {"step": height["step"] + _LABEL - 1}
    has_beside = any(mark.get("style") == BESIDE for mark in _marks(node))
    limit = ROOM * (1 - _BESIDE_SHARE) - 8 if has_beside else ROOM - 4
    above = {"labelAlign": "left", "labelPadding": 0, "labelOffset": -(half + _LABEL / 2), "labelLimit": limit}
    for y in rows:
        if y.get("axis", {}) is not None:
            y["axis"] = {**y.get("axis", {}), **above}
    for mark in _marks(node):
        if mark.get("style") == BESIDE:
            mark |= {"align": "right", "dx": 0, "dy": -(half + _LABEL / 2), "limit": plot * _BESIDE_SHARE}


def _break_names(node: Spec) -> None:
    """Names below the plot stand one word a line, so that neighbours do not touch."""
    for x in [one["x"] for one in _encodings(node) if _is_names(one.get("x"))]:
        if x.get("axis", {}) is not None:
            x["axis"] = {"labelExpr": "split(datum.label, ' ')", **x.get("axis", {})}


def _shrink_cells(node: Spec, plot: float) -> None:
    """A table of cells: as large as they can be, with numbers only where these can be read."""
    columns = max((len(one["x"].get("sort") or ()) for one in _encodings(node) if _is_names(one.get("x"))), default=1)
    step = min(node["width"]["step"], max((plot - _CELL_LABELS) / max(columns, 1), 4))
    if isinstance(node.get("height"), dict) and node["height"]["step"] == node["width"]["step"]:
        node["height"] = {"step": step}
    node["width"] = {"step": step}
    high = node["height"]["step"] if isinstance(node.get("height"), dict) else step
    for encoding in _encodings(node):
        for channel, room in (("x", step), ("y", high)):
            if _is_names(encoding.get(channel)) and encoding[channel].get("axis", {}) is not None:
                size = {"labelFontSize": max(7, min(11, room))}
                axis = {**encoding[channel].get("axis", {}), "labelLimit": _CELL_LABELS - 10, **size}
                encoding[channel]["axis"] = {**axis, "labelOverlap": False}
    if "layer" in node and step < _LEAST_NUMBERED_CELL:
        node["layer"] = [layer for layer in node["layer"] if layer.get("mark", {}).get("type") != "text"]


def _break_legend(channel: Any) -> None:
    if not isinstance(channel, dict) or "field" not in channel or channel.get("legend", {}) is None:
        return
    legend = channel.setdefault("legend", {})
    words = [word for word in (channel.get("scale") or {}).get("domain", ()) if isinstance(word, str)]
    if words:
        wide = min(max(map(len, words)) * _LETTER + _SYMBOL, ROOM)
        legend |= {"columns": max(1, min(len(words), int(ROOM / wide))), "labelLimit": ROOM - _SYMBOL}
    if "gradientLength" in legend:
        legend["gradientLength"] = min(legend["gradientLength"], 180)
