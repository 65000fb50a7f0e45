"""The typefaces of pages: openly licensed, out of packages, and known to have the letters that a page needs.

A letter without a glyph would come out as an empty box, so what a text needs is looked up before a page is set.
"""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

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
_MATH = {
    "sans": "STIX Two Math",
    "serif": "New Computer Modern Math",
    "mono": "STIX Two Math",
    "hand": "STIX Two Math",
}
_COVERING = (
    "NotoSans[wdth,wght].ttf",
    "STIXTwoMath-Regular.ttf",
    "NotoSansSymbols2-Regular.ttf",
    "NotoSansArabic[wdth,wght].ttf",
    "NotoSansHebrew[wdth,wght].ttf",
    "NotoEmoji-Regular.ttf",
    "NotoSansCJK-Regular.ttc",
)
"""The files behind every page's text, the cheapest to look into first."""
_INVISIBLE = {0x20, 0x0A, 0xA0, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0xFE0E, 0xFE0F, 0x3000}


@cache
def folders() -> tuple[Path, ...]:
    """Where font files lie; an error that names the extra if a package is missing."""
    packages = {*_FALLBACK_PACKAGES, *(family.package for family in FAMILIES)} - {"typst"}
    found = [Path(str(files(__package__).joinpath("faces")))]
    for package in sorted(packages):
        spec = find_spec(package)
        if spec is None or spec.origin is None:
            raise MissingExtraError(f"screenshots need typefaces that are not installed: pip install '{EXTRA}'")
        found.append(Path(spec.origin).parent)
    return tuple(found)


@cache
def families() -> dict[str, Family]:
    """The typefaces by their names."""
    return {family.name: family for family in FAMILIES}


def stack(family: str, language: str) -> list[str]:
    """The typefaces that letters are taken from, the first that has one."""
    cjk = _CJK[language]
    others = [cjk if one == "Noto Sans CJK" else one for one in _FALLBACKS if one != family]
    if language in ("ja", "ko", "zh"):
        others = [cjk, *(one for one in others if one != cjk)]
    return [family, *others, "STIX Two Math"]


def math_stack(family: str, language: str) -> list[str]:
    """The same inside formulas."""
    mathematical = _MATH[families()[family].kind]
    return list(dict.fromkeys((mathematical, "STIX Two Math", *stack(PLAIN, language))))


def missing(text: str) -> str:
    """The letters of a text that no typeface here has, each once."""
    wanted = {ord(one) for one in text} - _INVISIBLE - set(range(0x21, 0x7F))
    for name in _COVERING:
        if not wanted:
            break
        wanted -= _covered(name)
    return "".join(chr(one) for one in sorted(wanted))


@cache
def _covered(name: str) -> frozenset[int]:
    from fontTools.ttLib import TTFont  # noqa: PLC0415 (only where screenshots are taken)

    for folder in folders():
        for path in folder.rglob(name.replace("[", "[[]")):
            with TTFont(path, fontNumber=0, lazy=True) as font:
                return frozenset(font.getBestCmap())
    raise MissingExtraError(f"the typeface file {name} is not installed: pip install '{EXTRA}'")


def told_missing(letters: Iterable[str]) -> str:
    """One line about letters that cannot be shown."""
    named = ", ".join(f"U+{ord(one):04X}" for one in list(letters)[:5])
    return f"no typeface has {named}"
