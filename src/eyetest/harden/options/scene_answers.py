"""What is right in a drawn scene, kind of question by kind of question, worked out from what is drawn."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from eyetest.world.facts import facts
from eyetest.world.posing import Scene
from eyetest.world.scenes.geometry import ANGLES
from eyetest.world.scenes.grid import PLACES, STEPS
from eyetest.world.scenes.maps import WAYS
from eyetest.world.scenes.sequences import MOVES
from eyetest.world.scenes.signs import TOPICS

RightAnswers = Callable[[Scene], Iterable[object]]


def right_answers(kind: str, scene: Scene) -> set[str]:
    """The texts of all right answers to a question of a kind about a scene."""
    if kind.startswith("fact-"):
        return {_facts()[scene["fact"]]}
    return set(map(str, _RIGHT[kind](scene)))


@cache
def _facts() -> dict[str, str]:
    return {fact.id: fact.value for fact in facts()}


def _extreme(values: Mapping[str, float], which: str) -> list[str]:
    best = max(values.values()) if which == "max" else min(values.values())
    return [name for name, value in values.items() if value == best]


def _named(scene: Scene, shape: str) -> dict[str, Any]:
    thing: dict[str, Any] = next(thing for thing in scene["things"] if thing["shape"] == shape)
    return thing


def _cell_name(thing: Mapping[str, Any]) -> str:
    column, row = thing["cell"]
    return PLACES[row][column]


def _beside(scene: Scene) -> Iterable[str]:
    side, shape = scene["asked"]
    (x, y), (dx, dy) = _named(scene, shape)["cell"], STEPS[side]
    return [thing["shape"] for thing in scene["things"] if thing["cell"] == [x + dx, y + dy]]


def _further(scene: Scene) -> Iterable[str]:
    one, than, other = scene["asked"]
    across = than in ("further left than", "further right than")
    first, second = (_named(scene, shape)["cell"][0 if across else 1] for shape in (one, other))
    less = than in ("further left than", "higher than")
    return ["yes" if (first < second if less else first > second) else "no"]


def _next_in_row(scene: Scene) -> Iterable[str]:
    row = scene["row"]
    shape, colour = row[len(row) % scene["period"]]
    return [f"{colour} {shape}"]


def _next_number(scene: Scene) -> Iterable[int]:
    steps = [after - before for before, after in pairwise(scene["numbers"])]
    return [scene["numbers"][-1] + steps[-1]]


def _walked(scene: Scene) -> Iterable[str]:
    x, y = scene["start"] % 3, scene["start"] // 3
    for move in scene["moves"]:
        x, y = x + MOVES[move][0], y + MOVES[move][1]
    return [scene["board"][3 * y + x]]


def _followed(scene: Scene) -> Iterable[str]:
    node, steps = scene["asked"]
    goes_to = dict(scene["arrows"])
    for _ in range(steps):
        node = goes_to[node]
    return [node]


def _direction(scene: Scene) -> Iterable[str]:
    at = {colour: (x, y) for colour, x, y in scene["towns"]}
    (x, y), (a, b) = (at[colour] for colour in scene["asked"])
    return [max(WAYS, key=lambda way: WAYS[way][0] * (a - x) + WAYS[way][1] * (b - y))]


def _angle(scene: Scene) -> Iterable[str]:
    return [name for name, (low, high) in ANGLES.items() if low <= scene["degrees"] <= high]


def _balance(scene: Scene) -> Iterable[str]:
    sides = {"left": 0, "right": 1}
    return ["both the same" if scene["down"] == "same" else f"the {scene['colours'][sides[scene['down']]]} ball"]


def _gears(scene: Scene) -> Iterable[str]:
    turned = (len(scene["colours"]) - 1) % 2 == 1
    return ["clockwise" if (scene["first"] == "clockwise") != turned else "anticlockwise"]


_RIGHT: dict[str, RightAnswers] = {
    "count-shapes": lambda s: [sum([t["shape"], t["colour"]] == list(s["asked"]) for t in s["things"])],
    "count-colour": lambda s: [sum(thing["colour"] == s["asked"] for thing in s["things"])],
    "colour-of": lambda s: [_named(s, s["asked"])["colour"]],
    "pattern-of": lambda s: [_named(s, s["asked"])["pattern"]],
    "same-colour": lambda s: [
        thing["shape"]
        for thing in s["things"]
        if thing["colour"] == _named(s, s["asked"])["colour"] and thing["shape"] != s["asked"]
    ],
    "size": lambda s: _extreme({thing["shape"]: thing["radius"] for thing in s["things"]}, s["asked"]),
    "where": lambda s: [_cell_name(_named(s, s["asked"]))],
    "what-at": lambda s: [thing["shape"] for thing in s["things"] if _cell_name(thing) == s["asked"]],
    "beside": _beside,
    "further": _further,
    "feeling": lambda s: [face["feeling"] for face in s["faces"] if face["hat"] == s["asked"]],
    "who-feels": lambda s: [face["hat"] for face in s["faces"] if face["feeling"] == s["asked"]],
    "queue": lambda s: [s["hats"][s["asked"]]],
    "seen": lambda s: s["icons"],
    "topic": lambda s: [topic for topic, icons in TOPICS.items() if set(s["icons"]) <= set(icons)],
    "word": lambda s: s["texts"],
    "plate": lambda s: s["texts"],
    "dice": lambda s: [sum(s["dice"])],
    "prices": lambda s: [f"{sum(price for name, price in s['goods'] if name in s['asked'])} coins"],
    "place": lambda s: [s["place"]],
    "style": lambda s: [s["style"]],
    "fault": lambda s: [s["fault"]],
    "bars": lambda s: _extreme(dict(s["bars"]), s["asked"]),
    "bar-value": lambda s: [dict(s["bars"])[s["asked"]]],
    "pie": lambda s: _extreme(dict(s["shares"]), s["asked"]),
    "line": lambda s: _extreme({f"week {week}": value for week, value in enumerate(s["values"], 1)}, s["asked"]),
    "clock": lambda s: [f"{s['hour']}:{s['minute']:02}"],
    "thermometer": lambda s: [f"{s['degrees']} degrees"],
    "row": _next_in_row,
    "numbers": _next_number,
    "walk": _walked,
    "follow": _followed,
    "into": lambda s: [start for start, end in s["arrows"] if end == s["asked"]],
    "balance": _balance,
    "food-web": lambda s: [eater for eaten, eater in s["arrows"] if eaten == s["asked"]],
    "molecule": lambda s: [s["joined"]],
    "direction": _direction,
    "road": lambda s: [town for road in s["roads"] if s["asked"] in road for town in road if town != s["asked"]],
    "circuit": lambda s: [colour for colour, closed in s["branches"] if closed == s["asked"]],
    "gears": _gears,
    "corners": lambda s: [s["corners"]],
    "angle": _angle,
    "area": lambda s: [len(s["filled"])],
}
