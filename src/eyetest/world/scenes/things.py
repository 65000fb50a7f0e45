"""Shapes on paper: their colours, patterns, sizes, places and numbers."""

from random import Random

from eyetest.world.canvas import COLOURS, Canvas
from eyetest.world.posing import Kind, Knobs, Posed, Scene, near, one_of, pick
from eyetest.world.shapes import PATTERNS, SHAPES, draw_shape, scattered

_FILLABLE = tuple(shape for shape in SHAPES if shape not in ("ring", "cross"))
_PLURAL = {shape: f"{shape}s" for shape in SHAPES} | {"cross": "crosses"}


def _thing(shape: str, colour: str, at: tuple[float, float], radius: float = 9, pattern: str = "plain") -> Scene:
    return {"shape": shape, "colour": colour, "at": list(at), "radius": radius, "pattern": pattern}


def draw(canvas: Canvas, scene: Scene) -> None:
    """Every thing where it is."""
    for one in scene["things"]:
        draw_shape(canvas, one["shape"], tuple(one["at"]), one["radius"], one["colour"], one["pattern"])


def _radius(count: int) -> float:
    return 12.0 if count <= 5 else 10.0 if count <= 8 else 8.0


def _laid_out(rng: Random, looks: list[tuple[str, str]]) -> Scene:
    radius = _radius(len(looks))
    places = scattered(rng, len(looks), radius)
    things = [_thing(*look, at, radius) for look, at in zip(looks, places, strict=True)]
    rng.shuffle(things)
    return {"things": things}


def _count_shapes(rng: Random, knobs: Knobs) -> Posed:
    shape, colour = rng.choice(SHAPES), rng.choice(list(COLOURS))
    numbers = near(rng, 1, 7)
    options, right = one_of(rng, [str(number) for number in numbers], knobs)
    count = numbers[right[0]]
    looks = [(shape, colour)] * count
    other_shapes = [one for one in SHAPES if one != shape]
    other_colours = [one for one in COLOURS if one != colour]
    for number in range(min(2 + knobs.crowd, 11 - count)):
        same_colour = number % 2 == 0
        looks.append((rng.choice(other_shapes), colour) if same_colour else (shape, rng.choice(other_colours)))
    words = {"shapes": _PLURAL[shape], "colour": colour}
    return Posed(options, right, words, _laid_out(rng, looks) | {"asked": [shape, colour]})


def _count_colour(rng: Random, knobs: Knobs) -> Posed:
    colour = rng.choice(list(COLOURS))
    numbers = near(rng, 1, 7, rng.choice((3, 4, 4, 5)))
    options, right = one_of(rng, [str(number) for number in numbers], knobs)
    count = numbers[right[0]]
    others = [one for one in COLOURS if one != colour]
    looks = [(rng.choice(SHAPES), colour) for _ in range(count)]
    looks += [(rng.choice(SHAPES), rng.choice(others)) for _ in range(min(2 + knobs.crowd, 11 - count))]
    return Posed(options, right, {"colour": colour}, _laid_out(rng, looks) | {"asked": colour})


def _colour_of(rng: Random, knobs: Knobs) -> Posed:
    colours = pick(rng, list(COLOURS), 4)
    options, right = one_of(rng, colours, knobs)
    shapes = pick(rng, SHAPES, 4 + min(knobs.crowd, 2))
    gold = colours[right[0]]
    rest = pick(rng, [one for one in colours if one != gold], 3) + pick(rng, list(COLOURS), 2)
    looks = list(zip(shapes, [gold, *rest], strict=False))
    return Posed(options, right, {"shape": shapes[0]}, _laid_out(rng, looks) | {"asked": shapes[0]})


def _pattern_of(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, pick(rng, PATTERNS, 4), knobs)
    shapes = pick(rng, _FILLABLE, 3 + min(knobs.crowd, 1))
    gold = options[right[0]]
    others = pick(rng, [one for one in options if one != gold], 3)
    places = scattered(rng, len(shapes), 16, 2)
    things = [
        _thing(shape, rng.choice(list(COLOURS)), at, 16, pattern)
        for shape, at, pattern in zip(shapes, places, [gold, *others], strict=False)
    ]
    rng.shuffle(things)
    return Posed(options, right, {"shape": shapes[0]}, {"things": things, "asked": shapes[0]})


def _same_colour(rng: Random, knobs: Knobs) -> Posed:
    shapes = pick(rng, SHAPES, 5)
    options, right = one_of(rng, shapes[1:], knobs)
    colours = pick(rng, list(COLOURS), 5)
    looks = [(shapes[0], colours[0])]
    looks += [(shape, colours[0] if index in right else colours[1 + index]) for index, shape in enumerate(options)]
    return Posed(options, right, {"shape": shapes[0]}, _laid_out(rng, looks) | {"asked": shapes[0]})


def _size(rng: Random, knobs: Knobs) -> Posed:
    most = rng.random() < 0.5
    options, right = one_of(rng, pick(rng, SHAPES, 4), knobs)
    sizes = [7.0, 8.2, 9.2] if most else [12.4, 13.6, 14.6]
    rng.shuffle(sizes)
    extreme = 14.4 if most else 7.0
    points = scattered(rng, 4, 14, 3)
    things = [
        _thing(shape, rng.choice(list(COLOURS)), points[index], extreme if index in right else sizes.pop())
        for index, shape in enumerate(options)
    ]
    word = rng.choice(("largest", "biggest") if most else ("smallest", "least"))
    word = "smallest" if word == "least" else word
    return Posed(options, right, {"extreme": word}, {"things": things, "asked": "max" if most else "min"})


KINDS = (
    Kind("count-shapes", "counting", _count_shapes, draw),
    Kind("count-colour", "counting", _count_colour, draw),
    Kind("colour-of", "single-instance", _colour_of, draw),
    Kind("pattern-of", "single-instance", _pattern_of, draw),
    Kind("same-colour", "cross-instance attribute", _same_colour, draw, several=True),
    Kind("size", "cross-instance attribute", _size, draw, several=True),
)
