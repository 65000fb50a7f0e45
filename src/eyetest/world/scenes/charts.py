"""Bars, lines and pies."""

from random import Random

from eyetest.world.canvas import COLOURS, INK, Canvas
from eyetest.world.posing import Kind, Knobs, Posed, Scene, near, one_of, pick

_STEP = 10


def draw_bars(canvas: Canvas, scene: Scene) -> None:
    """Bars told apart by their colours; heights from 0 to 50, with a scale at the left if there is to be one."""
    left = 20 if scene["scale"] else 8
    if scene["scale"]:
        for value in range(0, 51, _STEP):
            y = 90 - value * 1.6
            canvas.line([(left, y), (97, y)], "#c9c9c9", 0.7)
            canvas.text((10, y), str(value), 11)
    width = (95 - left) / len(scene["bars"])
    for index, (colour, value) in enumerate(scene["bars"]):
        x = left + index * width
        canvas.box((x + width * 0.16, 90 - value * 1.6), (x + width * 0.84, 90), COLOURS[colour])
    canvas.line([(left, 90), (97, 90)], INK, 1.2)


def _extreme_bars(rng: Random, knobs: Knobs) -> Posed:
    most = rng.random() < 0.5
    colours = pick(rng, list(COLOURS), 4)
    options, right = one_of(rng, colours, knobs)
    rest = pick(rng, range(16, 37, 2), 4)
    extreme = min(50, max(rest) + rng.randint(4, 9)) if most else max(4, min(rest) - rng.randint(4, 9))
    bars = [[colour, extreme if index in right else rest[index]] for index, colour in enumerate(colours)]
    if knobs.crowd > 1:
        other = rng.choice([colour for colour in COLOURS if colour not in colours])
        bars.append([other, rng.choice(rest)])
    rng.shuffle(bars)
    word = rng.choice(("tallest", "highest") if most else ("shortest", "lowest"))
    return Posed(options, right, {"extreme": word}, {"bars": bars, "scale": False, "asked": "max" if most else "min"})


def _bar_value(rng: Random, knobs: Knobs) -> Posed:
    values = near(rng, 5, 45, 4, 5)
    options, right = one_of(rng, [str(value) for value in values], knobs)
    colours = pick(rng, list(COLOURS), 3 + min(knobs.crowd, 2))
    others = pick(rng, [value for value in range(5, 50, 5) if value != values[right[0]]], len(colours) - 1)
    bars = [[colour, value] for colour, value in zip(colours, [values[right[0]], *others], strict=True)]
    rng.shuffle(bars)
    return Posed(options, right, {"colour": colours[0]}, {"bars": bars, "scale": True, "asked": colours[0]})


def draw_pie(canvas: Canvas, scene: Scene) -> None:
    """A pie from the top, clockwise."""
    start = -90.0
    total = sum(share for _, share in scene["shares"])
    for colour, share in scene["shares"]:
        end = start + 360 * share / total
        canvas.slice((50, 50), 42, (start, end), COLOURS[colour])
        start = end


def _pie(rng: Random, knobs: Knobs) -> Posed:
    most = rng.random() < 0.5
    colours = pick(rng, list(COLOURS), 4)
    options, right = one_of(rng, colours, knobs)
    rest = pick(rng, range(18, 27, 2), 4)
    extreme = max(rest) + rng.randint(9, 16) if most else min(rest) - rng.randint(8, 11)
    shares = [[colour, extreme if index in right else rest[index]] for index, colour in enumerate(colours)]
    rng.shuffle(shares)
    word = rng.choice(("largest", "biggest") if most else ("smallest", "thinnest"))
    return Posed(options, right, {"extreme": word}, {"shares": shares, "asked": "max" if most else "min"})


def draw_line(canvas: Canvas, scene: Scene) -> None:
    """A line over numbered weeks."""
    values = scene["values"]
    gap = 84 / (len(values) - 1)
    points = [(8 + index * gap, 76 - value * 0.7) for index, value in enumerate(values)]
    for (x, y), week in zip(points, range(1, 10), strict=False):
        canvas.line([(x, 80), (x, y)], "#d5d5d5", 0.7)
        canvas.text((x, 90), str(week), 13)
    canvas.line([(4, 80), (96, 80)], INK, 1.2)
    canvas.line(points, COLOURS[scene["colour"]], 2.6)
    for point in points:
        canvas.disc(point, 2.6, COLOURS[scene["colour"]])


def _line(rng: Random, knobs: Knobs) -> Posed:
    most = rng.random() < 0.5
    weeks = 5 + (knobs.crowd > 1)
    asked = sorted(pick(rng, range(weeks), 4))
    options, right = one_of(rng, [f"week {week + 1}" for week in asked], knobs)
    values = pick(rng, range(24, 73, 6), weeks)
    extreme = max(values) + rng.randint(12, 22) if most else min(values) - rng.randint(12, 20)
    for index in right:
        values[asked[index]] = extreme
    scene = {"values": values, "colour": rng.choice(list(COLOURS)), "asked": "max" if most else "min"}
    return Posed(options, right, {"extreme": rng.choice(("highest", "top") if most else ("lowest", "bottom"))}, scene)


KINDS = (
    Kind("bars", "statistical", _extreme_bars, draw_bars, several=True),
    Kind("bar-value", "statistical", _bar_value, draw_bars),
    Kind("pie", "statistical", _pie, draw_pie, several=True),
    Kind("line", "statistical", _line, draw_line, several=True),
)
