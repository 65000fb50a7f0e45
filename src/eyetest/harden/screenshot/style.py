"""Page looks: typefaces, factorial design, styles; drawn from seed and ids, so that no factor shows an answer."""

import hashlib
import random
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec
import numpy as np

from eyetest.errors import MissingExtraError

EXTRA = "eyetest[screenshot]"


class Styles(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``style.yaml``."""

    families: dict[str, tuple[str, str]]
    fallbacks: tuple[str, ...]
    fallback_packages: tuple[str, ...]
    covering: tuple[str, ...]
    page: dict[str, tuple[str, ...]]
    photo: dict[str, tuple[str, ...]]
    sizes: dict[str, int]
    widths: dict[str, int]
    palettes: dict[str, tuple[str, ...]]
    texts: dict[str, str]
    muted: dict[str, str]
    frames: dict[str, tuple[str, ...]]


_STYLES = msgspec.yaml.decode(files(__package__).joinpath("style.yaml").read_bytes(), type=Styles)
FAMILIES = tuple(_STYLES.families)
PLAIN = "Noto Sans"
_CJK = {"zh": "Noto Sans CJK SC", "ja": "Noto Sans CJK JP", "ko": "Noto Sans CJK KR", "": "Noto Sans CJK SC"}
_INVISIBLE = {0x20, 0x0A, 0xA0, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0xFE0E, 0xFE0F, 0x3000}


@cache
def folders() -> tuple[Path, ...]:
    """Folders of font files; an error names the extra if a package is missing."""
    packages = {*_STYLES.fallback_packages, *(package for _, package in _STYLES.families.values())} - {"typst"}
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
    others = [cjk if face == "Noto Sans CJK" else face for face in _STYLES.fallbacks]
    return list(dict.fromkeys((family, *([cjk] if language else []), *others, "STIX Two Math")))


def missing(text: str) -> str:
    """Letters of a text that no typeface has, each once."""
    wanted = {ord(face) for face in text} - _INVISIBLE - set(range(0x21, 0x7F))
    for name in _STYLES.covering:
        wanted -= _covered(name) if wanted else set()
    return "".join(chr(face) for face in sorted(wanted))


@cache
def _covered(name: str) -> frozenset[int]:
    from fontTools.ttLib import TTFont  # noqa: PLC0415 (only where screenshots are taken)

    for folder in folders():
        for path in folder.rglob(name.replace("[", "[[]")):
            with TTFont(path, fontNumber=0, lazy=True) as font:
                return frozenset(font.getBestCmap())
    raise MissingExtraError(f"the typeface file {name} is not installed: pip install '{EXTRA}'")


Look = Literal["screen", "photo"]
LOOKS: tuple[Look, ...] = get_args(Look)
LOOK = "look"
"""Tag with an item's look; ``look_font`` and the like give the levels of its factors."""
_PAGE = {"look_font": FAMILIES, **_STYLES.page}
FACTORS: dict[Look, dict[str, tuple[str, ...]]] = {"screen": _PAGE, "photo": {**_PAGE, **_STYLES.photo}}
_PLAIN = {"look_font": PLAIN, "look_size": "large", "look_width": "medium"}
PLAINEST: dict[Look, dict[str, str]] = {
    look: {
        LOOK: look,
        **{factor: levels[0] for factor, levels in factors.items()},
        **_PLAIN,
        "look_resolution": "1.5" if look == "screen" else "2",
    }
    for look, factors in FACTORS.items()
}
"""Levels of a page in each look that could not be read."""


def design(ids: Sequence[str], look: Look | Literal["all"], seed: int) -> list[dict[str, str]]:
    """Levels for each item, in the order of their ids; ``all`` makes the look a factor of its own."""
    order = sorted(range(len(ids)), key=lambda at: hashlib.sha256(f"{seed}\0{ids[at]}".encode()).digest())
    looks: Sequence[Look] = LOOKS if look == "all" else (look,)
    rows: list[dict[str, str]] = [{} for _ in ids]
    for index, name in enumerate(looks):
        own, factors = order[index :: len(looks)], FACTORS[name]
        chance = np.random.default_rng([seed % 2**63, index])
        for at in own:
            rows[at] = {LOOK: name}
        for factor, levels in factors.items():
            for number, level in enumerate(chance.permutation(len(own)).tolist()):
                rows[own[number]][factor] = levels[level % len(levels)]
    return rows


_MOST_MARGIN = 36
_COLOURS = ("page", "card", "shade", "line", "bar", "reply", "accent")


def frame_words(chance: random.Random) -> dict[str, Any]:
    """Draw the text of a page's frame at random."""
    drawn: dict[str, Any] = {key: chance.choice(words) for key, words in _STYLES.frames.items()}
    question, last = chance.randint(1, 40), chance.randint(40, 60)
    return drawn | {
        "initial": drawn["name"][0],
        "address": f"{drawn['address']}/{chance.randint(100, 9999)}",
        "task": f"Question {question}",
        "points": f"{chance.randint(1, 5)} points" if chance.random() < 0.7 else "",
        "footer": f"{chance.randint(1, 12)} / 12",
        "number": f"{question} / {last}",
    }


def narrowest_line(factors: Mapping[str, str]) -> float:
    """Width in pixels of a page's narrowest line, that of an option."""
    width: float = _STYLES.widths[factors["look_width"]] - 2 * _MOST_MARGIN
    if factors["look_options"] == "columns":
        width = (width - 22) / 2
    return width - 20 - 2.2 * _STYLES.sizes[factors["look_size"]]


def letters_a_line(factors: Mapping[str, str]) -> int:
    """Number of letters of usual width in it."""
    return max(6, int(narrowest_line(factors) / (0.62 * _STYLES.sizes[factors["look_size"]])))


def page_style(factors: Mapping[str, str], language: str) -> dict[str, Any]:
    """Data of a page's look for the template."""
    theme, family = factors["look_theme"], factors["look_font"]
    mathematical = "New Computer Modern Math" if _STYLES.families[family][0] == "serif" else "STIX Two Math"
    size = _STYLES.sizes[factors["look_size"]]
    palette = dict(zip(_COLOURS, _STYLES.palettes[f"{theme} {factors['look_colour']}"], strict=True))
    return {
        "font": stack(family, language),
        "math": list(dict.fromkeys((mathematical, "STIX Two Math", *stack(PLAIN, language)))),
        "mono": stack("JetBrains Mono", language),
        "ui": stack("Inter", language),
        "size": size * 0.92 if _STYLES.families[family][0] == "mono" else size,
        "width": _STYLES.widths[factors["look_width"]],
        "margin": 30,
        "line": narrowest_line(factors),
        "image": 520,
        "option_image": 190,
        "frame": factors["look_frame"],
        "options": factors["look_options"],
        "letters": factors["look_letters"],
        "colours": palette
        | {"text": _STYLES.texts[f"{theme} {factors['look_contrast']}"], "muted": _STYLES.muted[theme]},
    }
