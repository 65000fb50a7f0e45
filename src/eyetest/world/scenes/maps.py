"""Maps with towns, roads and a compass."""

import math
from random import Random

from eyetest.world.canvas import COLOURS, INK, Canvas
from eyetest.world.posing import Kind, Knobs, Posed, Scene, one_of, pick

WAYS = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
_LAND = ("#e6efcf", "#efe6cf", "#dfeccf", "#ece9d6")


def draw(canvas: Canvas, scene: Scene) -> None:
    """Land in the sea, roads, towns and, if there is one, a compass."""
    canvas.box((0, 0), (100, 100), "#a9d3ea")
    rng = Random(scene["seed"])
    coast = [
        (50 + (43 + rng.uniform(0, 7)) * math.cos(turn), 50 + (43 + rng.uniform(0, 7)) * math.sin(turn))
        for turn in (2 * math.pi * step / 22 for step in range(22))
    ]
    canvas.polygon(coast, scene["land"], "#7fa05a", 1)
    towns = {colour: (x, y) for colour, x, y in scene["towns"]}
    for one, other in scene["roads"]:
        canvas.line([towns[one], towns[other]], "#8a7a5a", 2.4)
    for colour, (x, y) in towns.items():
        canvas.box((x - 6, y - 4), (x + 6, y + 6), COLOURS[colour], INK, 0.8)
        canvas.polygon([(x - 8, y - 4), (x, y - 11), (x + 8, y - 4)], COLOURS[colour], INK, 0.8)
    if scene["north"]:
        canvas.arrow((92, 22), (92, 11), INK, 1.8, 6)
        canvas.text((92, 5.5), "N", 10)


def _base(rng: Random) -> Scene:
    return {"seed": rng.randrange(10**6), "land": rng.choice(_LAND)}


def _direction(rng: Random, knobs: Knobs) -> Posed:
    """One town far to one side of another; more towns where they do not matter."""
    options, right = one_of(rng, tuple(WAYS), knobs)
    dx, dy = WAYS[options[right[0]]]
    colours = pick(rng, list(COLOURS), 2 + knobs.crowd)
    middle, off = rng.uniform(44, 56), rng.uniform(-3, 3)
    start = (middle - 24 * dx + off * dy, 52 - 24 * dy + off * dx)
    end = (middle + 24 * dx, 52 + 24 * dy)
    taken = [start, end]
    for _ in colours[2:]:
        spot = next(
            at for _ in range(999)
            if all(math.dist(at := (rng.uniform(22, 78), rng.uniform(24, 78)), other) > 19 for other in taken)
        )  # fmt: skip
        taken.append(spot)
    towns = [[colour, round(x, 1), round(y, 1)] for colour, (x, y) in zip(colours, taken, strict=True)]
    scene = _base(rng) | {"towns": towns, "roads": [], "north": True, "asked": colours[:2]}
    return Posed(options, right, {"start": colours[0], "goal": colours[1]}, scene)


def _road(rng: Random, knobs: Knobs) -> Posed:
    """Towns on a ring, so that no road runs through a third one."""
    colours = pick(rng, list(COLOURS), 5)
    asked, others = colours[0], colours[1:]
    options, right = one_of(rng, others, knobs)
    turn = rng.uniform(0, 72)
    shuffled = colours.copy()
    rng.shuffle(shuffled)
    towns = [
        [colour, round(50 + 29 * math.cos(math.radians(turn + 72 * index)), 1),
         round(52 + 29 * math.sin(math.radians(turn + 72 * index)), 1)]
        for index, colour in enumerate(shuffled)
    ]  # fmt: skip
    wrong = [colour for index, colour in enumerate(others) if index not in right]
    roads = [[asked, others[index]] for index in right]
    pairs = [[one, other] for spot, one in enumerate(wrong) for other in wrong[spot + 1 :]]
    roads += pick(rng, pairs, min(len(pairs), 1 + knobs.crowd))
    rng.shuffle(roads)
    scene = _base(rng) | {"towns": towns, "roads": roads, "north": False, "asked": asked}
    return Posed(options, right, {"colour": asked}, scene)


KINDS = (
    Kind("direction", "geography & earth science & agriculture", _direction, draw),
    Kind("road", "geography & earth science & agriculture", _road, draw, several=True),
)
