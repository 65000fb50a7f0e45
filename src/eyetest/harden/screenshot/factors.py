"""What a page looks like, as a factorial design: few levels a factor, spread so that effects can be told apart.

Levels are drawn from the seed alone. Neither an item's gold nor its words nor its place in the file take part, so a
factor cannot tell an answer, and the difference in score between two levels is the level's doing.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np

from eyetest.harden.screenshot.fonts import FAMILIES, PLAIN
from eyetest.harden.screenshot.photo import PHOTO_FACTORS
from eyetest.harden.screenshot.photo_print import PRINT_FACTORS

Look = Literal["screen", "phone", "photo", "print"]
LOOKS: tuple[Look, ...] = get_args(Look)
LOOK = "look"
"""The tag that says which look an item has; ``look_font`` and the like say the levels of its factors."""
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
    "look_marks": ("A.", "A)", "(A)", "circle"),
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
"""The factors of each look, and their levels."""
PLAINEST: dict[str, str] = {
    LOOK: "screen",
    "look_font": PLAIN,
    "look_size": "large",
    "look_width": "medium",
    "look_background": "flat",
    "look_frame": "none",
    "look_theme": "light",
    "look_colour": "neutral",
    "look_contrast": "full",
    "look_resolution": "1.5",
    "look_options": "list",
    "look_marks": "A.",
}
"""What a page that could not be read is set in instead."""
_DECK = 1_440
"""Rows that are balanced together, as is every beginning of them; more items take them again."""


def design(
    ids: Sequence[str], look: Look | Literal["all"], seed: int, fonts: Sequence[str] | None = None
) -> list[dict[str, str]]:
    """Levels for each item, in the order of their ids; ``all`` makes the look a factor of its own.

    ``fonts`` are the typefaces to choose from, where not all can be had.
    """
    order = sorted(range(len(ids)), key=lambda at: hashlib.sha256(f"{seed}\0{ids[at]}".encode()).digest())
    looks: Sequence[Look] = LOOKS if look == "all" else (look,)
    rows: list[dict[str, str]] = [{} for _ in ids]
    for index, one in enumerate(looks):
        own = order[index :: len(looks)]
        factors = FACTORS[one] | ({"look_font": tuple(fonts)} if fonts else {})
        chance = np.random.default_rng([seed % 2**63, index])
        for at, levels in zip(
            own, balanced([len(levels) for levels in factors.values()], len(own), chance), strict=True
        ):
            named = zip(factors.items(), levels, strict=True)
            rows[at] = {LOOK: one, **{factor: words[level] for (factor, words), level in named}}
    return rows


def balanced(sizes: Sequence[int], count: int, chance: np.random.Generator) -> list[list[int]]:
    """``count`` rows of levels, one a factor, in which levels and pairs of levels occur about equally often."""
    deck = _dealt(sizes, min(count, _DECK), chance)
    return [deck[at % _DECK] for at in range(count)]


def _dealt(sizes: Sequence[int], count: int, chance: np.random.Generator) -> list[list[int]]:
    """A deck of rows. Each takes, factor by factor in random order, the level that is rarest so far, alone and
    together with what the row has already; ties fall by lot.
    """
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


def told(factors: Mapping[str, str]) -> str:
    """The levels in one line."""
    return ", ".join(f"{name.removeprefix('look_')} {level}" for name, level in factors.items())
