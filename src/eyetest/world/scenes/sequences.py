"""What comes next: rows of shapes, rows of numbers, and a walk by instructions."""

from random import Random

from eyetest.world.canvas import COLOURS, INK, Canvas
from eyetest.world.posing import Kind, Knobs, Posed, Scene, one_of, pick
from eyetest.world.shapes import SHAPES, draw_shape

LETTERS = "FGHJKLMNPRSTVWXZ"
MOVES = {"right": (1, 0), "left": (-1, 0), "up": (0, -1), "down": (0, 1)}


def draw_row(canvas: Canvas, scene: Scene) -> None:
    """Seven shapes in two rows, then a box with a question mark."""
    spots = [(14 + 24 * index, 30) for index in range(4)] + [(14 + 24 * index, 70) for index in range(4)]
    row = scene["row"]
    for (x, y), (shape, colour) in zip(spots, row, strict=False):
        draw_shape(canvas, shape, (x, y), 9, colour)
    x, y = spots[len(row)]
    canvas.box((x - 10, y - 10), (x + 10, y + 10), "#ffffff", INK, 1.2)
    canvas.text((x, y), "?", 17)


def _row(rng: Random, knobs: Knobs) -> Posed:
    period = 3 if knobs.crowd < 2 else 4
    shapes, colours = pick(rng, SHAPES, 2), pick(rng, list(COLOURS), 2)
    looks = [(shape, colour) for shape in shapes for colour in colours]
    options, right = one_of(rng, [f"{colour} {shape}" for shape, colour in looks], knobs)
    cycle = [rng.choice(looks) for _ in range(period)]
    while len(set(cycle)) < min(period, 3):
        cycle = [rng.choice(looks) for _ in range(period)]
    length = 7
    cycle[length % period] = looks[right[0]]
    if len(set(cycle)) == 1:
        cycle[(length + 1) % period] = next(look for look in looks if look != looks[right[0]])
    return Posed(
        options, right, {}, {"row": [list(cycle[index % period]) for index in range(length)], "period": period}
    )


def draw_numbers(canvas: Canvas, scene: Scene) -> None:
    """Four numbers in boxes, and an empty box."""
    spots = ((20, 28), (50, 28), (80, 28), (35, 70), (65, 70))
    for (x, y), text in zip(spots, [*map(str, scene["numbers"]), "?"], strict=True):
        canvas.box((x - 14, y - 14), (x + 14, y + 14), "#ffffff", COLOURS[scene["colour"]], 1.6)
        canvas.fitted((x, y), text, 20, 24)


def _numbers(rng: Random, knobs: Knobs) -> Posed:
    low = rng.randint(16, 60)
    values = [low + step for step in sorted(pick(rng, range(6), 4))]
    options, right = one_of(rng, [str(value) for value in values], knobs)
    step = rng.choice((1, 2, 3)) if knobs.crowd < 2 else rng.choice((-3, -2, 2, 3, 4))
    gold = values[right[0]]
    numbers = [gold - step * back for back in (4, 3, 2, 1)]
    return Posed(options, right, {}, {"numbers": numbers, "colour": rng.choice(list(COLOURS))})


def draw_walk(canvas: Canvas, scene: Scene) -> None:
    """A board of nine letters with a marked start, and the instructions as arrows below it."""
    for index, letter in enumerate(scene["board"]):
        x, y = 22 + 22 * (index % 3), 12 + 22 * (index // 3)
        start = index == scene["start"]
        canvas.box((x - 10, y - 10), (x + 10, y + 10), "#ffe08a" if start else "#ffffff", INK, 1.1)
        canvas.text((x, y), letter, 15)
    canvas.line([(4, 72), (96, 72)], "#999999", 0.8)
    for index, move in enumerate(scene["moves"]):
        x, (dx, dy) = 16 + 22 * index, MOVES[move]
        canvas.arrow((x - 7 * dx, 86 - 7 * dy), (x + 7 * dx, 86 + 7 * dy), COLOURS["blue"], 3, 8)


def _walk(rng: Random, knobs: Knobs) -> Posed:
    board = pick(rng, LETTERS, 9)
    options, right = one_of(rng, pick(rng, board, 4), knobs)
    gold = board.index(options[right[0]])
    steps = 2 + (knobs.crowd > 1)
    x, y = gold % 3, gold // 3
    moves: list[str] = []
    seen = {(x, y)}
    for _ in range(steps):
        ways = [(n, x - d[0], y - d[1]) for n, d in MOVES.items() if 0 <= x - d[0] < 3 and 0 <= y - d[1] < 3]
        fresh = [way for way in ways if way[1:] not in seen] or ways
        name, x, y = rng.choice(fresh)
        seen.add((x, y))
        moves.insert(0, name)
    scene = {"board": board, "start": 3 * y + x, "moves": moves}
    return Posed(options, right, {}, scene)


KINDS = (
    Kind("row", "code & sequence", _row, draw_row),
    Kind("numbers", "code & sequence", _numbers, draw_numbers),
    Kind("walk", "code & sequence", _walk, draw_walk),
)
