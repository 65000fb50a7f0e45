"""Things to recognise and to read: icons, words on a board, numbers on a plate."""

from random import Random

from eyetest.world.canvas import INK, Canvas
from eyetest.world.icons import ICONS, draw_icon
from eyetest.world.posing import Kind, Knobs, Posed, Scene, one_of, pick
from eyetest.world.shapes import scattered

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


def draw_icons(canvas: Canvas, scene: Scene) -> None:
    """Icons here and there."""
    for name, at in zip(scene["icons"], scene["at"], strict=True):
        if name == "dice":
            draw_die(canvas, tuple(at), scene["radius"], 5)
        else:
            draw_icon(canvas, name, tuple(at), scene["radius"])


def draw_die(canvas: Canvas, at: tuple[float, float], radius: float, eyes: int) -> None:
    """A die that shows so many eyes."""
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
    shown = [names[index] for index in right] + pick(rng, free, knobs.crowd)
    rng.shuffle(shown)
    radius = 15 if len(shown) < 4 else 13
    return Posed(options, right, {}, {"icons": shown, "at": scattered(rng, len(shown), radius), "radius": radius})


def _topic(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, pick(rng, list(TOPICS), 4), knobs)
    shown = list(TOPICS[options[right[0]]])
    if knobs.crowd > 1:
        shown.append(rng.choice(shown))
    rng.shuffle(shown)
    return Posed(options, right, {}, {"icons": shown, "at": scattered(rng, len(shown), 14), "radius": 14})


def draw_board(canvas: Canvas, scene: Scene) -> None:
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
    return [round(rng.uniform(-5, 5), 1), round(rng.uniform(-6, 6), 1), round(rng.uniform(36, 43), 1)]


def _word(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, pick(rng, rng.choice(WORDS), 4), knobs)
    texts = [options[index] for index in right]
    return Posed(options, right, {}, {"texts": texts, "boards": pick(rng, _BOARDS, len(texts)), "off": _off(rng)})


def _plate(rng: Random, knobs: Knobs) -> Posed:
    """Two of the digits may each be one of two: of four such numbers none stands out."""
    digits = [rng.choice("123456789"), *(rng.choice("0123456789") for _ in range(2 + (knobs.crowd > 1)))]
    first, second = sorted(pick(rng, range(len(digits)), 2))
    twos = [pick(rng, "123456789", 2) for _ in range(2)]
    numbers = []
    for one in twos[0]:
        for other in twos[1]:
            digits[first], digits[second] = one, other
            numbers.append("".join(digits))
    options, right = one_of(rng, numbers, knobs)
    return Posed(
        options, right, {}, {"texts": [options[right[0]]], "boards": [rng.choice(_BOARDS)], "off": _off(rng)}
    )


def draw_dice(canvas: Canvas, scene: Scene) -> None:
    """Dice on a table."""
    for eyes, at in zip(scene["dice"], scene["at"], strict=True):
        draw_die(canvas, tuple(at), 16, eyes)


def _dice(rng: Random, knobs: Knobs) -> Posed:
    count = 2 + (knobs.crowd > 1)
    low = rng.randint(count, 6 * count - 4)
    sums = [low + step for step in sorted(pick(rng, range(5), 4))]
    options, right = one_of(rng, [str(one) for one in sums], knobs)
    dice = [rng.randint(1, 6) for _ in range(count)]
    while sum(dice) != sums[right[0]]:
        dice = [rng.randint(1, 6) for _ in range(count)]
    return Posed(options, right, {}, {"dice": dice, "at": scattered(rng, count, 17)})


def draw_tags(canvas: Canvas, scene: Scene) -> None:
    """Things with price tags."""
    for row, (name, price) in enumerate(scene["goods"]):
        y = (30, 72)[row] if len(scene["goods"]) == 2 else (20, 50, 80)[row]
        draw_icon(canvas, name, (24, y), 14)
        canvas.polygon([(46, y), (54, y - 13), (94, y - 13), (94, y + 13), (54, y + 13)], "#fff3c4", INK, 1)
        canvas.fitted((75, y), str(price), 22, 34)


def _prices(rng: Random, knobs: Knobs) -> Posed:
    count = 2 + (knobs.crowd > 2)
    names = pick(rng, list(ICONS), count)
    low = rng.randint(6, 24)
    sums = [low + step for step in sorted(pick(rng, range(6), 4))]
    options, right = one_of(rng, [f"{one} coins" for one in sums], knobs)
    total = sums[right[0]]
    cuts = sorted(pick(rng, range(1, total), 1))
    prices = [cuts[0], total - cuts[0]]
    goods = [[name, price] for name, price in zip(names, prices, strict=False)]
    if count > 2:
        goods.insert(rng.randrange(3), [names[2], rng.randint(1, 20)])
    words = {"one": names[0], "other": names[1]}
    return Posed(options, right, words, {"goods": goods, "asked": names[:2]})


KINDS = (
    Kind("seen", "recognition", _seen, draw_icons, several=True),
    Kind("topic", "scene and topic", _topic, draw_icons),
    Kind("word", "recognition", _word, draw_board, several=True),
    Kind("plate", "recognition", _plate, draw_board),
    Kind("dice", "numeric commonsense and calculation", _dice, draw_dice),
    Kind("prices", "numeric commonsense and calculation", _prices, draw_tags),
)
