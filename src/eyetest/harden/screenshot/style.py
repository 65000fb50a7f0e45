"""Levels become a style: sizes, colours, typefaces and the words of a frame."""

import random
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from eyetest.harden.screenshot.factors import LOOK
from eyetest.harden.screenshot.fonts import families, math_stack, stack

_SIZES = {"small": 15, "medium": 17, "large": 20}
_WIDTHS = {"narrow": 600, "medium": 720, "wide": 860}
_MOST_MARGIN = 36
_PHONES = {"narrow": 360, "medium": 390, "wide": 430}


class Palette(NamedTuple):
    """The colours of a theme: page, card, shade, line, bar, an answer's bubble, accent."""

    page: str
    card: str
    shade: str
    line: str
    bar: str
    reply: str
    accent: str


_PALETTES: dict[tuple[str, str], Palette] = {
    ("light", "neutral"): Palette("#ffffff", "#f6f6f7", "#eeeff1", "#c9ccd1", "#e4e6ea", "#e2e5ea", "#4a5160"),
    ("light", "blue"): Palette("#f5f9ff", "#e7f0ff", "#e2ecfb", "#b9cdec", "#d5e3fa", "#cfe2ff", "#1f56b8"),
    ("light", "warm"): Palette("#fdf8ef", "#f8eedc", "#f5ead6", "#dcc7a1", "#efdfc2", "#f3dfba", "#96500f"),
    ("light", "green"): Palette("#f4fbf5", "#e4f4e7", "#e0f0e3", "#b3d3ba", "#d1e9d6", "#cdeed4", "#176636"),
    ("dark", "neutral"): Palette("#17191e", "#24272e", "#2a2d35", "#4a4f5a", "#0f1013", "#343945", "#aab2c0"),
    ("dark", "blue"): Palette("#0f1830", "#1b2848", "#203055", "#3c5180", "#0a1022", "#274175", "#7fb0ff"),
    ("dark", "warm"): Palette("#211a13", "#32281d", "#3a2e21", "#5e4b36", "#161009", "#4d3a22", "#f2b170"),
    ("dark", "green"): Palette("#0f1e16", "#193024", "#1e3a2b", "#375f48", "#08130d", "#22503a", "#6fdc97"),
}
_TEXTS = {
    ("light", "full"): "#101114",
    ("light", "soft"): "#5b6068",
    ("dark", "full"): "#f6f7f9",
    ("dark", "soft"): "#a4abb6",
}
_MUTED = {"light": "#666b74", "dark": "#9aa1ad"}


@cache
def _words() -> dict[str, list[str]]:
    return msgspec.yaml.decode(files(__package__).joinpath("frames.yaml").read_bytes(), type=dict[str, list[str]])


def frame_words(chance: random.Random) -> dict[str, Any]:
    """What a page's frame says, by lot."""
    said: dict[str, Any] = {key: chance.choice(words) for key, words in _words().items()}
    question, last = chance.randint(1, 40), chance.randint(40, 60)
    return said | {
        "initial": said["name"][0],
        "address": f"{said['address']}/{chance.randint(100, 9999)}",
        "task": f"Question {question}",
        "points": f"{chance.randint(1, 5)} points" if chance.random() < 0.7 else "",
        "footer": f"{chance.randint(1, 12)} / 12",
        "number": f"{question} / {last}",
        "clock": f"{chance.randint(7, 21)}:{chance.randint(0, 59):02}",
        "battery": chance.randint(20, 100),
    }


def narrowest_line(factors: Mapping[str, str]) -> float:
    """How many pixels wide the narrowest line of a page is at least: one of an option."""
    widths = _PHONES if factors[LOOK] == "phone" else _WIDTHS
    room: float = widths[factors["look_width"]] - 2 * _MOST_MARGIN
    if factors["look_options"] == "columns":
        room = (room - 22) / 2
    return room - 20 - 2.2 * _SIZES[factors["look_size"]]


def letters_a_line(factors: Mapping[str, str]) -> int:
    """How many letters of usual width stand in it."""
    return max(6, int(narrowest_line(factors) / (0.62 * _SIZES[factors["look_size"]])))


def page_style(factors: Mapping[str, str], language: str) -> dict[str, Any]:
    """What the template is told of a page's look."""
    theme, phone = factors["look_theme"], factors[LOOK] == "phone"
    family = families()[factors["look_font"]]
    width = (_PHONES if phone else _WIDTHS)[factors["look_width"]]
    size = _SIZES[factors["look_size"]]
    palette = _PALETTES[theme, factors["look_colour"]]
    return {
        "font": stack(family.name, language),
        "math": math_stack(family.name, language),
        "mono": stack("JetBrains Mono", language),
        "ui": stack("Inter", language),
        "size": size * 0.92 if family.kind == "mono" else size,
        "leading": 0.62,
        "width": width,
        "margin": 18 if phone else 30,
        "radius": 9,
        "line": narrowest_line(factors),
        "enlarged": 1,
        "picture": 460 if phone else 520,
        "option_picture": 150 if phone else 190,
        "frame": factors["look_frame"],
        "options": factors["look_options"],
        "marks": factors["look_marks"],
        "phone": phone,
        "colours": palette._asdict() | {"text": _TEXTS[theme, factors["look_contrast"]], "muted": _MUTED[theme]},
    }
