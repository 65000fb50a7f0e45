"""Page looks: typefaces, factorial design, styles; drawn from seed and ids, so that no factor shows an answer."""

import hashlib
import random
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import msgspec
import numpy as np

from eyetest.errors import MissingExtraError

EXTRA = "eyetest[screenshot]"


class Family(NamedTuple):
    """A typeface: its name, its kind (sans, serif, mono or hand), and the package that brings it."""

    name: str
    kind: str
    package: str


FAMILIES: tuple[Family, ...] = (
    Family("Inter", "sans", "justmytype_western_core"),
    Family("Noto Sans", "sans", "justmytype_western_core"),
    Family("Roboto", "sans", "fontpkg_roboto"),
    Family("Open Sans", "sans", "fontpkg_open_sans"),
    Family("Nunito", "sans", "fontpkg_nunito"),
    Family("Atkinson Hyperlegible", "sans", "fontpkg_atkinson_hyperlegible"),
    Family("Noto Serif", "serif", "justmytype_western_core"),
    Family("Source Serif 4", "serif", "justmytype_western_core"),
    Family("Lora", "serif", "fontpkg_lora"),
    Family("EB Garamond", "serif", "fontpkg_eb_garamond"),
    Family("Roboto Slab", "serif", "fontpkg_roboto_slab"),
    Family("Libertinus Serif", "serif", "typst"),
    Family("New Computer Modern", "serif", "typst"),
    Family("JetBrains Mono", "mono", "justmytype_western_core"),
    Family("IBM Plex Mono", "mono", "fontpkg_ibm_plex_mono"),
    Family("Kalam", "hand", "fontpkg_kalam"),
)
_KINDS = {family.name: family.kind for family in FAMILIES}
PLAIN = "Noto Sans"
_FALLBACKS = (
    "Noto Sans",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans CJK",
    "Noto Sans Symbols 2",
    "Noto Emoji",
)
_FALLBACK_PACKAGES = ("justmytype_western_core", "justmytype_intl_rtl", "noto_cjk_sans_otc")
_CJK = {"zh": "Noto Sans CJK SC", "ja": "Noto Sans CJK JP", "ko": "Noto Sans CJK KR", "": "Noto Sans CJK SC"}
_COVERING = (
    "NotoSans[wdth,wght].ttf",
    "STIXTwoMath-Regular.ttf",
    "NotoSansSymbols2-Regular.ttf",
    "NotoSansArabic[wdth,wght].ttf",
    "NotoSansHebrew[wdth,wght].ttf",
    "NotoEmoji-Regular.ttf",
    "NotoSansCJK-Regular.ttc",
)  # the files behind every page's text, the cheapest to look into first
_INVISIBLE = {0x20, 0x0A, 0xA0, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0xFE0E, 0xFE0F, 0x3000}


@cache
def folders() -> tuple[Path, ...]:
    """Folders of font files; an error names the extra if a package is missing."""
    packages = {*_FALLBACK_PACKAGES, *(family.package for family in FAMILIES)} - {"typst"}
    found = [Path(str(files(__package__).joinpath("faces")))]
    for package in sorted(packages):
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise MissingExtraError(f"screenshots need typefaces that are not installed: pip install '{EXTRA}'")
        found.append(Path(spec.origin).parent)
    return tuple(found)


def stack(family: str, language: str) -> list[str]:
    """Typefaces in order; the first that has a letter is used."""
    cjk = _CJK[language]
    others = [cjk if one == "Noto Sans CJK" else one for one in _FALLBACKS]
    return list(dict.fromkeys((family, *([cjk] if language else []), *others, "STIX Two Math")))


def math_stack(family: str, language: str) -> list[str]:
    """Typefaces inside formulas, in order."""
    mathematical = "New Computer Modern Math" if _KINDS[family] == "serif" else "STIX Two Math"
    return list(dict.fromkeys((mathematical, "STIX Two Math", *stack(PLAIN, language))))


def missing(text: str) -> str:
    """Letters of a text that no typeface has, each once."""
    wanted = {ord(one) for one in text} - _INVISIBLE - set(range(0x21, 0x7F))
    for name in _COVERING:
        wanted -= _covered(name) if wanted else set()
    return "".join(chr(one) for one in sorted(wanted))


@cache
def _covered(name: str) -> frozenset[int]:
    from fontTools.ttLib import TTFont  # noqa: PLC0415 (only where screenshots are taken)

    for folder in folders():
        for path in folder.rglob(name.replace("[", "[[]")):
            with TTFont(path, fontNumber=0, lazy=True) as font:
                return frozenset(font.getBestCmap())
    raise MissingExtraError(f"the typeface file {name} is not installed: pip install '{EXTRA}'")


Look = Literal["screen", "phone", "photo", "print"]
LOOKS: tuple[Look, ...] = get_args(Look)
LOOK = "look"
"""Tag with an item's look; ``look_font`` and the like give the levels of its factors."""
PHOTO_FACTORS: Mapping[str, tuple[str, ...]] = {
    "look_scene": ("desk", "screen"),
    "look_angle": ("front", "turned", "steep"),
    "look_light": ("even", "uneven", "glare"),
    "look_tint": ("neutral", "warm", "cold"),
    "look_noise": ("low", "high"),
    "look_focus": ("sharp", "soft"),
    "look_jpeg": ("fine", "coarse"),
}
PLAINEST_PHOTO: Mapping[str, str] = {name: levels[0] for name, levels in PHOTO_FACTORS.items()}
PRINT_FACTORS: Mapping[str, tuple[str, ...]] = {
    "look_paper": ("white", "grey", "yellow"),
    "look_ink": ("solid", "faint", "halftone"),
    "look_specks": ("few", "many"),
    "look_skew": ("straight", "skewed"),
    "look_shadow": ("none", "fold"),
    "look_jpeg": ("fine", "coarse"),
}
PLAINEST_PRINT: Mapping[str, str] = {name: levels[0] for name, levels in PRINT_FACTORS.items()}
_PAGE: dict[str, tuple[str, ...]] = {
    "look_font": tuple(family.name for family in FAMILIES),
    "look_size": ("small", "medium", "large"),
    "look_width": ("narrow", "medium", "wide"),
    "look_background": ("flat", "gradient", "texture"),
    "look_frame": ("none", "browser", "chat", "exam", "slide"),
    "look_theme": ("light", "dark"),
    "look_colour": ("neutral", "blue", "warm", "green"),
    "look_contrast": ("full", "soft"),
    "look_resolution": ("1", "1.3"),
    "look_options": ("list", "columns", "cards", "chips"),
    "look_letters": ("A.", "A)", "(A)", "circle"),
}
FACTORS: dict[Look, dict[str, tuple[str, ...]]] = {
    "screen": _PAGE,
    "phone": {**_PAGE, "look_resolution": ("1.5", "2"), "look_options": ("list", "cards", "chips")},
    "photo": {**_PAGE, "look_resolution": ("1.5", "2"), **PHOTO_FACTORS},
    "print": {
        **_PAGE,
        "look_background": ("flat",),
        "look_frame": ("none", "exam"),
        "look_theme": ("light",),
        "look_colour": ("neutral",),
        "look_contrast": ("full",),
        "look_resolution": ("2",),
        **PRINT_FACTORS,
    },
}
PLAINEST: dict[str, str] = {
    LOOK: "screen",
    **{factor: levels[0] for factor, levels in _PAGE.items()},
    **{"look_font": PLAIN, "look_size": "large", "look_width": "medium", "look_resolution": "1.5"},
}
"""Levels of a page that could not be read."""
_DECK = 1_440  # rows that are balanced together, as is every beginning of them; more items take them again


def design(ids: Sequence[str], look: Look | Literal["all"], seed: int) -> list[dict[str, str]]:
    """Levels for each item, in the order of their ids; ``all`` makes the look a factor of its own."""
    order = sorted(range(len(ids)), key=lambda at: hashlib.sha256(f"{seed}\0{ids[at]}".encode()).digest())
    looks: Sequence[Look] = LOOKS if look == "all" else (look,)
    rows: list[dict[str, str]] = [{} for _ in ids]
    for index, name in enumerate(looks):
        own, factors = order[index :: len(looks)], FACTORS[name]
        chance = np.random.default_rng([seed % 2**63, index])
        deck = _balanced([len(levels) for levels in factors.values()], min(len(own), _DECK), chance)
        for number, at in enumerate(own):
            named = zip(factors.items(), deck[number % _DECK], strict=True)
            rows[at] = {LOOK: name, **{factor: words[level] for (factor, words), level in named}}
    return rows


def _balanced(sizes: Sequence[int], count: int, chance: np.random.Generator) -> list[list[int]]:
    """Rows of levels in which levels and pairs occur about equally often: the rarest is taken each time."""
    alone = [np.zeros(size) for size in sizes]
    together = {
        (a, b): np.zeros((sizes[a], sizes[b])) for a in range(len(sizes)) for b in range(len(sizes)) if a != b
    }
    rows: list[list[int]] = []
    for _ in range(count):
        row = [-1] * len(sizes)
        chosen: list[int] = []
        for factor in chance.permutation(len(sizes)).tolist():
            cost = 2 * sizes[factor] * alone[factor] + 1e-3 * chance.random(sizes[factor])
            for other in chosen:
                cost += sizes[factor] * sizes[other] * together[other, factor][row[other]] / len(sizes)
            level = int(np.argmin(cost))
            row[factor] = level
            alone[factor][level] += 1
            for other in chosen:
                together[other, factor][row[other], level] += 1
                together[factor, other][level, row[other]] += 1
            chosen.append(factor)
        rows.append(row)
    return rows


_SIZES = {"small": 15, "medium": 17, "large": 20}
_WIDTHS = {"narrow": 600, "medium": 720, "wide": 860}
_MOST_MARGIN = 36
_PHONES = {"narrow": 360, "medium": 390, "wide": 430}


_COLOURS = ("page", "card", "shade", "line", "bar", "reply", "accent")
_PALETTES = {
    ("light", "neutral"): ("#ffffff", "#f6f6f7", "#eeeff1", "#c9ccd1", "#e4e6ea", "#e2e5ea", "#4a5160"),
    ("light", "blue"): ("#f5f9ff", "#e7f0ff", "#e2ecfb", "#b9cdec", "#d5e3fa", "#cfe2ff", "#1f56b8"),
    ("light", "warm"): ("#fdf8ef", "#f8eedc", "#f5ead6", "#dcc7a1", "#efdfc2", "#f3dfba", "#96500f"),
    ("light", "green"): ("#f4fbf5", "#e4f4e7", "#e0f0e3", "#b3d3ba", "#d1e9d6", "#cdeed4", "#176636"),
    ("dark", "neutral"): ("#17191e", "#24272e", "#2a2d35", "#4a4f5a", "#0f1013", "#343945", "#aab2c0"),
    ("dark", "blue"): ("#0f1830", "#1b2848", "#203055", "#3c5180", "#0a1022", "#274175", "#7fb0ff"),
    ("dark", "warm"): ("#211a13", "#32281d", "#3a2e21", "#5e4b36", "#161009", "#4d3a22", "#f2b170"),
    ("dark", "green"): ("#0f1e16", "#193024", "#1e3a2b", "#375f48", "#08130d", "#22503a", "#6fdc97"),
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
    """Draw the text of a page's frame at random."""
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
    """Width in pixels of a page's narrowest line, that of an option."""
    widths = _PHONES if factors[LOOK] == "phone" else _WIDTHS
    room: float = widths[factors["look_width"]] - 2 * _MOST_MARGIN
    if factors["look_options"] == "columns":
        room = (room - 22) / 2
    return room - 20 - 2.2 * _SIZES[factors["look_size"]]


def letters_a_line(factors: Mapping[str, str]) -> int:
    """Number of letters of usual width in it."""
    return max(6, int(narrowest_line(factors) / (0.62 * _SIZES[factors["look_size"]])))


def page_style(factors: Mapping[str, str], language: str) -> dict[str, Any]:
    """Data of a page's look for the template."""
    theme, phone = factors["look_theme"], factors[LOOK] == "phone"
    family = factors["look_font"]
    width = (_PHONES if phone else _WIDTHS)[factors["look_width"]]
    size = _SIZES[factors["look_size"]]
    palette = dict(zip(_COLOURS, _PALETTES[theme, factors["look_colour"]], strict=True))
    return {
        "font": stack(family, language),
        "math": math_stack(family, language),
        "mono": stack("JetBrains Mono", language),
        "ui": stack("Inter", language),
        "size": size * 0.92 if _KINDS[family] == "mono" else size,
        "width": width,
        "margin": 18 if phone else 30,
        "line": narrowest_line(factors),
        "image": 460 if phone else 520,
        "option_image": 150 if phone else 190,
        "frame": factors["look_frame"],
        "options": factors["look_options"],
        "letters": factors["look_letters"],
        "phone": phone,
        "colours": palette | {"text": _TEXTS[theme, factors["look_contrast"]], "muted": _MUTED[theme]},
    }
