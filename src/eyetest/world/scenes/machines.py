"""Circuits with switches and lamps, and rows of gears."""

from random import Random

from eyetest.world.canvas import COLOURS, INK, Canvas, around
from eyetest.world.posing import Kind, Knobs, Posed, Scene, one_of, pick


def draw_circuit(canvas: Canvas, scene: Scene) -> None:
    """A battery at the left, and branches with a switch and a coloured lamp each."""
    branches = scene["branches"]
    gap = 80 / (len(branches) - 1) if len(branches) > 1 else 0
    rows = [10 + index * gap for index in range(len(branches))]
    for x in (18, 92):
        canvas.line([(x, rows[0]), (x, rows[-1])], INK, 1.4)
    canvas.box((10, 40), (26, 60), "#cfd4da", INK, 1)
    for y, across in ((45.5, 3.2), (54.5, 3.2)):
        canvas.line([(18 - across, y), (18 + across, y)], INK, 1.3)
    canvas.line([(18, 42.3), (18, 48.7)], INK, 1.3)
    for y, (colour, closed) in zip(rows, branches, strict=True):
        canvas.line([(18, y), (36, y)], INK, 1.4)
        canvas.line([(54, y), (92, y)], INK, 1.4)
        canvas.line([(36, y), (54, y)] if closed else [(36, y), (51, y - 9)], COLOURS["red"], 2.2)
        for x in (36, 54):
            canvas.disc((x, y), 2, INK)
        canvas.disc((74, y), 7.5, COLOURS[colour], INK, 1)


def _lamp(rng: Random, knobs: Knobs) -> Posed:
    lit = rng.random() < 0.5
    colours = pick(rng, list(COLOURS), rng.choice((3, 4, 4, 4)))
    options, right = one_of(rng, colours, knobs)
    branches = [[colour, (index in right) == lit] for index, colour in enumerate(colours)]
    rng.shuffle(branches)
    state = rng.choice(("lit", "on") if lit else ("dark", "off"))
    return Posed(options, right, {"state": state}, {"branches": branches, "asked": lit})


def draw_gears(canvas: Canvas, scene: Scene) -> None:
    """Gears in a row; an arrow above the first one shows its turn."""
    count = len(scene["colours"])
    radius = 84 / (2 * count)
    for index, colour in enumerate(scene["colours"]):
        x = 8 + radius + 2 * radius * index
        for tooth in around((x, 58), radius * 0.93, 10, 18 * (index % 2)):
            canvas.disc(tooth, radius * 0.17, COLOURS[colour])
        canvas.disc((x, 58), radius * 0.86, COLOURS[colour])
        canvas.disc((x, 58), radius * 0.28, "#ffffff")
    x, top = 8 + radius, 58 - radius - 6
    dx = 9 if scene["first"] == "clockwise" else -9
    canvas.arrow((x - dx, top), (x + dx, top), INK, 2.4, 8)


def _gears(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, ("clockwise", "anticlockwise"), knobs)
    colours = pick(rng, list(COLOURS), 2 + min(knobs.crowd, 2) + (rng.random() < 0.5))
    even = (len(colours) - 1) % 2 == 0
    gold = options[right[0]]
    first = gold if even else next(one for one in options if one != gold)
    return Posed(options, right, {"colour": colours[-1]}, {"colours": colours, "first": first, "asked": colours[-1]})


KINDS = (
    Kind("circuit", "electronics & energy & mechanical", _lamp, draw_circuit, several=True),
    Kind("gears", "electronics & energy & mechanical", _gears, draw_gears),
)
