"""Scenes of objects: shapes to count and compare, shapes in a grid, image styles, icons, words and prices."""

import math
from collections.abc import Callable
from random import Random

from PIL import Image as Pillow
from PIL import ImageFilter

from eyetest_world.canvas import COLOURS, ICONS, INK, PATTERNS, SHAPES, Canvas, draw_icon, draw_shape, scattered
from eyetest_world.posing import Kind, Knobs, Posed, Scene, extreme, near, one_of, pick, rounded, without

_FILLABLE = tuple(shape for shape in SHAPES if shape not in ("ring", "cross"))
_PLURAL = {shape: f"{shape}s" for shape in SHAPES} | {"cross": "crosses"}


def _thing(shape: str, colour: str, at: tuple[float, float], radius: float = 9, pattern: str = "plain") -> Scene:
    return {"shape": shape, "colour": colour, "at": list(at), "radius": radius, "pattern": pattern}


def _draw_things(canvas: Canvas, scene: Scene) -> None:
    for one in scene["things"]:
        draw_shape(canvas, one["shape"], tuple(one["at"]), one["radius"], one["colour"], one["pattern"])


def _laid_out(rng: Random, looks: list[tuple[str, str]]) -> Scene:
    radius = 12.0 if len(looks) <= 5 else 10.0 if len(looks) <= 8 else 8.0
    places = scattered(rng, len(looks), radius)
    things = [_thing(*look, at, radius) for look, at in zip(looks, places, strict=True)]
    rng.shuffle(things)
    return {"things": things}


def _count_shapes(rng: Random, knobs: Knobs) -> Posed:
    shape, colour = rng.choice(SHAPES), rng.choice(list(COLOURS))
    numbers = near(rng, 1, 7)
    options, right = one_of(rng, numbers, knobs)
    count = numbers[right[0]]
    looks = [(shape, colour)] * count
    for number in range(min(2 + knobs.clutter, 11 - count)):
        other = (
            (shape, rng.choice(without(COLOURS, colour)))
            if number % 2
            else (rng.choice(without(SHAPES, shape)), colour)
        )
        looks.append(other)
    words = {"shapes": _PLURAL[shape], "colour": colour}
    return Posed(options, right, words, _laid_out(rng, looks) | {"asked": [shape, colour]})


def _count_colour(rng: Random, knobs: Knobs) -> Posed:
    colour = rng.choice(list(COLOURS))
    numbers = near(rng, 1, 7, rng.choice((3, 4, 4, 5)))
    options, right = one_of(rng, numbers, knobs)
    count, others = numbers[right[0]], without(COLOURS, colour)
    looks = [(rng.choice(SHAPES), colour) for _ in range(count)]
    looks += [(rng.choice(SHAPES), rng.choice(others)) for _ in range(min(2 + knobs.clutter, 11 - count))]
    return Posed(options, right, {"colour": colour}, _laid_out(rng, looks) | {"asked": colour})


def _colour_of(rng: Random, knobs: Knobs) -> Posed:
    colours = pick(rng, list(COLOURS), 4)
    options, right = one_of(rng, colours, knobs)
    shapes = pick(rng, SHAPES, 4 + min(knobs.clutter, 2))
    gold = colours[right[0]]
    rest = pick(rng, without(colours, gold), 3) + pick(rng, list(COLOURS), 2)
    looks = list(zip(shapes, [gold, *rest], strict=False))
    return Posed(options, right, {"shape": shapes[0]}, _laid_out(rng, looks) | {"asked": shapes[0]})


def _pattern_of(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, pick(rng, PATTERNS, 4), knobs)
    shapes = pick(rng, _FILLABLE, 3 + min(knobs.clutter, 1))
    gold = options[right[0]]
    others = pick(rng, without(options, gold), 3)
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
    own = 14.4 if most else 7.0
    points = scattered(rng, 4, 14, 3)
    things = [
        _thing(shape, rng.choice(list(COLOURS)), points[index], own if index in right else sizes.pop())
        for index, shape in enumerate(options)
    ]
    words, asked = extreme(rng, ("largest", "biggest"), ("smallest", "smallest"), most)
    return Posed(options, right, words, {"things": things, "asked": asked})


_THINGS = (
    Kind("count-shapes", "counting", _count_shapes, _draw_things),
    Kind("count-colour", "counting", _count_colour, _draw_things),
    Kind("colour-of", "single-instance", _colour_of, _draw_things),
    Kind("pattern-of", "single-instance", _pattern_of, _draw_things),
    Kind("same-colour", "cross-instance attribute", _same_colour, _draw_things, several=True),
    Kind("size", "cross-instance attribute", _size, _draw_things, several=True),
)


PLACES = (
    ("top left", "top centre", "top right"),
    ("middle left", "centre", "middle right"),
    ("bottom left", "bottom centre", "bottom right"),
)
STEPS = {"left of": (-1, 0), "right of": (1, 0), "above": (0, -1), "below": (0, 1)}
_CELLS = [(column, row) for row in range(3) for column in range(3)]


def _draw_grid(canvas: Canvas, scene: Scene) -> None:
    for line in (36, 64) if scene.get("lines") else ():
        canvas.line([(line, 8), (line, 92)], "#c4c4c4", 0.8)
        canvas.line([(8, line), (92, line)], "#c4c4c4", 0.8)
    for one in scene["things"]:
        column, row = one["cell"]
        centre = (22 + 28 * column + one["off"][0], 22 + 28 * row + one["off"][1])
        draw_shape(canvas, one["shape"], centre, 10, one["colour"])


def _placed(rng: Random, shape: str, cell: tuple[int, int], loose: bool = True) -> Scene:
    off = [rounded(rng, -3, 3), rounded(rng, -3, 3)] if loose else [0, 0]
    return {"shape": shape, "colour": rng.choice(list(COLOURS)), "cell": list(cell), "off": off}


def _name(cell: tuple[int, int]) -> str:
    return PLACES[cell[1]][cell[0]]


def _where(rng: Random, knobs: Knobs) -> Posed:
    cells = pick(rng, _CELLS, 4)
    options, right = one_of(rng, [_name(cell) for cell in cells], knobs)
    shapes = pick(rng, SHAPES, 4)
    gold = cells[right[0]]
    shown = zip(shapes[: 2 + min(knobs.clutter, 2)], [gold, *without(cells, gold)], strict=False)
    things = [_placed(rng, shape, cell) for shape, cell in shown]
    rng.shuffle(things)
    return Posed(options, right, {"shape": shapes[0]}, {"things": things, "asked": shapes[0]})


def _what_at(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, pick(rng, SHAPES, rng.choice((3, 4, 4, 5))), knobs)
    cells = pick(rng, _CELLS, len(options))
    gold = options[right[0]]
    things = [_placed(rng, *each) for each in zip([gold, *without(options, gold)], cells, strict=True)]
    rng.shuffle(things)
    return Posed(options, right, {"place": _name(cells[0])}, {"things": things, "asked": _name(cells[0])})


def _beside(rng: Random, knobs: Knobs) -> Posed:
    word, (dx, dy) = rng.choice(list(STEPS.items()))
    x, y = rng.choice([(x, y) for x, y in _CELLS if 0 <= x + dx < 3 and 0 <= y + dy < 3])
    shapes = pick(rng, SHAPES, 5)
    options, right = one_of(rng, shapes[1:], knobs)
    gold = (x + dx, y + dy)
    near_by = [cell for cell in _CELLS if cell not in ((x, y), gold)]
    near_by.sort(key=lambda cell: (abs(cell[0] - x) + abs(cell[1] - y), rng.random()))
    cells = iter(near_by)
    things = [_placed(rng, shapes[0], (x, y), False)]
    where = [gold if index == right[0] else next(cells) for index in range(len(options))]
    things += [_placed(rng, shape, cell, False) for shape, cell in zip(options, where, strict=True)]
    scene = {"things": things, "lines": True, "asked": [word, shapes[0]]}
    return Posed(options, right, {"side": word, "shape": shapes[0]}, scene)


def _left_of(rng: Random, knobs: Knobs) -> Posed:
    word, axis = rng.choice(
        (("further left than", 0), ("further right than", 0), ("higher than", 1), ("lower than", 1))
    )
    options, right = one_of(rng, ("yes", "no"), knobs)
    shapes = pick(rng, SHAPES, 3 + min(knobs.clutter, 2))
    rows = sorted(pick(rng, (0, 1, 2), 2))
    if (options[right[0]] == "yes") != (word in ("further left than", "higher than")):
        rows.reverse()
    cells = _CELLS.copy()
    rng.shuffle(cells)
    first, second = (next(cell for cell in cells if cell[axis] == row) for row in rows)
    free = [cell for cell in cells if cell not in (first, second)]
    things = [_placed(rng, shape, cell, False) for shape, cell in zip(shapes, [first, second, *free], strict=False)]
    rng.shuffle(things)
    words = {"one": shapes[0], "other": shapes[1], "than": word}
    return Posed(options, right, words, {"things": things, "lines": False, "asked": [shapes[0], word, shapes[1]]})


_GRID = (
    Kind("where", "localization", _where, _draw_grid),
    Kind("what-at", "localization", _what_at, _draw_grid),
    Kind("beside", "cross-instance relation", _beside, _draw_grid),
    Kind("further", "cross-instance relation", _left_of, _draw_grid),
)


STYLES = ("plain", "outlined", "striped", "dotted", "checked")
_BOX, _NEAREST = Pillow.Resampling.BOX, Pillow.Resampling.NEAREST
_SHAPES = ("circle", "square", "triangle", "star", "heart", "diamond")


def _styled_things(rng: Random, count: int, radius: float) -> list[Scene]:
    looks = [(rng.choice(_SHAPES), rng.choice(list(COLOURS))) for _ in range(count)]
    places = scattered(rng, count, radius)
    return [{"shape": s, "colour": c, "at": list(at)} for (s, c), at in zip(looks, places, strict=True)]


def _draw_styled(canvas: Canvas, scene: Scene) -> None:
    style = scene.get("style", "plain")
    for one in scene["things"]:
        draw_shape(canvas, one["shape"], tuple(one["at"]), scene["radius"], one["colour"], style)


def _style(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, pick(rng, STYLES, 4), knobs)
    things = _styled_things(rng, 3 + min(knobs.clutter, 2), 13)
    return Posed(options, right, {}, {"things": things, "radius": 13, "style": options[right[0]]})


def _draw_faulty(canvas: Canvas, scene: Scene) -> None:
    canvas.box((8, 8), (92, 92), None, "#555555", 2)
    _draw_styled(canvas, scene)
    canvas.image = _FAULTS[scene["fault"]](canvas.image, Random(scene["seed"]))


def _noise(image: Pillow.Image, rng: Random) -> Pillow.Image:
    side = 64
    grain = Pillow.frombytes("L", (side, side), bytes(rng.choices((0, 255), k=side * side)))
    grain = grain.resize(image.size, _NEAREST).convert("RGB")
    return Pillow.blend(image, grain, 0.3)


def _tilt(image: Pillow.Image, rng: Random) -> Pillow.Image:
    angle = rng.choice((-1, 1)) * rng.uniform(14, 22)
    inside = 1 / (abs(math.cos(math.radians(angle))) + abs(math.sin(math.radians(angle))))
    small = image.resize((round(image.width * inside), round(image.height * inside)))
    whole = Pillow.new("RGB", image.size, "#ffffff")
    turned = small.convert("RGBA").rotate(angle, expand=True, resample=Pillow.Resampling.BICUBIC)
    whole.paste(turned, ((whole.width - turned.width) // 2, (whole.height - turned.height) // 2), turned)
    return whole


_Fault = Callable[[Pillow.Image, Random], Pillow.Image]
_FAULTS: dict[str, _Fault] = {
    "blurred": lambda image, rng: image.filter(ImageFilter.GaussianBlur(image.width / 28)),
    "noisy": _noise,
    "too dark": lambda image, rng: Pillow.blend(image, Pillow.new("RGB", image.size, "#000000"), 0.76),
    "too pale": lambda image, rng: Pillow.blend(image, Pillow.new("RGB", image.size, "#ffffff"), 0.76),
    "in coarse blocks": lambda image, rng: image.resize((12, 12), _BOX).resize(image.size, _NEAREST),
    "tilted": _tilt,
}


def _fault(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, pick(rng, list(_FAULTS), 4), knobs)
    things = _styled_things(rng, 3 + min(knobs.clutter, 2), 12)
    for one in things:
        one["at"] = [round(10 + 0.8 * coordinate, 1) for coordinate in one["at"]]
    scene = {"things": things, "radius": 9, "fault": options[right[0]], "seed": rng.randrange(10**6)}
    return Posed(options, right, {}, scene)


_LOOKS = (
    Kind("style", "style & quality", _style, _draw_styled),
    Kind("fault", "style & quality", _fault, _draw_faulty),
)


TOPICS = {
    "weather": ("sun", "cloud", "umbrella"),
    "the sea": ("fish", "boat", "anchor"),
    "a garden": ("flower", "tree", "apple"),
    "music": ("note", "drum", "bell"),
    "a home": ("house", "key", "lamp"),
    "play": ("ball", "kite", "dice"),
}
_BOARDS = ("#2f5d8a", "#3f6b3f", "#8a3f3f", "#5b4a82", "#4a4a4a", "#7a5520")
WORDS = (
    ("LAMP", "DAMP", "CAMP", "LIMP", "LUMP"), ("BALL", "BELL", "BILL", "BULL", "TALL"),
    ("CARD", "CART", "DART", "HARD", "YARD"), ("SAND", "SEND", "BAND", "HAND", "LAND"),
    ("ROAD", "TOAD", "LOAD", "READ", "ROAR"), ("BOOK", "COOK", "HOOK", "LOOK", "BOOT"),
    ("SHIP", "CHIP", "SHOP", "SHUT", "WHIP"), ("TREE", "FREE", "TRUE", "TRAY", "TRIM"),
    ("MILK", "SILK", "MINT", "MILE", "MINK"), ("FISH", "DISH", "WISH", "FIST", "FIRM"),
    ("STAR", "STAY", "SCAR", "STIR", "SOAR"), ("COLD", "GOLD", "FOLD", "HOLD", "COAL"),
)  # fmt: skip


def _draw_icons(canvas: Canvas, scene: Scene) -> None:
    for name, at in zip(scene["icons"], scene["at"], strict=True):
        if name == "dice":
            _draw_die(canvas, tuple(at), scene["radius"], 5)
        else:
            draw_icon(canvas, name, tuple(at), scene["radius"])


def _draw_die(canvas: Canvas, at: tuple[float, float], radius: float, eyes: int) -> None:
    (x, y), r = at, radius * 0.86
    canvas.box((x - r, y - r), (x + r, y + r), "#ffffff", INK, 1.2)
    s = r * 0.54
    spots = {"c": (0, 0), "a": (-s, -s), "b": (s, s), "d": (s, -s), "e": (-s, s), "f": (-s, 0), "g": (s, 0)}
    shown = {1: "c", 2: "ab", 3: "abc", 4: "abde", 5: "abdec", 6: "abdefg"}[eyes]
    for spot in shown:
        canvas.disc((x + spots[spot][0], y + spots[spot][1]), r * 0.2, INK)


def _seen(rng: Random, knobs: Knobs) -> Posed:
    names = pick(rng, list(ICONS), 4)
    options, right = one_of(rng, names, knobs)
    free = [name for name in ICONS if name not in names]
    shown = [names[index] for index in right] + pick(rng, free, knobs.clutter)
    rng.shuffle(shown)
    radius = 15 if len(shown) < 4 else 13
    return Posed(options, right, {}, {"icons": shown, "at": scattered(rng, len(shown), radius), "radius": radius})


def _topic(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, pick(rng, list(TOPICS), 4), knobs)
    shown = list(TOPICS[options[right[0]]])
    if knobs.clutter > 1:
        shown.append(rng.choice(shown))
    rng.shuffle(shown)
    return Posed(options, right, {}, {"icons": shown, "at": scattered(rng, len(shown), 14), "radius": 14})


def _draw_board(canvas: Canvas, scene: Scene) -> None:
    """One or two boards on posts, with a word or a number each."""
    spots = ((50, 46),) if len(scene["texts"]) == 1 else ((50, 27), (50, 68))
    across, down, wide = scene["off"]
    for spot, text, colour in zip(spots, scene["texts"], scene["boards"], strict=True):
        x, y = spot[0] + across, spot[1] + down
        canvas.box((x - 3, y + 12), (x + 3, y + 30), "#8a6a45")
        canvas.box((x - wide, y - 16), (x + wide, y + 16), colour, "#ffffff", 1.6)
        canvas.fitted((x, y), text, 25, 2 * wide - 6, "#ffffff")


def _off(rng: Random) -> list[float]:
    """How far boards stand from the middle, and half their width."""
    return [rounded(rng, -5, 5), rounded(rng, -6, 6), rounded(rng, 36, 43)]


def _word(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, pick(rng, rng.choice(WORDS), 4), knobs)
    texts = [options[index] for index in right]
    return Posed(options, right, {}, {"texts": texts, "boards": pick(rng, _BOARDS, len(texts)), "off": _off(rng)})


def _plate(rng: Random, knobs: Knobs) -> Posed:
    """Two of the digits may each be one of two: of four such numbers none stands out."""
    digits = [rng.choice("123456789"), *(rng.choice("0123456789") for _ in range(2 + (knobs.clutter > 1)))]
    first, second = sorted(pick(rng, range(len(digits)), 2))
    twos = [pick(rng, "123456789", 2) for _ in range(2)]
    numbers = []
    for one in twos[0]:
        for other in twos[1]:
            digits[first], digits[second] = one, other
            numbers.append("".join(digits))
    options, right = one_of(rng, numbers, knobs)
    scene = {"texts": [options[right[0]]], "boards": [rng.choice(_BOARDS)], "off": _off(rng)}
    return Posed(options, right, {}, scene)


def _draw_dice(canvas: Canvas, scene: Scene) -> None:
    for eyes, at in zip(scene["dice"], scene["at"], strict=True):
        _draw_die(canvas, tuple(at), 16, eyes)


def _dice(rng: Random, knobs: Knobs) -> Posed:
    count = 2 + (knobs.clutter > 1)
    low = rng.randint(count, 6 * count - 4)
    sums = [low + step for step in sorted(pick(rng, range(5), 4))]
    options, right = one_of(rng, sums, knobs)
    dice = [rng.randint(1, 6) for _ in range(count)]
    while sum(dice) != sums[right[0]]:
        dice = [rng.randint(1, 6) for _ in range(count)]
    return Posed(options, right, {}, {"dice": dice, "at": scattered(rng, count, 17)})


def _draw_tags(canvas: Canvas, scene: Scene) -> None:
    for row, (name, price) in enumerate(scene["goods"]):
        y = (30, 72)[row] if len(scene["goods"]) == 2 else (20, 50, 80)[row]
        draw_icon(canvas, name, (24, y), 14)
        canvas.polygon([(46, y), (54, y - 13), (94, y - 13), (94, y + 13), (54, y + 13)], "#fff3c4", INK, 1)
        canvas.fitted((75, y), str(price), 22, 34)


def _prices(rng: Random, knobs: Knobs) -> Posed:
    count = 2 + (knobs.clutter > 2)
    names = pick(rng, list(ICONS), count)
    low = rng.randint(6, 24)
    sums = [low + step for step in sorted(pick(rng, range(6), 4))]
    options, right = one_of(rng, [f"{one} coins" for one in sums], knobs)
    total = sums[right[0]]
    (price,) = pick(rng, range(1, total), 1)
    goods = [[names[0], price], [names[1], total - price]]
    if count > 2:
        goods.insert(rng.randrange(3), [names[2], rng.randint(1, 20)])
    return Posed(options, right, {"one": names[0], "other": names[1]}, {"goods": goods, "asked": names[:2]})


_SIGNS = (
    Kind("seen", "recognition", _seen, _draw_icons, several=True),
    Kind("topic", "scene and topic", _topic, _draw_icons),
    Kind("word", "recognition", _word, _draw_board, several=True),
    Kind("plate", "recognition", _plate, _draw_board),
    Kind("dice", "numeric commonsense and calculation", _dice, _draw_dice),
    Kind("prices", "numeric commonsense and calculation", _prices, _draw_tags),
)

FAMILIES = {"things": _THINGS, "grid": _GRID, "looks": _LOOKS, "signs": _SIGNS}
