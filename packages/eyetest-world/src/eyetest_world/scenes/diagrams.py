"""Scenes that are read: charts, clocks, diagrams, geometry, machines, food webs, molecules and sequences."""

import math
from itertools import pairwise, product
from random import Random

from eyetest_world.canvas import COLOURS, INK, SHAPES, Canvas, Point, around, draw_shape
from eyetest_world.posing import Kind, Knobs, Posed, Scene, extreme, near, one_of, pick, rounded, without


def _draw_bars(canvas: Canvas, scene: Scene) -> None:
    """Bars distinguished by their colours; heights from 0 to 50, with a scale at the left if there is to be one."""
    left = 20 if scene["scale"] else 8
    if scene["scale"]:
        for value in range(0, 51, 10):
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
    own = min(50, max(rest) + rng.randint(4, 9)) if most else max(4, min(rest) - rng.randint(4, 9))
    bars = [[colour, own if index in right else rest[index]] for index, colour in enumerate(colours)]
    if knobs.clutter > 1:
        bars.append([rng.choice([colour for colour in COLOURS if colour not in colours]), rng.choice(rest)])
    rng.shuffle(bars)
    words, asked = extreme(rng, ("tallest", "highest"), ("shortest", "lowest"), most)
    return Posed(options, right, words, {"bars": bars, "scale": False, "asked": asked})


def _bar_value(rng: Random, knobs: Knobs) -> Posed:
    values = near(rng, 5, 45, 4, 5)
    options, right = one_of(rng, values, knobs)
    colours, gold = pick(rng, list(COLOURS), 3 + min(knobs.clutter, 2)), values[right[0]]
    others = pick(rng, without(range(5, 50, 5), gold), len(colours) - 1)
    bars = [list(bar) for bar in zip(colours, [gold, *others], strict=True)]
    rng.shuffle(bars)
    return Posed(options, right, {"colour": colours[0]}, {"bars": bars, "scale": True, "asked": colours[0]})


def _draw_pie(canvas: Canvas, scene: Scene) -> None:
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
    own = max(rest) + rng.randint(9, 16) if most else min(rest) - rng.randint(8, 11)
    shares = [[colour, own if index in right else rest[index]] for index, colour in enumerate(colours)]
    rng.shuffle(shares)
    words, asked = extreme(rng, ("largest", "biggest"), ("smallest", "thinnest"), most)
    return Posed(options, right, words, {"shares": shares, "asked": asked})


def _draw_line(canvas: Canvas, scene: Scene) -> None:
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
    weeks = 5 + (knobs.clutter > 1)
    asked = sorted(pick(rng, range(weeks), 4))
    options, right = one_of(rng, [f"week {week + 1}" for week in asked], knobs)
    values = pick(rng, range(24, 73, 6), weeks)
    own = max(values) + rng.randint(12, 22) if most else min(values) - rng.randint(12, 20)
    for index in right:
        values[asked[index]] = own
    colour = rng.choice(list(COLOURS))
    words, which = extreme(rng, ("highest", "top"), ("lowest", "bottom"), most)
    return Posed(options, right, words, {"values": values, "colour": colour, "asked": which})


_CHARTS = (
    Kind("bars", "statistical", _extreme_bars, _draw_bars, several=True),
    Kind("bar-value", "statistical", _bar_value, _draw_bars),
    Kind("pie", "statistical", _pie, _draw_pie, several=True),
    Kind("line", "statistical", _line, _draw_line, several=True),
)


_RIMS = ("#2a62c9", "#8a3f3f", "#3f6b3f", "#5b4a82", "#444444", "#a0671c")
_FACES = ("#ffffff", "#fff3c9", "#d9ecff", "#e1f5df", "#fde0e6", "#ece2f8")


def _draw_clock(canvas: Canvas, scene: Scene) -> None:
    """A clock with twelve letters, a short thick hand and a long thin one."""
    (x, y), r = scene["at"], scene["radius"]
    canvas.disc((x, y), r, scene["face"], scene["rim"], 3)
    for hour, mark in enumerate(around((x, y), r * 0.8, 12, -90)):
        if hour % scene["numbers"] == 0:
            canvas.text(mark, str(hour or 12), r * 0.3)
        else:
            canvas.disc(mark, 1.6, scene["rim"])
    for turn, reach, width in (
        ((scene["hour"] % 12 + scene["minute"] / 60) / 12, 0.43, 4.8),
        (scene["minute"] / 60, 0.76, 2.4),
    ):
        angle = 2 * math.pi * turn - math.pi / 2
        tip = (x + r * reach * math.cos(angle), y + r * reach * math.sin(angle))
        canvas.line([(x, y), tip], scene["rim"] if width < 3 else INK, width)
    canvas.disc((x, y), 3, INK)


def _time(rng: Random, knobs: Knobs) -> Posed:
    """Two hours and two minutes make four times, each as good as the others."""
    hour = rng.randint(1, 12)
    hours = (hour, (hour + rng.choice((1, 2, 3)) - 1) % 12 + 1)
    minutes = pick(rng, (0, 15, 30, 45) if knobs.clutter < 2 else range(0, 60, 5), 2)
    times = [(one, minute) for one in hours for minute in minutes]
    options, right = one_of(rng, [f"{one}:{minute:02}" for one, minute in times], knobs)
    gold = times[right[0]]
    look = {
        "at": [rounded(rng, 46, 54), rounded(rng, 46, 54)],
        "radius": rounded(rng, 36, 45),
        "rim": rng.choice(_RIMS),
        "face": rng.choice(_FACES),
        "numbers": rng.choice((3, 6, 12)),
    }
    return Posed(options, right, {}, look | {"hour": gold[0], "minute": gold[1]})


def _draw_thermometer(canvas: Canvas, scene: Scene) -> None:
    x = scene["x"]
    canvas.box((x - 6, 8), (x + 6, 84), "#ffffff", INK, 1.2)
    canvas.disc((x, 87), 9, scene["liquid"], INK, 1.2)
    canvas.box((x - 4, 80 - scene["degrees"] * 1.36), (x + 4, 88), scene["liquid"])
    for degrees in range(0, 51, 5):
        y = 80 - degrees * 1.36
        side = 1 if scene["scale"] == "right" else -1
        canvas.line([(x + side * 7, y), (x + side * (14 if degrees % 10 == 0 else 10), y)], INK, 1)
        if degrees % 10 == 0:
            canvas.text((x + side * 24, y), str(degrees), 12)


def _degrees(rng: Random, knobs: Knobs) -> Posed:
    values = near(rng, 5, 50, 4, 5)
    options, right = one_of(rng, [f"{value} degrees" for value in values], knobs)
    look = {
        "x": rounded(rng, 36, 64),
        "liquid": rng.choice(("#d8303c", "#2a62c9", "#8440a8", "#2f9e4a")),
        "scale": rng.choice(("left", "right")),
    }
    return Posed(options, right, {}, look | {"degrees": values[right[0]]})


_CLOCKS = (
    Kind("clock", "numeric commonsense and calculation", _time, _draw_clock),
    Kind("thermometer", "biology & chemistry & physics", _degrees, _draw_thermometer),
)


LETTERS = "FGHJKLMNPRSTVWXZ"
MOVES = {"right": (1, 0), "left": (-1, 0), "up": (0, -1), "down": (0, 1)}


def _draw_row(canvas: Canvas, scene: Scene) -> None:
    """Seven shapes in two rows, then a box with a question mark."""
    spots = [(14 + 24 * index, 30) for index in range(4)] + [(14 + 24 * index, 70) for index in range(4)]
    row = scene["row"]
    for (x, y), (shape, colour) in zip(spots, row, strict=False):
        draw_shape(canvas, shape, (x, y), 9, colour)
    x, y = spots[len(row)]
    canvas.box((x - 10, y - 10), (x + 10, y + 10), "#ffffff", INK, 1.2)
    canvas.text((x, y), "?", 17)


def _row(rng: Random, knobs: Knobs) -> Posed:
    period = 3 if knobs.clutter < 2 else 4
    shapes, colours = pick(rng, SHAPES, 2), pick(rng, list(COLOURS), 2)
    looks = [(shape, colour) for shape in shapes for colour in colours]
    options, right = one_of(rng, [f"{colour} {shape}" for shape, colour in looks], knobs)
    cycle = [rng.choice(looks) for _ in range(period)]
    while len(set(cycle)) < min(period, 3):
        cycle = [rng.choice(looks) for _ in range(period)]
    cycle[7 % period] = looks[right[0]]
    if len(set(cycle)) == 1:
        cycle[8 % period] = without(looks, looks[right[0]])[0]
    return Posed(options, right, {}, {"row": [list(cycle[index % period]) for index in range(7)], "period": period})


def _draw_numbers(canvas: Canvas, scene: Scene) -> None:
    spots = ((20, 28), (50, 28), (80, 28), (35, 70), (65, 70))
    for (x, y), text in zip(spots, [*map(str, scene["numbers"]), "?"], strict=True):
        canvas.box((x - 14, y - 14), (x + 14, y + 14), "#ffffff", COLOURS[scene["colour"]], 1.6)
        canvas.fitted((x, y), text, 20, 24)


def _numbers(rng: Random, knobs: Knobs) -> Posed:
    low = rng.randint(16, 60)
    values = [low + step for step in sorted(pick(rng, range(6), 4))]
    options, right = one_of(rng, values, knobs)
    step = rng.choice((1, 2, 3)) if knobs.clutter < 2 else rng.choice((-3, -2, 2, 3, 4))
    numbers = [values[right[0]] - step * back for back in (4, 3, 2, 1)]
    return Posed(options, right, {}, {"numbers": numbers, "colour": rng.choice(list(COLOURS))})


def _draw_walk(canvas: Canvas, scene: Scene) -> None:
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
    y, x = divmod(board.index(options[right[0]]), 3)
    moves: list[str] = []
    seen = {(x, y)}
    for _ in range(2 + (knobs.clutter > 1)):
        ways = [(n, x - d[0], y - d[1]) for n, d in MOVES.items() if 0 <= x - d[0] < 3 and 0 <= y - d[1] < 3]
        name, x, y = rng.choice([way for way in ways if way[1:] not in seen] or ways)
        seen.add((x, y))
        moves.insert(0, name)
    return Posed(options, right, {}, {"board": board, "start": 3 * y + x, "moves": moves})


_SEQUENCES = (
    Kind("row", "code & sequence", _row, _draw_row),
    Kind("numbers", "code & sequence", _numbers, _draw_numbers),
    Kind("walk", "code & sequence", _walk, _draw_walk),
)


_RADIUS = 9.5


def _draw_joined(canvas: Canvas, start: Point, end: Point, gap: float, colour: str = INK) -> None:
    """An arrow from the edge of one circle to the edge of another."""
    far = math.dist(start, end)
    dx, dy = (end[0] - start[0]) / far, (end[1] - start[1]) / far
    canvas.arrow((start[0] + gap * dx, start[1] + gap * dy), (end[0] - gap * dx, end[1] - gap * dy), colour, 1.8, 7)


def _draw_ring(canvas: Canvas, scene: Scene) -> None:
    spots = dict(zip(scene["nodes"], around((50, 50), 37, len(scene["nodes"]), scene["turn"]), strict=True))
    for start, end in scene["arrows"]:
        _draw_joined(canvas, spots[start], spots[end], _RADIUS + 1)
    for letter, spot in spots.items():
        canvas.disc(spot, _RADIUS, scene["fill"], INK, 1.3)
        canvas.text(spot, letter, _RADIUS * 1.55)


def _shown(rng: Random, nodes: list[str], arrows: list[list[str]]) -> Scene:
    shuffled = nodes.copy()
    rng.shuffle(shuffled)
    fill = rng.choice(("#ffffff", "#fff0c2", "#dcecff", "#e0f4dd", "#fbe1ea"))
    return {"nodes": shuffled, "arrows": arrows, "turn": rng.randrange(0, 360, 15), "fill": fill}


def _follow(rng: Random, knobs: Knobs) -> Posed:
    """A chain through all circles, so that every start has one way to go."""
    nodes = pick(rng, LETTERS, 5 + (knobs.clutter > 1))
    steps = rng.choice((2, 3))
    options, right = one_of(rng, pick(rng, nodes[1:], 4), knobs)
    rest = without(nodes[1:], options[right[0]])
    rng.shuffle(rest)
    chain = [nodes[0], *rest]
    chain.insert(steps, options[right[0]])
    arrows = [list(pair) for pair in pairwise([*chain, chain[0]])]
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
        elif rng.random() < 0.5 + 0.1 * knobs.clutter:
            arrows.append([asked, letter])
        else:
            wrong = [node for spot, node in enumerate(others) if node != letter and spot not in right]
            elsewhere = [node for node in wrong if [node, letter] not in arrows]
            arrows.append([letter, rng.choice(elsewhere)] if elsewhere else [asked, letter])
    rng.shuffle(arrows)
    return Posed(options, right, {"letter": asked}, _shown(rng, nodes, arrows) | {"asked": asked})


def _draw_balance(canvas: Canvas, scene: Scene) -> None:
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
        "x": rounded(rng, 46, 54),
        "y": rounded(rng, 26, 36),
        "wide": rounded(rng, 27, 35),
        "tilt": rounded(rng, 9, 14),
        "wood": rng.choice(("#8a6a45", "#6f6f78", "#5d7a52", "#9a5f4a")),
    }
    radii = [9, 9] if knobs.clutter < 2 else pick(rng, (7, 11), 2)
    return Posed(options, right, {}, look | {"down": down, "colours": shown, "radii": radii})


_DIAGRAMS = (
    Kind("follow", "diagram", _follow, _draw_ring),
    Kind("into", "diagram", _into, _draw_ring, several=True),
    Kind("balance", "common", _balance, _draw_balance),
)


def _bug(canvas: Canvas, at: tuple[float, float], colour: str) -> None:
    x, y = at
    for side in (-1, 1):
        canvas.line([(x - 7, y + side * 9), (x + 7, y - side * 9)], "#555555", 1.1)
    canvas.oval((x, y), (10, 7), COLOURS[colour])
    canvas.disc((x - 9, y - 1), 4.6, COLOURS[colour], INK, 0.6)
    canvas.disc((x - 10.2, y - 2), 1.2, "#ffffff")


def _draw_web(canvas: Canvas, scene: Scene) -> None:
    """Bugs on a ring; an arrow goes from the eaten one to the one that eats it."""
    spots = dict(zip(scene["bugs"], around((51, 50), 36, len(scene["bugs"]), scene["turn"]), strict=True))
    for eaten, eater in scene["arrows"]:
        _draw_joined(canvas, spots[eaten], spots[eater], 13, "#444444")
    for colour, spot in spots.items():
        _bug(canvas, spot, colour)


def _eater(rng: Random, knobs: Knobs) -> Posed:
    bugs = pick(rng, list(COLOURS), 5)
    asked, others = bugs[0], bugs[1:]
    options, right = one_of(rng, others, knobs)
    wrong = [colour for index, colour in enumerate(others) if index not in right]
    arrows = [[asked, others[index]] for index in right]
    arrows += map(list, pairwise(wrong))
    if rng.random() < 0.3 + 0.2 * knobs.clutter:
        arrows.append([wrong[-1], asked])
    rng.shuffle(arrows)
    rng.shuffle(bugs)
    scene = {"bugs": bugs, "arrows": arrows, "turn": rng.randrange(0, 360, 15), "asked": asked}
    return Posed(options, right, {"colour": asked}, scene)


def _draw_molecule(canvas: Canvas, scene: Scene) -> None:
    """A large atom in the middle, small ones joined to it, and others that are joined to nothing."""
    spots = around((50, 50), 31, scene["joined"] + scene["loose"], scene["turn"])
    order = Random(scene["turn"]).sample(range(len(spots)), len(spots))
    bound = set(order[: scene["joined"]])
    for index, spot in enumerate(spots):
        if index in bound:
            canvas.line([(50, 50), spot], INK, 2.6)
    for index, (x, y) in enumerate(spots):
        far = 1.0 if index in bound else 1.22
        centre = (50 + (x - 50) * far, 50 + (y - 50) * far)
        canvas.disc(centre, 7, COLOURS[scene["small"]], INK, 0.8)
    canvas.disc((50, 50), 13, COLOURS[scene["large"]], INK, 0.8)


def _bonds(rng: Random, knobs: Knobs) -> Posed:
    numbers = near(rng, 1, 6, rng.choice((4, 4, 5)))
    options, right = one_of(rng, numbers, knobs)
    large, small = pick(rng, list(COLOURS), 2)
    gold = numbers[right[0]]
    loose = min(rng.randint(0, 1) + knobs.clutter, 8 - gold)
    scene = {"joined": gold, "loose": loose, "turn": rng.randrange(360), "small": small, "large": large}
    return Posed(options, right, {"colour": large}, scene)


_NATURE = (
    Kind("food-web", "biology & chemistry & physics", _eater, _draw_web, several=True),
    Kind("molecule", "biology & chemistry & physics", _bonds, _draw_molecule),
)


ANGLES = {"acute": (25, 65), "right": (90, 90), "obtuse": (115, 155), "straight": (180, 180)}


def _draw_polygon(canvas: Canvas, scene: Scene) -> None:
    rng = Random(scene["seed"])
    turns = around((50, 50), 1, scene["corners"], rng.uniform(0, 360))
    points = [(50 + (x - 50) * (far := rng.uniform(33, 42)), 50 + (y - 50) * far) for x, y in turns]
    canvas.polygon(points, COLOURS[scene["colour"]], INK, 1.4)


def _corners(rng: Random, knobs: Knobs) -> Posed:
    numbers = near(rng, 3, 8, rng.choice((3, 4, 4, 5)))
    options, right = one_of(rng, numbers, knobs)
    scene = {"corners": numbers[right[0]], "seed": rng.randrange(10**6), "colour": rng.choice(list(COLOURS))}
    return Posed(options, right, {}, scene)


def _draw_angle(canvas: Canvas, scene: Scene) -> None:
    """Two rays from a point, with the angle between them marked."""
    wide = scene["degrees"]
    middle = math.radians(scene["turn"])
    corner = (50 - 22 * math.cos(middle) * (wide < 150), 50 - 22 * math.sin(middle) * (wide < 150))
    for side in (-0.5, 0.5):
        ray = math.radians(scene["turn"] + side * wide)
        canvas.line([corner, (corner[0] + 46 * math.cos(ray), corner[1] + 46 * math.sin(ray))], INK, 2.6)
    bounds = (scene["turn"] - wide / 2, scene["turn"] + wide / 2)
    canvas.arc(corner, 15, bounds, COLOURS[scene["colour"]], 2.6)
    canvas.disc(corner, 2.4, INK)


def _angle(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, tuple(ANGLES), knobs)
    low, high = ANGLES[options[right[0]]]
    scene = {"degrees": rng.randint(low, high), "turn": rng.randrange(0, 360, 5), "colour": rng.choice(list(COLOURS))}
    return Posed(options, right, {}, scene)


def _draw_area(canvas: Canvas, scene: Scene) -> None:
    cell = 84 / 5
    for row, column in product(range(5), range(5)):
        left, top = 8 + column * cell, 8 + row * cell
        fill = COLOURS[scene["colour"]] if [column, row] in scene["filled"] else "#ffffff"
        canvas.box((left, top), (left + cell, top + cell), fill, "#8a8a8a", 0.7)


def _area(rng: Random, knobs: Knobs) -> Posed:
    numbers = near(rng, 3, 6 + 2 * knobs.clutter)
    options, right = one_of(rng, numbers, knobs)
    filled = [(rng.randrange(5), rng.randrange(5))]
    while len(filled) < numbers[right[0]]:
        x, y = rng.choice(filled)
        new = rng.choice([(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)])
        if new not in filled and all(0 <= coordinate < 5 for coordinate in new):
            filled.append(new)
    scene = {"filled": list(map(list, sorted(filled))), "colour": rng.choice(list(COLOURS))}
    return Posed(options, right, {}, scene)


_GEOMETRY = (
    Kind("corners", "geometry", _corners, _draw_polygon),
    Kind("angle", "geometry", _angle, _draw_angle),
    Kind("area", "geometry", _area, _draw_area),
)


def _draw_circuit(canvas: Canvas, scene: Scene) -> None:
    """A battery at the left, and branches with a switch and a coloured lamp each."""
    branches = scene["branches"]
    gap = 80 / (len(branches) - 1) if len(branches) > 1 else 0
    rows = [10 + index * gap for index in range(len(branches))]
    for x in (18, 92):
        canvas.line([(x, rows[0]), (x, rows[-1])], INK, 1.4)
    canvas.box((10, 40), (26, 60), "#cfd4da", INK, 1)
    for y in (45.5, 54.5):
        canvas.line([(14.8, y), (21.2, y)], INK, 1.3)
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


def _draw_gears(canvas: Canvas, scene: Scene) -> None:
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
    colours = pick(rng, list(COLOURS), 2 + min(knobs.clutter, 2) + (rng.random() < 0.5))
    first = options[right[0] if len(colours) % 2 else 1 - right[0]]
    return Posed(options, right, {"colour": colours[-1]}, {"colours": colours, "first": first, "asked": colours[-1]})


_MACHINES = (
    Kind("circuit", "electronics & energy & mechanical", _lamp, _draw_circuit, several=True),
    Kind("gears", "electronics & energy & mechanical", _gears, _draw_gears),
)

FAMILIES = {
    "charts": _CHARTS,
    "clocks": _CLOCKS,
    "sequences": _SEQUENCES,
    "diagrams": _DIAGRAMS,
    "nature": _NATURE,
    "geometry": _GEOMETRY,
    "machines": _MACHINES,
}
