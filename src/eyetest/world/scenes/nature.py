"""Food webs and molecules."""

from itertools import pairwise
from random import Random

from eyetest.world.canvas import COLOURS, INK, Canvas, around
from eyetest.world.posing import Kind, Knobs, Posed, Scene, near, one_of, pick
from eyetest.world.scenes.diagrams import joined


def _bug(canvas: Canvas, at: tuple[float, float], colour: str) -> None:
    x, y = at
    for side in (-1, 1):
        canvas.line([(x - 7, y + side * 9), (x + 7, y - side * 9)], "#555555", 1.1)
    canvas.oval((x, y), (10, 7), COLOURS[colour])
    canvas.disc((x - 9, y - 1), 4.6, COLOURS[colour], INK, 0.6)
    canvas.disc((x - 10.2, y - 2), 1.2, "#ffffff")


def draw_web(canvas: Canvas, scene: Scene) -> None:
    """Bugs on a ring; an arrow goes from the eaten one to the one that eats it."""
    spots = dict(zip(scene["bugs"], around((51, 50), 36, len(scene["bugs"]), scene["turn"]), strict=True))
    for eaten, eater in scene["arrows"]:
        joined(canvas, spots[eaten], spots[eater], 13, "#444444")
    for colour, spot in spots.items():
        _bug(canvas, spot, colour)


def _eater(rng: Random, knobs: Knobs) -> Posed:
    bugs = pick(rng, list(COLOURS), 5)
    asked, others = bugs[0], bugs[1:]
    options, right = one_of(rng, others, knobs)
    wrong = [colour for index, colour in enumerate(others) if index not in right]
    arrows = [[asked, others[index]] for index in right]
    arrows += [[one, other] for one, other in pairwise(wrong)]
    if rng.random() < 0.3 + 0.2 * knobs.crowd:
        arrows.append([wrong[-1], asked])
    rng.shuffle(arrows)
    rng.shuffle(bugs)
    scene = {"bugs": bugs, "arrows": arrows, "turn": rng.randrange(0, 360, 15), "asked": asked}
    return Posed(options, right, {"colour": asked}, scene)


def draw_molecule(canvas: Canvas, scene: Scene) -> None:
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
    options, right = one_of(rng, [str(number) for number in numbers], knobs)
    large, small = pick(rng, list(COLOURS), 2)
    gold = numbers[right[0]]
    loose = min(rng.randint(0, 1) + knobs.crowd, 8 - gold)
    words = {"colour": large}
    return Posed(options, right, words, {"joined": gold, "loose": loose, "turn": rng.randrange(360), "small": small, "large": large})  # fmt: skip  # noqa: E501


KINDS = (
    Kind("food-web", "biology & chemistry & physics", _eater, draw_web, several=True),
    Kind("molecule", "biology & chemistry & physics", _bonds, draw_molecule),
)
