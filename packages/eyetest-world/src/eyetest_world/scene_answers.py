"""What is right in a drawn scene, worked out from what is drawn; and options that are wrong by the scene.

Proposed options come from the other items of the kind, so that no option is offered that is never right. That each of
them is wrong is worked out from the scene, and not from how the question was posed.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from eyetest.harden.options.writers import Cases, Propose
from eyetest.reform.distractors.written import Case
from eyetest_world.drafting import facts
from eyetest_world.posing import Scene
from eyetest_world.scenes.diagrams import ANGLES, MOVES
from eyetest_world.scenes.objects import PLACES, STEPS, TOPICS
from eyetest_world.scenes.places import WAYS

RightAnswers = Callable[[Scene], Iterable[object]]


def right_answers(kind: str, scene: Scene) -> set[str]:
    """The texts of all right answers to a question of a kind about a scene."""
    if kind.startswith("fact-"):
        return {fact.value for fact in facts() if fact.id == scene["fact"]}
    return set(map(str, _RIGHT[kind](scene)))


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


def _balance(scene: Scene) -> Iterable[str]:
    down = {"left": 0, "right": 1}.get(scene["down"])
    return ["both the same" if down is None else f"the {scene['colours'][down]} ball"]


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
    "row": lambda s: [" ".join(reversed(s["row"][len(s["row"]) % s["period"]]))],
    "numbers": lambda s: [2 * s["numbers"][-1] - s["numbers"][-2]],
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
    "angle": lambda s: [name for name, (low, high) in ANGLES.items() if low <= s["degrees"] <= high],
    "area": lambda s: [len(s["filled"])],
}


class SceneWriter:
    """Proposes for the items of a drawn world, of which everything is known."""

    name = "scene rule"
    checker = "scene graph"
    summary = "values of the same kind that a drawn scene does not show"
    place = 1

    def start(self, batch: Cases) -> Propose:
        """Collects the values of each kind of question."""
        values: dict[str, dict[str, None]] = defaultdict(dict)
        for case in batch.cases:
            if truth := batch.truth.get(case.item.id):
                own = case.present if "gold-longest" in truth["flaws"] else case.options
                values[truth["kind"]] |= dict.fromkeys(own)

        def propose(case: Case, chance: random.Random) -> Iterable[str]:
            truth = batch.truth.get(case.item.id)
            if truth is None:
                return ()
            shown = truth["shown"] in ("", truth["kind"])
            right = right_answers(truth["kind"], msgspec.json.decode(truth["scene"])) if shown else set()
            asked = case.item.question.casefold()
            wrong = [
                text
                for text in values[truth["kind"]]  # what a question names is never its answer
                if text not in right
                if text.isdigit() or not re.search(rf"\b{re.escape(text.casefold())}\b", asked)
            ]
            return chance.sample(wrong, len(wrong))

        return propose


WRITER = SceneWriter()
