"""Answers found again from what an image shows, without a look at how its question was posed.

A solver sees the scene and the question's words, and says which options are right.
"""

import math
import re
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

from eyetest_world.drafting import facts
from eyetest_world.scenes.diagrams import ANGLES
from eyetest_world.scenes.objects import TOPICS

Scene = dict[str, Any]
Solver = Callable[[Scene, str], set[str]]


def extreme(values: dict[str, float], which: str) -> set[str]:
    best = (max if which == "max" else min)(values.values())
    return {name for name, value in values.items() if value == best}


def by_shape(scene: Scene) -> dict[str, Scene]:
    found = {thing["shape"]: thing for thing in scene["things"]}
    assert len(found) == len(scene["things"])
    return found


def cells(scene: Scene) -> dict[str, tuple[int, int]]:
    return {shape: tuple(thing["cell"]) for shape, thing in by_shape(scene).items()}


def place_name(cell: tuple[int, int]) -> str:
    column, row = cell
    if cell == (1, 1):
        return "centre"
    first = ("top", "middle", "bottom")[row]
    return f"{first} {('left', 'centre', 'right')[column]}"


def count_shapes(scene: Scene, question: str) -> set[str]:
    shape, colour = scene["asked"]
    assert colour in question
    return {str(sum((t["shape"], t["colour"]) == (shape, colour) for t in scene["things"]))}


def beside(scene: Scene, question: str) -> set[str]:
    word, shape = scene["asked"]
    assert word in question
    assert shape in question
    where = cells(scene)
    x, y = where[shape]
    goal = {"left of": (x - 1, y), "right of": (x + 1, y), "above": (x, y - 1), "below": (x, y + 1)}[word]
    return {name for name, cell in where.items() if cell == goal}


def further(scene: Scene, question: str) -> set[str]:
    one, than, other = scene["asked"]
    assert than in question
    (x, y), (a, b) = cells(scene)[one], cells(scene)[other]
    holds = {"further left than": x < a, "further right than": x > a, "higher than": y < b, "lower than": y > b}[than]
    return {"yes" if holds else "no"}


def row(scene: Scene, question: str) -> set[str]:
    shown = [tuple(one) for one in scene["row"]]
    for period in range(1, len(shown)):
        if all(shown[i] == shown[i - period] for i in range(period, len(shown))):
            shape, colour = shown[len(shown) - period]
            return {f"{colour} {shape}"}
    raise AssertionError(shown)


def numbers(scene: Scene, question: str) -> set[str]:
    shown = scene["numbers"]
    steps = {b - a for a, b in pairwise(shown)}
    assert len(steps) == 1
    return {str(shown[-1] + steps.pop())}


def walk(scene: Scene, question: str) -> set[str]:
    place = scene["start"]
    for move in scene["moves"]:
        assert not (move == "right" and place % 3 == 2)
        assert not (move == "left" and place % 3 == 0)
        place += {"right": 1, "left": -1, "up": -3, "down": 3}[move]
    assert 0 <= place < 9
    return {scene["board"][place]}


def follow(scene: Scene, question: str) -> set[str]:
    letter, steps = scene["asked"]
    assert {2: "two", 3: "three"}[steps] in question
    for _ in range(steps):
        (letter,) = (end for start, end in scene["arrows"] if start == letter)
    return {letter}


def pointing(scene: Scene, at: str) -> set[str]:
    return {start for start, end in scene["arrows"] if end == at}


def direction(scene: Scene, question: str) -> set[str]:
    where = {colour: (x, y) for colour, x, y in scene["towns"]}
    (x, y), (a, b) = (where[colour] for colour in scene["asked"])
    turn = math.degrees(math.atan2(b - y, a - x)) % 360
    return {("east", "south", "west", "north")[round(turn / 90) % 4]}


def roads(scene: Scene, colour: str) -> set[str]:
    return {one for pair in scene["roads"] if colour in pair for one in pair if one != colour}


def gears(scene: Scene, question: str) -> set[str]:
    assert scene["asked"] == scene["colours"][-1]
    turn = scene["first"] == "clockwise"
    for _ in scene["colours"][1:]:
        turn = not turn
    return {"clockwise" if turn else "anticlockwise"}


def angle(scene: Scene, question: str) -> set[str]:
    degrees = scene["degrees"]
    name = "acute" if degrees < 90 else "right" if degrees == 90 else "straight" if degrees == 180 else "obtuse"
    assert name in ANGLES
    return {name}


def prices(scene: Scene, question: str) -> set[str]:
    of = dict(scene["goods"])
    assert all(re.search(rf"\b{name}\b", question) for name in scene["asked"])
    return {f"{sum(of[name] for name in scene['asked'])} coins"}


def topic(scene: Scene, question: str) -> set[str]:
    return {name for name, icons in TOPICS.items() if set(scene["icons"]) <= set(icons)}


def balance(scene: Scene, question: str) -> set[str]:
    if scene["down"] == "same":
        return {"both the same"}
    return {f"the {scene['colours'][scene['down'] == 'right']} ball"}


def fact(scene: Scene, question: str) -> set[str]:
    known = {one.id: one for one in facts()}[scene["fact"]]
    assert known.subject in question
    return {known.value}


def only(value: object) -> set[str]:
    return {str(value)}


def of_colour(things: Iterable[Scene], colour: str) -> list[Scene]:
    return [thing for thing in things if thing["colour"] == colour]


SOLVERS: dict[str, Solver] = {
    "count-shapes": count_shapes,
    "count-colour": lambda s, q: only(len(of_colour(s["things"], s["asked"]))),
    "colour-of": lambda s, q: {by_shape(s)[s["asked"]]["colour"]},
    "pattern-of": lambda s, q: {by_shape(s)[s["asked"]]["pattern"]},
    "same-colour": lambda s, q: (
        {thing["shape"] for thing in of_colour(s["things"], by_shape(s)[s["asked"]]["colour"])} - {s["asked"]}
    ),
    "size": lambda s, q: extreme({thing["shape"]: thing["radius"] for thing in s["things"]}, s["asked"]),
    "where": lambda s, q: {place_name(cells(s)[s["asked"]])},
    "what-at": lambda s, q: {shape for shape, cell in cells(s).items() if place_name(cell) == s["asked"]},
    "beside": beside,
    "further": further,
    "feeling": lambda s, q: {face["feeling"] for face in s["faces"] if face["hat"] == s["asked"]},
    "who-feels": lambda s, q: {face["hat"] for face in s["faces"] if face["feeling"] == s["asked"]},
    "queue": lambda s, q: {s["hats"][s["asked"]]},
    "seen": lambda s, q: set(s["icons"]),
    "topic": topic,
    "word": lambda s, q: set(s["texts"]),
    "plate": lambda s, q: set(s["texts"]),
    "dice": lambda s, q: only(sum(s["dice"])),
    "prices": prices,
    "place": lambda s, q: {s["place"]},
    "style": lambda s, q: {s["style"]},
    "fault": lambda s, q: {s["fault"]},
    "bars": lambda s, q: extreme(dict(s["bars"]), s["asked"]),
    "bar-value": lambda s, q: only(dict(s["bars"])[s["asked"]]),
    "pie": lambda s, q: extreme(dict(s["shares"]), s["asked"]),
    "line": lambda s, q: extreme({f"week {n}": v for n, v in enumerate(s["values"], 1)}, s["asked"]),
    "clock": lambda s, q: {f"{s['hour']}:{s['minute']:02}"},
    "thermometer": lambda s, q: {f"{s['degrees']} degrees"},
    "row": row,
    "numbers": numbers,
    "walk": walk,
    "follow": follow,
    "into": lambda s, q: pointing(s, s["asked"]),
    "balance": balance,
    "food-web": lambda s, q: {eater for eaten, eater in s["arrows"] if eaten == s["asked"]},
    "molecule": lambda s, q: only(s["joined"]),
    "direction": direction,
    "road": lambda s, q: roads(s, s["asked"]),
    "circuit": lambda s, q: {colour for colour, closed in s["branches"] if closed == s["asked"]},
    "gears": gears,
    "corners": lambda s, q: only(s["corners"]),
    "angle": angle,
    "area": lambda s, q: only(len({tuple(one) for one in s["filled"]})),
}


def solve(kind: str, scene: Scene, question: str) -> set[str]:
    """The texts of all right options."""
    return fact(scene, question) if kind.startswith("fact-") else SOLVERS[kind](scene, question)
