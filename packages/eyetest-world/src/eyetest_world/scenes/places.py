"""Scenes of places and living things: landscapes, maps, food webs, molecules, faces and queues."""

import math
from collections.abc import Callable
from itertools import combinations
from random import Random

from eyetest_world.canvas import COLOURS, INK, Canvas, around, draw_icon
from eyetest_world.posing import Kind, Knobs, Posed, Scene, one_of, pick, rounded, without

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


LANDSCAPES: dict[str, Draw] = {
    "a beach": _beach, "a farm": _farm, "a city": _city, "a forest": _forest, "a desert": _desert,
    "a harbour": _harbour, "mountains": _mountains, "a night sky": _night, "a snow field": _snow,
    "a flower garden": _garden,
}  # fmt: skip


def _draw_landscape(canvas: Canvas, scene: Scene) -> None:
    """The place, with clouds and birds above it and stones in front."""
    rng = Random(scene["seed"])
    LANDSCAPES[scene["place"]](canvas, rng)
    for _ in range(rng.randint(2, 4)):
        x, y, wide = rng.uniform(6, 94), rng.uniform(5, 30), rng.uniform(4, 9)
        canvas.oval((x, y), (wide * 1.5, wide * 0.5), "#e9eef2", "#b9c4cc", 0.6)
    for _ in range(rng.randint(5, 9)):
        x, y, wide = rng.uniform(3, 97), rng.uniform(86, 98), rng.uniform(2, 4.5)
        canvas.oval((x, y), (wide, wide * 0.7), rng.choice(_STONES))
    for x, y in scene["birds"]:
        canvas.line([(x - 4, y - 2), (x, y + 1), (x + 4, y - 2)], "#333333", 1)


def _place(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, pick(rng, list(LANDSCAPES), rng.choice((4, 4, 5))), knobs)
    birds = [[rounded(rng, 8, 92), rounded(rng, 6, 30)] for _ in range(knobs.clutter)]
    return Posed(options, right, {}, {"place": options[right[0]], "seed": rng.randrange(10**6), "birds": birds})


_LANDSCAPES = (Kind("place", "scene and topic", _place, _draw_landscape),)


WAYS = {"north": (0, -1), "east": (1, 0), "south": (0, 1), "west": (-1, 0)}
_LAND = ("#e6efcf", "#efe6cf", "#dfeccf", "#ece9d6")


def _draw_map(canvas: Canvas, scene: Scene) -> None:
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
    colours = pick(rng, list(COLOURS), 2 + knobs.clutter)
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
    spots = around((50, 52), 29, 5, rng.uniform(0, 72))
    shuffled = colours.copy()
    rng.shuffle(shuffled)
    towns = [[colour, round(x, 1), round(y, 1)] for colour, (x, y) in zip(shuffled, spots, strict=True)]
    wrong = [colour for index, colour in enumerate(others) if index not in right]
    roads = [[asked, others[index]] for index in right]
    pairs = list(map(list, combinations(wrong, 2)))
    roads += pick(rng, pairs, min(len(pairs), 1 + knobs.clutter))
    rng.shuffle(roads)
    scene = _base(rng) | {"towns": towns, "roads": roads, "north": False, "asked": asked}
    return Posed(options, right, {"colour": asked}, scene)


_MAPS = (
    Kind("direction", "geography & earth science & agriculture", _direction, _draw_map),
    Kind("road", "geography & earth science & agriculture", _road, _draw_map, several=True),
)


FEELINGS = ("happy", "sad", "angry", "surprised", "sleepy", "calm")
ORDINALS = ("first", "second", "third", "fourth", "fifth")
_SKINS = ("#f3d2b3", "#d9a679", "#a8754a", "#f7dfc8")
_SPOTS = {2: ((28, 55), (72, 55)), 3: ((24, 36), (76, 36), (50, 76)), 4: ((26, 32), (74, 32), (26, 77), (74, 77))}


def _draw_faces(canvas: Canvas, scene: Scene) -> None:
    for (x, y), face in zip(_SPOTS[len(scene["faces"])], scene["faces"], strict=True):
        _face(canvas, (x, y + 2), 17 if len(scene["faces"]) < 4 else 15.5, face)


def _face(canvas: Canvas, at: tuple[float, float], r: float, face: Scene) -> None:
    x, y = at
    canvas.disc(at, r, face["skin"], INK, 0.8)
    hat = COLOURS[face["hat"]]
    canvas.box((x - r * 0.62, y - r * 1.4), (x + r * 0.62, y - r * 0.72), hat)
    canvas.box((x - r * 1.05, y - r * 0.86), (x + r * 1.05, y - r * 0.6), hat)
    feeling = face["feeling"]
    for side in (-1, 1):
        eye = (x + side * r * 0.38, y - r * 0.16)
        if feeling == "sleepy":
            canvas.line([(eye[0] - r * 0.2, eye[1]), (eye[0] + r * 0.2, eye[1])], INK, r * 0.11)
        else:
            canvas.disc(eye, r * (0.2 if feeling == "surprised" else 0.13), INK)
        if feeling == "angry":
            brow = [(eye[0] - side * r * 0.26, eye[1] - r * 0.14), (eye[0] + side * r * 0.26, eye[1] - r * 0.42)]
            canvas.line(brow, INK, r * 0.13)
    _mouth(canvas, (x, y), r, feeling)


def _mouth(canvas: Canvas, at: tuple[float, float], r: float, feeling: str) -> None:
    x, y = at
    if feeling == "happy":
        canvas.arc((x, y + r * 0.15), r * 0.52, (20, 160), INK, r * 0.13)
    elif feeling in ("sad", "angry"):
        canvas.arc((x, y + r * 0.88), r * 0.46, (205, 335), INK, r * 0.13)
    elif feeling == "surprised":
        canvas.oval((x, y + r * 0.52), (r * 0.2, r * 0.28), INK)
    elif feeling == "sleepy":
        canvas.oval((x, y + r * 0.5), (r * 0.12, r * 0.08), INK)
    else:
        canvas.line([(x - r * 0.36, y + r * 0.5), (x + r * 0.36, y + r * 0.5)], INK, r * 0.12)
    if feeling == "sad":
        canvas.oval((x + r * 0.42, y + r * 0.24), (r * 0.1, r * 0.17), "#4aa3df")


def _faces(rng: Random, hats: list[str], feelings: list[str]) -> list[Scene]:
    pairs = zip(hats, feelings, strict=True)
    return [{"hat": hat, "feeling": feeling, "skin": rng.choice(_SKINS)} for hat, feeling in pairs]


def _feeling(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, pick(rng, FEELINGS, rng.choice((3, 4, 4, 4, 5))), knobs)
    count = (2, 2, 3, 4)[knobs.clutter]
    gold = options[right[0]]
    others = pick(rng, without(options, gold), min(count, len(options)) - 1)
    faces = _faces(rng, pick(rng, list(COLOURS), 1 + len(others)), [gold, *others])
    asked = faces[0]["hat"]
    rng.shuffle(faces)
    return Posed(options, right, {"colour": asked}, {"faces": faces, "asked": asked})


def _who(rng: Random, knobs: Knobs) -> Posed:
    hats = pick(rng, list(COLOURS), 4)
    options, right = one_of(rng, hats, knobs)
    feeling, *others = pick(rng, FEELINGS, 5)
    faces = _faces(rng, hats, [feeling if index in right else others[index] for index in range(4)])
    rng.shuffle(faces)
    return Posed(options, right, {"feeling": feeling}, {"faces": faces, "asked": feeling})


def _draw_queue(canvas: Canvas, scene: Scene) -> None:
    """People in a line before a door, which is at the left or at the right."""
    door = 10 if scene["door"] == "left" else 90
    canvas.box((door - 8, 30), (door + 8, 80), "#8a5a2b", INK, 0.8)
    canvas.disc((door + 4, 56), 1.6, "#f7c71f")
    canvas.line([(2, 80), (98, 80)], "#777777", 1)
    for index, hat in enumerate(scene["hats"]):
        step = 14 * (index + 1) + 6
        x = door + step if scene["door"] == "left" else door - step
        canvas.polygon([(x - 5, 80), (x + 5, 80), (x + 3, 56), (x - 3, 56)], "#9aa5b1")
        canvas.disc((x, 50), 6, "#f3d2b3", INK, 0.6)
        canvas.box((x - 4.5, 37), (x + 4.5, 46), COLOURS[hat])
        canvas.line([(x - 7, 46), (x + 7, 46)], COLOURS[hat], 2.2)


def _queue(rng: Random, knobs: Knobs) -> Posed:
    count = 4 + (knobs.clutter > 1)
    hats = pick(rng, list(COLOURS), count)
    options, right = one_of(rng, hats, knobs)
    line = without(hats, options[right[0]])
    rng.shuffle(line)
    position = rng.randrange(count)
    line.insert(position, options[right[0]])
    scene = {"hats": line, "door": rng.choice(("left", "right")), "asked": position}
    return Posed(options, right, {"ordinal": ORDINALS[position]}, scene)


_PEOPLE = (
    Kind("feeling", "emotion", _feeling, _draw_faces),
    Kind("who-feels", "emotion", _who, _draw_faces, several=True),
    Kind("queue", "common", _queue, _draw_queue),
)

FAMILIES = {"landscapes": _LANDSCAPES, "maps": _MAPS, "people": _PEOPLE}
