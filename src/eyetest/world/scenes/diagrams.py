"""Letters in circles joined by arrows, and a balance."""

import math
from random import Random

from eyetest.world.canvas import COLOURS, INK, Canvas, Point, around
from eyetest.world.posing import Kind, Knobs, Posed, Scene, one_of, pick
from eyetest.world.scenes.sequences import LETTERS
from eyetest.world.shapes import label

_RADIUS = 9.5


def joined(canvas: Canvas, start: Point, end: Point, gap: float, colour: str = INK) -> None:
    """An arrow from the edge of one circle to the edge of another."""
    far = math.dist(start, end)
    dx, dy = (end[0] - start[0]) / far, (end[1] - start[1]) / far
    canvas.arrow((start[0] + gap * dx, start[1] + gap * dy), (end[0] - gap * dx, end[1] - gap * dy), colour, 1.8, 7)


def draw(canvas: Canvas, scene: Scene) -> None:
    """Circles on a ring, and their arrows."""
    spots = dict(zip(scene["nodes"], around((50, 50), 37, len(scene["nodes"]), scene["turn"]), strict=True))
    for start, end in scene["arrows"]:
        joined(canvas, spots[start], spots[end], _RADIUS + 1)
    for letter, spot in spots.items():
        label(canvas, spot, letter, _RADIUS, scene["fill"])


def _shown(rng: Random, nodes: list[str], arrows: list[list[str]]) -> Scene:
    shuffled = nodes.copy()
    rng.shuffle(shuffled)
    fill = rng.choice(("#ffffff", "#fff0c2", "#dcecff", "#e0f4dd", "#fbe1ea"))
    return {"nodes": shuffled, "arrows": arrows, "turn": rng.randrange(0, 360, 15), "fill": fill}


def _follow(rng: Random, knobs: Knobs) -> Posed:
    """A chain through all circles, so that every start has one way to go."""
    nodes = pick(rng, LETTERS, 5 + (knobs.crowd > 1))
    steps = rng.choice((2, 3))
    options, right = one_of(rng, pick(rng, nodes[1:], 4), knobs)
    gold = options[right[0]]
    rest = [node for node in nodes[1:] if node != gold]
    rng.shuffle(rest)
    chain = [nodes[0], *rest]
    chain.insert(steps, gold)
    arrows = [[one, other] for one, other in zip(chain, [*chain[1:], chain[0]], strict=True)]
    words = {"letter": nodes[0], "steps": ("two", "three")[steps - 2]}
    return Posed(options, right, words, _shown(rng, nodes, arrows) | {"asked": [nodes[0], steps]})


def _into(rng: Random, knobs: Knobs) -> Posed:
    """Which circle points at another; the others are pointed at, or point elsewhere."""
    nodes = pick(rng, LETTERS, 5)
    asked, others = nodes[0], nodes[1:]
    options, right = one_of(rng, others, knobs)
    arrows = []
    for index, letter in enumerate(others):
        if index in right:
            arrows.append([letter, asked])
        elif rng.random() < 0.5 + 0.1 * knobs.crowd:
            arrows.append([asked, letter])
        else:
            wrong = [node for spot, node in enumerate(others) if node != letter and spot not in right]
            elsewhere = [node for node in wrong if [node, letter] not in arrows]
            arrows.append([letter, rng.choice(elsewhere)] if elsewhere else [asked, letter])
    rng.shuffle(arrows)
    return Posed(options, right, {"letter": asked}, _shown(rng, nodes, arrows) | {"asked": asked})


def draw_balance(canvas: Canvas, scene: Scene) -> None:
    """A beam on a post with a ball at each end; the heavier one hangs lower."""
    x, y, wide, tilt = scene["x"], scene["y"], scene["wide"], scene["tilt"]
    down = {"left": tilt, "right": -tilt, "same": 0}[scene["down"]]
    ends = ((x - wide, y + down), (x + wide, y - down))
    canvas.box((x - 3, y), (x + 3, 90), scene["wood"])
    canvas.box((x - 20, 88), (x + 20, 94), scene["wood"])
    canvas.line(list(ends), INK, 3)
    canvas.disc((x, y), 4, INK)
    for (left, top), colour, radius in zip(ends, scene["colours"], scene["radii"], strict=True):
        canvas.line([(left, top), (left, top + 14)], INK, 1)
        canvas.disc((left, top + 14 + radius), radius, COLOURS[colour])


def _balance(rng: Random, knobs: Knobs) -> Posed:
    """How large a ball is says nothing of its weight."""
    colours = pick(rng, list(COLOURS), 2)
    options, right = one_of(rng, (f"the {colours[0]} ball", f"the {colours[1]} ball", "both the same"), knobs)
    shown = pick(rng, colours, 2)
    down = "same" if right[0] == 2 else ("left", "right")[shown.index(colours[right[0]])]
    look = {
        "x": round(rng.uniform(46, 54), 1),
        "y": round(rng.uniform(26, 36), 1),
        "wide": round(rng.uniform(27, 35), 1),
        "tilt": round(rng.uniform(9, 14), 1),
        "wood": rng.choice(("#8a6a45", "#6f6f78", "#5d7a52", "#9a5f4a")),
    }
    radii = [9, 9] if knobs.crowd < 2 else pick(rng, (7, 11), 2)
    return Posed(options, right, {}, look | {"down": down, "colours": shown, "radii": radii})


KINDS = (
    Kind("follow", "diagram", _follow, draw),
    Kind("into", "diagram", _into, draw, several=True),
    Kind("balance", "common", _balance, draw_balance),
)
