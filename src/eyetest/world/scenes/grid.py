"""Shapes in the cells of a grid: where things are, and what is beside what."""

from random import Random

from eyetest.world.canvas import COLOURS, Canvas
from eyetest.world.posing import Kind, Knobs, Posed, Scene, one_of, pick
from eyetest.world.shapes import SHAPES, draw_shape

PLACES = (
    ("top left", "top centre", "top right"),
    ("middle left", "centre", "middle right"),
    ("bottom left", "bottom centre", "bottom right"),
)
STEPS = {"left of": (-1, 0), "right of": (1, 0), "above": (0, -1), "below": (0, 1)}
_CELLS = [(column, row) for row in range(3) for column in range(3)]


def draw(canvas: Canvas, scene: Scene) -> None:
    """Nine cells with what is in them."""
    for line in (36, 64) if scene.get("lines") else ():
        canvas.line([(line, 8), (line, 92)], "#c4c4c4", 0.8)
        canvas.line([(8, line), (92, line)], "#c4c4c4", 0.8)
    for one in scene["things"]:
        column, row = one["cell"]
        centre = (22 + 28 * column + one["off"][0], 22 + 28 * row + one["off"][1])
        draw_shape(canvas, one["shape"], centre, 10, one["colour"])


def _placed(rng: Random, shape: str, cell: tuple[int, int], loose: bool = True) -> Scene:
    off = [round(rng.uniform(-3, 3), 1), round(rng.uniform(-3, 3), 1)] if loose else [0, 0]
    return {"shape": shape, "colour": rng.choice(list(COLOURS)), "cell": list(cell), "off": off}


def _name(cell: tuple[int, int]) -> str:
    return PLACES[cell[1]][cell[0]]


def _where(rng: Random, knobs: Knobs) -> Posed:
    cells = pick(rng, _CELLS, 4)
    options, right = one_of(rng, [_name(cell) for cell in cells], knobs)
    shapes = pick(rng, SHAPES, 4)
    gold = cells[right[0]]
    others = [cell for cell in cells if cell != gold]
    things = [_placed(rng, shapes[0], gold)]
    things += [
        _placed(rng, shape, cell) for shape, cell in zip(shapes[1 : 2 + min(knobs.crowd, 2)], others, strict=False)
    ]
    rng.shuffle(things)
    return Posed(options, right, {"shape": shapes[0]}, {"things": things, "asked": shapes[0]})


def _what_at(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, pick(rng, SHAPES, rng.choice((3, 4, 4, 5))), knobs)
    cells = pick(rng, _CELLS, len(options))
    gold = options[right[0]]
    ordered = [gold, *(shape for shape in options if shape != gold)]
    things = [_placed(rng, shape, cell) for shape, cell in zip(ordered, cells, strict=True)]
    rng.shuffle(things)
    return Posed(options, right, {"place": _name(cells[0])}, {"things": things, "asked": _name(cells[0])})


def _beside(rng: Random, knobs: Knobs) -> Posed:
    word, (dx, dy) = rng.choice(list(STEPS.items()))
    starts = [(x, y) for x, y in _CELLS if 0 <= x + dx < 3 and 0 <= y + dy < 3]
    x, y = rng.choice(starts)
    shapes = pick(rng, SHAPES, 5)
    options, right = one_of(rng, shapes[1:], knobs)
    gold = (x + dx, y + dy)
    near_by = [cell for cell in _CELLS if cell not in ((x, y), gold)]
    near_by.sort(key=lambda cell: (abs(cell[0] - x) + abs(cell[1] - y), rng.random()))
    cells = iter(near_by)
    things = [_placed(rng, shapes[0], (x, y), False)]
    things += [
        _placed(rng, shape, gold if index == right[0] else next(cells), False) for index, shape in enumerate(options)
    ]
    return Posed(
        options,
        right,
        {"side": word, "shape": shapes[0]},
        {"things": things, "lines": True, "asked": [word, shapes[0]]},
    )


def _left_of(rng: Random, knobs: Knobs) -> Posed:
    word, axis = rng.choice(
        (("further left than", 0), ("further right than", 0), ("higher than", 1), ("lower than", 1))
    )
    options, right = one_of(rng, ("yes", "no"), knobs)
    shapes = pick(rng, SHAPES, 3 + min(knobs.crowd, 2))
    low, high = pick(rng, (0, 1, 2), 2)
    low, high = min(low, high), max(low, high)
    holds = options[right[0]] == "yes"
    first_is_low = holds == (word in ("further left than", "higher than"))
    cells = _CELLS.copy()
    rng.shuffle(cells)
    first = next(cell for cell in cells if cell[axis] == (low if first_is_low else high))
    second = next(cell for cell in cells if cell[axis] == (high if first_is_low else low))
    free = [cell for cell in cells if cell not in (first, second)]
    things = [_placed(rng, shape, cell, False) for shape, cell in zip(shapes, [first, second, *free], strict=False)]
    rng.shuffle(things)
    words = {"one": shapes[0], "other": shapes[1], "than": word}
    return Posed(options, right, words, {"things": things, "lines": False, "asked": [shapes[0], word, shapes[1]]})


KINDS = (
    Kind("where", "localization", _where, draw),
    Kind("what-at", "localization", _what_at, draw),
    Kind("beside", "cross-instance relation", _beside, draw),
    Kind("further", "cross-instance relation", _left_of, draw),
)
