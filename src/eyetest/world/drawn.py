"""A small benchmark drawn by code: shapes, bars, clocks and signs, with questions whose answers are certain.

It shows every kind of item that eyetest holds: choice and text, one picture and several, pictures as options, hints,
dialogue, two to ten options. The same seed gives the same pixels.
"""

import io
import math
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from PIL import Image as Pillow
from PIL import ImageDraw, ImageFont

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Item, Lineage, Manifest, Turn

_SIZE = 320
_COLOURS = {
    "red": "#d1495b",
    "orange": "#edae49",
    "green": "#3c9d6b",
    "blue": "#2f6fab",
    "purple": "#7b4f9e",
    "black": "#2b2b2b",
}
_SPECKLES = ("#e4d8c0", "#d9cbb0", "#efe6d3")
_SHAPES = ("circle", "square", "triangle", "star")
_WORDS = ("HARBOUR", "MEADOW", "LANTERN", "ORCHARD", "VIOLET", "GRANITE", "SPARROW", "COMPASS")
_WAYS = ("ROAD", "LANE", "SQUARE", "STREET", "HILL")
_PLACES = ("Aven", "Brill", "Corse", "Dunmore", "Elsk", "Farrow")
_CANARY = "eyetest-drawn-benchmark canary 6f1c2f0e-3b1d-4f55-9c0a-5d8a0f2f7f31"


class Draft(NamedTuple):
    """An item before its pictures have been stored."""

    task: str
    question: str
    pictures: list[Pillow.Image]
    choices: list[Choice]
    references: tuple[str, ...] = ()
    hint: str = ""
    history: tuple[Turn, ...] = ()
    description: str = ""


def draw_benchmark(to: Path, *, items: int = 48, seed: int = 0, overwrite: bool = False) -> Benchmark:
    """Draw a benchmark of this many items into a folder."""
    manifest = Manifest(
        name="drawn",
        licence="CC0-1.0",
        source="drawn by eyetest",
        canary=_CANARY,
        lineage=(Lineage(step="draw", note=f"{items} items", seed=seed),),
    )
    with BenchmarkWriter(to, manifest, overwrite=overwrite) as writer:
        for number, draft in enumerate(_drafts(items, seed)):
            images = tuple(writer.images.put(_png(picture)) for picture in draft.pictures)
            writer.add(
                Item(
                    id=str(number),
                    question=draft.question,
                    images=images,
                    choices=tuple(draft.choices),
                    references=draft.references,
                    hint=draft.hint,
                    history=draft.history,
                    description=draft.description,
                    tags={"task": draft.task, "split": "test"},
                )
            )
    return Benchmark(to)


def _drafts(items: int, seed: int) -> Iterator[Draft]:
    kinds: Sequence[Callable[[random.Random], Draft]] = (
        _count,
        _colour,
        _bars,
        _clock,
        _sign,
        _find_picture,
        _compare,
        _dialogue,
    )
    for number in range(items):
        yield kinds[number % len(kinds)](random.Random(f"{seed}/{number}"))


def _count(rng: random.Random) -> Draft:
    shape, number = rng.choice(_SHAPES), rng.randint(2, 7)
    others = [s for s in _SHAPES if s != shape]
    things = [(shape, _any_colour(rng)) for _ in range(number)]
    things += [(rng.choice(others), _any_colour(rng)) for _ in range(rng.randint(1, 9 - number))]
    options = sorted({number, *rng.sample([n for n in range(1, 10) if n != number], 3)})
    return Draft(
        "counting",
        f"How many {shape}s are there?",
        [_scene(things, rng)],
        [Choice(str(n), n == number) for n in options],
        description=_listed(things),
    )


def _colour(rng: random.Random) -> Draft:
    shapes = rng.sample(_SHAPES, 3)
    things = [(shape, _any_colour(rng)) for shape in shapes]
    shape, colour = things[0]
    return Draft(
        "colour",
        f"Which colour is the {shape}?",
        [_scene(things, rng)],
        _shuffled([(name, name == colour) for name in _COLOURS], rng),
        description=_listed(things),
    )


def _bars(rng: random.Random) -> Draft:
    values = dict(zip(_PLACES, rng.sample(range(10, 100), len(_PLACES)), strict=True))
    tallest = max(values, key=values.__getitem__)
    return Draft(
        "chart",
        "Which place has the highest value?",
        [_chart(values)],
        [Choice(place, place == tallest) for place in values],
        hint="The height of a bar shows the value of a place.",
        description="\n".join(f"{place},{value}" for place, value in values.items()),
    )


def _clock(rng: random.Random) -> Draft:
    hour, minute = rng.randint(1, 12), rng.choice((0, 15, 30, 45))
    wrong = {(h, m) for h in range(1, 13) for m in (0, 15, 30, 45)} - {(hour, minute)}
    times = [(hour, minute), *rng.sample(sorted(wrong), 9)]
    options = _shuffled([(f"{h}:{m:02}", (h, m) == (hour, minute)) for h, m in times], rng)
    return Draft("clock", "What time does the clock in <image 1> show?", [_clock_face(hour, minute)], options)


def _sign(rng: random.Random) -> Draft:
    text = f"{rng.choice(_WORDS)} {rng.choice(_WAYS)} {rng.randint(1, 99)}"
    picture = _signpost(text, _COLOURS[_any_colour(rng)])
    references = (text, text.title())
    return Draft("reading", "What does the sign say?", [picture], [], references, description=f"A sign: {text}")


def _find_picture(rng: random.Random) -> Draft:
    shapes = rng.sample(_SHAPES, 4)
    colours = rng.sample(list(_COLOURS), 4)
    pictures = [_scene([(s, c)], rng, size=160) for s, c in zip(shapes, colours, strict=True)]
    wanted = rng.randrange(4)
    return Draft(
        "picture options",
        f"Which picture shows a {colours[wanted]} {shapes[wanted]}?",
        pictures,
        [Choice(f"<image {i + 1}>", i == wanted) for i in range(4)],
    )


def _compare(rng: random.Random) -> Draft:
    numbers = rng.sample(range(2, 9), 2)
    pictures = [_scene([("circle", _any_colour(rng)) for _ in range(n)], rng) for n in numbers]
    more = numbers[0] > numbers[1]
    return Draft(
        "comparison",
        "Are there more circles in <image 1> than in <image 2>?",
        pictures,
        [Choice("yes", more), Choice("no", not more)],
    )


def _dialogue(rng: random.Random) -> Draft:
    shape, colour = rng.choice(_SHAPES), _any_colour(rng)
    history = (Turn("What do you see?", f"A {colour} {shape}."),)
    options = [(s, s == shape) for s in _SHAPES]
    return Draft("dialogue", "Which shape was it again?", [_scene([(shape, colour)], rng)], _shuffled(options, rng),
                 history=history)  # fmt: skip


def _shuffled(options: list[tuple[str, bool]], rng: random.Random) -> list[Choice]:
    choices = [Choice(text, correct) for text, correct in options]
    rng.shuffle(choices)
    return choices


def _any_colour(rng: random.Random) -> str:
    return rng.choice(list(_COLOURS))


def _listed(things: list[tuple[str, str]]) -> str:
    return "A drawing of " + ", ".join(f"a {colour} {shape}" for shape, colour in things) + "."


def _scene(things: list[tuple[str, str]], rng: random.Random, size: int = _SIZE) -> Pillow.Image:
    """Shapes on speckled paper, each in a cell of its own so that none covers another.

    The speckles make every scene a picture of its own: without them two lone blue circles would be one, resized.
    """
    picture = Pillow.new("RGB", (size, size), "#fbf7ef")
    draw = ImageDraw.Draw(picture)
    for _ in range(60):
        x, y, radius = rng.uniform(0, size), rng.uniform(0, size), rng.uniform(1.5, 5)
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=rng.choice(_SPECKLES))
    grid = math.ceil(math.sqrt(len(things)))
    cell = size / grid
    for (shape, colour), place in zip(things, rng.sample(range(grid * grid), len(things)), strict=True):
        radius = cell * rng.uniform(0.25, 0.4)
        centre = ((place % grid + 0.5) * cell, (place // grid + 0.5) * cell)
        _shape(draw, shape, centre, radius, _COLOURS[colour])
    return picture


def _shape(draw: ImageDraw.ImageDraw, shape: str, centre: tuple[float, float], radius: float, colour: str) -> None:
    x, y = centre
    if shape == "circle":
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)
        return
    corners = {"square": 4, "triangle": 3, "star": 10}[shape]
    turn = math.pi / 4 if shape == "square" else -math.pi / 2
    points = []
    for corner in range(corners):
        reach = radius * (0.45 if shape == "star" and corner % 2 else 1)
        angle = turn + 2 * math.pi * corner / corners
        points.append((x + reach * math.cos(angle), y + reach * math.sin(angle)))
    draw.polygon(points, fill=colour)


def _chart(values: dict[str, int]) -> Pillow.Image:
    picture = Pillow.new("RGB", (_SIZE, _SIZE), "white")
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(size=13)
    width, base = _SIZE / len(values), _SIZE - 40
    for position, (place, value) in enumerate(values.items()):
        left = position * width
        colour = list(_COLOURS.values())[position]
        draw.rectangle((left + 10, base - value * 2.5, left + width - 10, base), fill=colour)
        draw.text((left + width / 2, base + 16), place, fill="#333333", font=font, anchor="mm")
    draw.line((4, base, _SIZE - 4, base), fill="#333333", width=2)
    return picture


def _clock_face(hour: int, minute: int) -> Pillow.Image:
    picture = Pillow.new("RGB", (_SIZE, _SIZE), "#e8eef4")
    draw = ImageDraw.Draw(picture)
    middle, radius = _SIZE / 2, _SIZE * 0.42
    draw.ellipse(
        (middle - radius, middle - radius, middle + radius, middle + radius), fill="white", outline="#333333", width=4
    )
    font = ImageFont.load_default(size=22)
    for number in range(1, 13):
        angle = math.radians(number * 30 - 90)
        place = (middle + radius * 0.82 * math.cos(angle), middle + radius * 0.82 * math.sin(angle))
        draw.text(place, str(number), fill="#333333", font=font, anchor="mm")
    for turn, reach, width in (((hour % 12 + minute / 60) / 12, 0.5, 8), (minute / 60, 0.72, 4)):
        angle = 2 * math.pi * turn - math.pi / 2
        tip = (middle + radius * reach * math.cos(angle), middle + radius * reach * math.sin(angle))
        draw.line((middle, middle, *tip), fill="#d1495b", width=width)
    return picture


def _signpost(text: str, colour: str) -> Pillow.Image:
    picture = Pillow.new("RGB", (_SIZE, _SIZE * 3 // 4), "#cfe3d4")
    draw = ImageDraw.Draw(picture)
    draw.rectangle((150, 150, 170, 240), fill="#7a5c3e")
    draw.rounded_rectangle((20, 50, 300, 150), 14, fill=colour, outline="white", width=4)
    draw.text((160, 100), text, fill="white", font=ImageFont.load_default(size=24), anchor="mm")
    return picture


def _png(picture: Pillow.Image) -> bytes:
    data = io.BytesIO()
    picture.save(data, "PNG")
    return data.getvalue()
