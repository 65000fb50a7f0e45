"""A scene in words: what a vision model learns to say when it is asked to describe an image."""

from collections.abc import Sequence
from typing import Any

from eyetest_world.posing import Scene
from eyetest_world.scenes.objects import PLACES

_HIDDEN = frozenset(
    (
        *(
            "asked",
            "at",
            "birds",
            "boards",
            "face",
            "fill",
            "land",
            "large_radius",
            "liquid",
            "off",
            "paper",
            "period",
        ),
        *("radii", "radius", "rim", "seed", "skin", "specks", "tilt", "turn", "wide", "wood", "x", "y"),
    )
)
"""What an image is drawn with and no question asks for."""
_COUNTED = frozenset({"filled"})
_UNORDERED = frozenset({"nodes", "arrows", "bugs", "roads"})


def describe(scene: Scene) -> str:
    """Everything in a scene that questions are about, in a fixed order of places."""
    parts = [
        f"{key} {words}" for key, value in scene.items() if key not in _HIDDEN and (words := _told(key, value, scene))
    ]
    return "; ".join(parts)


def _told(key: str, value: Any, scene: Scene) -> str:
    if key in _COUNTED:
        return str(len(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        listed = _listed(value, scene.get("at"))
        return ", ".join(sorted(listed) if key in _UNORDERED else listed)
    return "" if isinstance(value, str) and value.startswith("#") else str(value)


def _listed(values: Sequence[Any], points: Any) -> list[str]:
    if isinstance(points, list) and len(points) == len(values) and points and isinstance(points[0], list | tuple):
        pairs = sorted(zip(points, values, strict=True), key=lambda pair: _reading_order(pair[0]))
        return [f"{_words(value)} {place_name(point)}" for point, value in pairs]
    if values and isinstance(values[0], dict):
        return [_thing(one) for one in sorted(values, key=_thing_order)]
    if (
        values
        and isinstance(values[0], list | tuple)
        and len(values[0]) == 3
        and isinstance(values[0][1], float | int)
    ):
        return [
            f"{name} {place_name((x, y))}" for name, x, y in sorted(values, key=lambda one: _reading_order(one[1:]))
        ]
    return [_words(value) for value in values]


def _thing_order(one: Scene) -> tuple[int, int]:
    if "cell" in one:
        return one["cell"][1], one["cell"][0]
    return _reading_order(one["at"]) if "at" in one else (0, 0)


def _thing(one: Scene) -> str:
    words = [
        str(one[key]) for key in ("pattern", "colour", "shape", "hat", "feeling") if one.get(key, "plain") != "plain"
    ]
    if "cell" in one:
        words.append(PLACES[one["cell"][1]][one["cell"][0]])
    elif "at" in one:
        words.append(place_name(one["at"]))
    if "radius" in one and one["radius"] not in (8, 9, 10, 12, 16):
        words.append("large" if one["radius"] > 14 else "small" if one["radius"] < 7.5 else "middling")
    return " ".join(words)


def _words(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " ".join(_words(one) for one in value)
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def _reading_order(point: Sequence[float]) -> tuple[int, int]:
    return _third(point[1]), _third(point[0])


def place_name(point: Sequence[float]) -> str:
    """Where on the paper a point lies."""
    return PLACES[_third(point[1])][_third(point[0])]


def _third(value: float) -> int:
    return 0 if value < 36 else 1 if value < 64 else 2
