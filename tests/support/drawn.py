"""A small benchmark with every kind of item that eyetest holds, drawn with the scenes of the real world.

Choice and text, one image and several, images as options, hints, dialogue, two to ten options; the answers are
certain, and the same seed gives the same pixels.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from eyetest_world.canvas import COLOURS, PAPERS, Canvas, png, scattered
from eyetest_world.scenes import KINDS

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Item, Lineage, Manifest, Turn

_SIZE = 320
_COLOURS = ("red", "orange", "green", "blue", "purple", "black")
_SHAPES = ("circle", "square", "triangle", "star")
_WORDS = ("HARBOUR", "MEADOW", "LANTERN", "ORCHARD", "VIOLET", "GRANITE", "SPARROW", "COMPASS")
_WAYS = ("ROAD", "LANE", "SQUARE", "STREET", "HILL")
_PLACES = ("Aven", "Brill", "Corse", "Dunmore", "Elsk", "Farrow")
_CANARY = "eyetest-drawn-benchmark canary 6f1c2f0e-3b1d-4f55-9c0a-5d8a0f2f7f31"


class Draft(NamedTuple):
    """An item before its images have been stored."""

    task: str
    question: str
    images: list[bytes]
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
            images = tuple(writer.images.put(image) for image in draft.images)
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
    kinds = (_count, _colour, _bars, _clock, _sign, _find_image, _compare, _dialogue)
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
        [_chart(values, rng)],
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
    image = _signpost(text, _any_colour(rng), rng)
    references = (text, text.title())
    return Draft("reading", "What does the sign say?", [image], [], references, description=f"A sign: {text}")


def _find_image(rng: random.Random) -> Draft:
    shapes = rng.sample(_SHAPES, 4)
    colours = rng.sample(_COLOURS, 4)
    images = [_scene([(s, c)], rng, size=160) for s, c in zip(shapes, colours, strict=True)]
    wanted = rng.randrange(4)
    return Draft(
        "image options",
        f"Which image shows a {colours[wanted]} {shapes[wanted]}?",
        images,
        [Choice(f"<image {i + 1}>", i == wanted) for i in range(4)],
    )


def _compare(rng: random.Random) -> Draft:
    numbers = rng.sample(range(2, 9), 2)
    images = [_scene([("circle", _any_colour(rng)) for _ in range(n)], rng) for n in numbers]
    more = numbers[0] > numbers[1]
    return Draft(
        "comparison",
        "Are there more circles in <image 1> than in <image 2>?",
        images,
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
    return rng.choice(_COLOURS)


def _listed(things: list[tuple[str, str]]) -> str:
    return "A drawing of " + ", ".join(f"a {colour} {shape}" for shape, colour in things) + "."


def _paper(rng: random.Random, size: int = _SIZE) -> Canvas:
    """Speckles make every image one of its own: without them two lone blue circles would be one, resized."""
    canvas = Canvas(size, PAPERS[0])
    canvas.speckle(rng)
    return canvas


def _scene(looks: list[tuple[str, str]], rng: random.Random, size: int = _SIZE) -> bytes:
    canvas = _paper(rng, size)
    radius = 9 if len(looks) > 3 else 13
    spots = scattered(rng, len(looks), radius)
    shown = [
        {"shape": shape, "colour": colour, "at": at, "radius": radius, "pattern": "plain"}
        for (shape, colour), at in zip(looks, spots, strict=True)
    ]
    KINDS["count-shapes"].draw(canvas, {"things": shown})
    return png(canvas.finished())


def _chart(values: dict[str, int], rng: random.Random) -> bytes:
    canvas = _paper(rng)
    bars = [(colour, value / 2) for colour, value in zip(_COLOURS, values.values(), strict=True)]
    KINDS["bars"].draw(canvas, {"bars": bars, "scale": False})
    for number, place in enumerate(values):
        canvas.fitted((8 + 87 / 6 * (number + 0.5), 95), place, 6, 14)
    return png(canvas.finished())


def _clock_face(hour: int, minute: int) -> bytes:
    """On plain paper: two clocks that show the same time are the same image."""
    canvas = Canvas(_SIZE)
    look = {"at": (50, 50), "radius": 42, "rim": "#444444", "face": "#ffffff", "numbers": 1}
    KINDS["clock"].draw(canvas, look | {"hour": hour, "minute": minute})
    return png(canvas.finished())


def _signpost(text: str, colour: str, rng: random.Random) -> bytes:
    canvas = _paper(rng)
    KINDS["word"].draw(canvas, {"texts": [text], "boards": [COLOURS[colour]], "off": (0, 0, 44)})
    return png(canvas.finished())
