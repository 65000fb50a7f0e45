"""The colours of figures, safe for the colour-blind; style rules replace each by its counterpart on dark pages."""

from typing import Any

INK, SOFT, LINE, PAPER = "#1f2328", "#5c636b", "#e2e2dc", "#ffffff"
SIGHTED, BLIND, BASE, QUIET = "#2c5f8a", "#d07a1f", "#7a5aa6", "#a9afb5"
CATEGORIES = (SIGHTED, BLIND, "#2a8f7a", "#b0457f", "#8a7a10", "#57a5d4")  # up to six; they differ in shape as well
SHAPES = ("circle", "diamond", "square", "triangle-up", "cross", "triangle-down")
VERDICTS = {"keep": "#c9cfd4", "fix": "#57a5d4", "review": "#e0a832", "drop": "#b3402e"}

_DARK = {
    INK: "#e4e6e8",
    SOFT: "#a0a7af",
    LINE: "#333940",
    SIGHTED: "#86b4de",
    BLIND: "#eba45a",
    BASE: "#b79be0",
    QUIET: "#6d747b",
    "#2a8f7a": "#5cc2ab",
    "#b0457f": "#e08bb8",
    "#8a7a10": "#d3c04d",
    "#57a5d4": "#5fb0e0",
    VERDICTS["keep"]: "#4a525a",
    VERDICTS["review"]: "#d9a83e",
    VERDICTS["drop"]: "#e2705f",
}


def dark_rules() -> str:
    """The style rules of a figure on dark pages."""
    return "\n".join(
        f'.plot [{part}="{light}"] {{ {part}: {dark}; }}'
        for light, dark in _DARK.items()
        for part in ("fill", "stroke")
    )


def config() -> dict[str, Any]:
    """The style of all figures: few lines, small type, names in ink and everything else soft."""
    labels = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 240}
    soft = {"labelColor": SOFT, "titleColor": SOFT, "gridColor": LINE, "domainColor": LINE, "tickColor": LINE}
    bare = {"grid": False, "domain": False, "ticks": False, "labelColor": INK, "labelPadding": 8, "title": None}
    legend = {"orient": "top", "title": None, "labelColor": INK, "titleColor": SOFT, "symbolOpacity": 1}
    strokes = {"symbolStrokeWidth": 0}
    return {
        "background": PAPER,
        "font": "Liberation Sans, Arial, Helvetica, sans-serif",
        "view": {"stroke": None},
        "axis": labels | soft,
        "axisY": bare,
        "legend": labels | legend | strokes,
        "title": {"color": INK, "fontSize": 13, "fontWeight": 600, "anchor": "start", "frame": "group"},
        "header": {"labelColor": INK, "labelFontSize": 12, "labelFontWeight": 600, "title": None},
        "text": {"color": INK, "fontSize": 12},
        "concat": {"spacing": 18},
    }
