"""Whole pictures: which kind of place they show."""

from collections.abc import Callable
from random import Random

from eyetest.world.canvas import Canvas
from eyetest.world.icons import draw_icon
from eyetest.world.posing import Kind, Knobs, Posed, Scene, one_of, pick

_STONES = ("#6e6a63", "#8d877d", "#4f5a45", "#a39a8a", "#5d4a3a")
Draw = Callable[[Canvas, Random], None]


def _ground(c: Canvas, sky: str, ground: str, horizon: float) -> None:
    c.box((0, 0), (100, horizon), sky)
    c.box((0, horizon), (100, 100), ground)


def _beach(c: Canvas, rng: Random) -> None:
    _ground(c, "#bfe3f7", "#f0dca0", 62)
    c.box((0, 40), (100, 62), "#3d8fc9")
    x = rng.uniform(25, 75)
    c.line([(x, 90), (x, 62)], "#6b4526", 1.8)
    c.slice((x, 66), 16, (180, 360), rng.choice(("#d8303c", "#8440a8", "#2f9e4a")))
    draw_icon(c, "sun", (rng.uniform(12, 88), 17), 10)


def _farm(c: Canvas, rng: Random) -> None:
    _ground(c, "#d8eefb", "#a8cf6b", 50)
    for row in range(6):
        c.line([(0, 66 + row * 7), (100, 60 + row * 9)], "#7aa53f", 1.6)
    x = rng.uniform(22, 78)
    c.box((x - 15, 30), (x + 15, 58), "#b5302f")
    c.polygon([(x - 19, 31), (x, 14), (x + 19, 31)], "#7d211f")
    c.box((x - 5, 42), (x + 5, 58), "#f3e6d0")


def _city(c: Canvas, rng: Random) -> None:
    _ground(c, "#cfd8e3", "#6f757c", 84)
    for index in range(5):
        left, height = 2 + index * 20 + rng.uniform(0, 3), rng.uniform(32, 66)
        c.box((left, 84 - height), (left + 15, 84), rng.choice(("#4f5d73", "#63718a", "#3d4658")))
        for row in range(int(height // 11)):
            for column in (3, 9):
                top = 87 - height + row * 11
                c.box((left + column, top), (left + column + 3.4, top + 4.5), "#f6dc7a")


def _forest(c: Canvas, rng: Random) -> None:
    _ground(c, "#cfe8d0", "#4f7d3a", 60)
    for x in sorted((rng.uniform(6, 94) for _ in range(9)), key=lambda _: rng.random()):
        y = rng.uniform(52, 78)
        c.box((x - 1.8, y), (x + 1.8, y + 16), "#5d3b1e")
        c.polygon([(x - 11, y + 4), (x + 11, y + 4), (x, y - 27)], rng.choice(("#1f6b35", "#2a7f40", "#185428")))


def _desert(c: Canvas, rng: Random) -> None:
    _ground(c, "#fbe3b4", "#e0b265", 58)
    c.oval((rng.uniform(15, 40), 70), (45, 15), "#d19f4f")
    c.oval((rng.uniform(60, 90), 82), (50, 16), "#c79242")
    draw_icon(c, "sun", (rng.uniform(15, 85), 20), 12)
    x = rng.uniform(20, 80)
    for dx, top, bottom in ((0, 46, 82), (-9, 56, 66), (9, 52, 64)):
        c.line([(x + dx, top), (x + dx, bottom)], "#3f8a4a", 5)
    c.line([(x - 9, 66), (x + 9, 64)], "#3f8a4a", 4)


def _harbour(c: Canvas, rng: Random) -> None:
    _ground(c, "#cfe6f5", "#2f6f9e", 46)
    c.box((0, 76), (100, 84), "#8a6a45")
    for post in (12, 37, 62, 87):
        c.box((post - 2, 76), (post + 2, 100), "#6b4f30")
    for x in (rng.uniform(15, 30), rng.uniform(45, 58), rng.uniform(72, 86)):
        draw_icon(c, "boat", (x, rng.uniform(48, 62)), 12)


def _mountains(c: Canvas, rng: Random) -> None:
    _ground(c, "#d3e5f2", "#8aa874", 78)
    for x, height in ((rng.uniform(15, 28), 44), (rng.uniform(72, 85), 50), (rng.uniform(42, 58), 62)):
        c.polygon([(x - 30, 78), (x, 78 - height), (x + 30, 78)], "#77808c")
        c.polygon([(x - 10, 78 - height * 0.67), (x, 78 - height), (x + 10, 78 - height * 0.67)], "#ffffff")


def _night(c: Canvas, rng: Random) -> None:
    _ground(c, "#1b2447", "#141a30", 80)
    for _ in range(22):
        c.disc((rng.uniform(2, 98), rng.uniform(2, 72)), rng.uniform(0.7, 1.5), "#fff7cf")
    x, y = rng.uniform(20, 80), rng.uniform(18, 32)
    c.disc((x, y), 11, "#f6ecc0")
    c.disc((x + 5, y - 3), 9.5, "#1b2447")


def _snow(c: Canvas, rng: Random) -> None:
    _ground(c, "#b9c9d8", "#f7fafc", 58)
    x = rng.uniform(25, 75)
    for height, radius in ((82, 14), (62, 10.5), (46, 7.5)):
        c.disc((x, height), radius, "#ffffff", "#9fb3c6", 0.9)
    c.polygon([(x, 45), (x + 9, 47), (x, 48.5)], "#f58a1f")
    for _ in range(30):
        c.disc((rng.uniform(0, 100), rng.uniform(0, 96)), 1.2, "#ffffff")


def _garden(c: Canvas, rng: Random) -> None:
    _ground(c, "#d8f0fb", "#8fc866", 45)
    for x in range(4, 100, 12):
        c.box((x - 3, 32), (x + 3, 58), "#f6efe0", "#c9b48a", 0.6)
    for index in range(6):
        at = (10 + index * 16 + rng.uniform(-3, 3), rng.uniform(68, 84))
        draw_icon(c, "flower", at, 10)


PLACES: dict[str, Draw] = {
    "a beach": _beach, "a farm": _farm, "a city": _city, "a forest": _forest, "a desert": _desert,
    "a harbour": _harbour, "mountains": _mountains, "a night sky": _night, "a snow field": _snow,
    "a flower garden": _garden,
}  # fmt: skip


def draw(canvas: Canvas, scene: Scene) -> None:
    """The place, with clouds and birds above it and stones in front."""
    rng = Random(scene["seed"])
    PLACES[scene["place"]](canvas, rng)
    for _ in range(rng.randint(2, 4)):
        x, y, wide = rng.uniform(6, 94), rng.uniform(5, 30), rng.uniform(4, 9)
        canvas.oval((x, y), (wide * 1.5, wide * 0.5), "#e9eef2", "#b9c4cc", 0.6)
    for _ in range(rng.randint(5, 9)):
        x, y, wide = rng.uniform(3, 97), rng.uniform(86, 98), rng.uniform(2, 4.5)
        canvas.oval((x, y), (wide, wide * 0.7), rng.choice(_STONES))
    for x, y in scene["birds"]:
        canvas.line([(x - 4, y - 2), (x, y + 1), (x + 4, y - 2)], "#333333", 1)


def _place(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, pick(rng, list(PLACES), rng.choice((4, 4, 5))), knobs)
    birds = [[round(rng.uniform(8, 92), 1), round(rng.uniform(6, 30), 1)] for _ in range(knobs.crowd)]
    scene = {"place": options[right[0]], "seed": rng.randrange(10**6), "birds": birds}
    return Posed(options, right, {}, scene)


KINDS = (Kind("place", "scene and topic", _place, draw),)
