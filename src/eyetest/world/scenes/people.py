"""Faces with hats: what they feel, and who stands where in a line."""

from random import Random

from eyetest.world.canvas import COLOURS, INK, Canvas
from eyetest.world.posing import Kind, Knobs, Posed, Scene, one_of, pick

FEELINGS = ("happy", "sad", "angry", "surprised", "sleepy", "calm")
ORDINALS = ("first", "second", "third", "fourth", "fifth")
_SKINS = ("#f3d2b3", "#d9a679", "#a8754a", "#f7dfc8")
_SPOTS = {2: ((28, 55), (72, 55)), 3: ((24, 36), (76, 36), (50, 76)), 4: ((26, 32), (74, 32), (26, 77), (74, 77))}


def draw(canvas: Canvas, scene: Scene) -> None:
    """Two to four faces."""
    for (x, y), face in zip(_SPOTS[len(scene["faces"])], scene["faces"], strict=True):
        _face(canvas, (x, y + 2), 17 if len(scene["faces"]) < 4 else 15.5, face)


def _face(canvas: Canvas, at: tuple[float, float], r: float, face: Scene) -> None:
    x, y = at
    canvas.disc(at, r, face["skin"], INK, 0.8)
    hat = COLOURS[face["hat"]]
    canvas.box((x - r * 0.62, y - r * 1.4), (x + r * 0.62, y - r * 0.72), hat)
    canvas.box((x - r * 1.05, y - r * 0.86), (x + r * 1.05, y - r * 0.6), hat)
    feeling = face["feeling"]
    for side in (-1, 1):
        eye = (x + side * r * 0.38, y - r * 0.16)
        if feeling == "sleepy":
            canvas.line([(eye[0] - r * 0.2, eye[1]), (eye[0] + r * 0.2, eye[1])], INK, r * 0.11)
        else:
            canvas.disc(eye, r * (0.2 if feeling == "surprised" else 0.13), INK)
        if feeling == "angry":
            brow = [(eye[0] - side * r * 0.26, eye[1] - r * 0.14), (eye[0] + side * r * 0.26, eye[1] - r * 0.42)]
            canvas.line(brow, INK, r * 0.13)
    _mouth(canvas, (x, y), r, feeling)


def _mouth(canvas: Canvas, at: tuple[float, float], r: float, feeling: str) -> None:
    x, y = at
    if feeling == "happy":
        canvas.arc((x, y + r * 0.15), r * 0.52, (20, 160), INK, r * 0.13)
    elif feeling in ("sad", "angry"):
        canvas.arc((x, y + r * 0.88), r * 0.46, (205, 335), INK, r * 0.13)
    elif feeling == "surprised":
        canvas.oval((x, y + r * 0.52), (r * 0.2, r * 0.28), INK)
    elif feeling == "sleepy":
        canvas.oval((x, y + r * 0.5), (r * 0.12, r * 0.08), INK)
    else:
        canvas.line([(x - r * 0.36, y + r * 0.5), (x + r * 0.36, y + r * 0.5)], INK, r * 0.12)
    if feeling == "sad":
        canvas.oval((x + r * 0.42, y + r * 0.24), (r * 0.1, r * 0.17), "#4aa3df")


def _faces(rng: Random, hats: list[str], feelings: list[str]) -> list[Scene]:
    return [
        {"hat": hat, "feeling": feeling, "skin": rng.choice(_SKINS)}
        for hat, feeling in zip(hats, feelings, strict=True)
    ]


def _feeling(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, pick(rng, FEELINGS, rng.choice((3, 4, 4, 4, 5))), knobs)
    count = (2, 2, 3, 4)[knobs.crowd]
    gold = options[right[0]]
    others = pick(rng, [one for one in options if one != gold], min(count, len(options)) - 1)
    faces = _faces(rng, pick(rng, list(COLOURS), 1 + len(others)), [gold, *others])
    asked = faces[0]["hat"]
    rng.shuffle(faces)
    return Posed(options, right, {"colour": asked}, {"faces": faces, "asked": asked})


def _who(rng: Random, knobs: Knobs) -> Posed:
    hats = pick(rng, list(COLOURS), 4)
    options, right = one_of(rng, hats, knobs)
    feeling, *others = pick(rng, FEELINGS, 5)
    faces = _faces(rng, hats, [feeling if index in right else others[index] for index in range(4)])
    rng.shuffle(faces)
    return Posed(options, right, {"feeling": feeling}, {"faces": faces, "asked": feeling})


def draw_queue(canvas: Canvas, scene: Scene) -> None:
    """People in a line before a door, which is at the left or at the right."""
    door = 10 if scene["door"] == "left" else 90
    canvas.box((door - 8, 30), (door + 8, 80), "#8a5a2b", INK, 0.8)
    canvas.disc((door + 4, 56), 1.6, "#f7c71f")
    canvas.line([(2, 80), (98, 80)], "#777777", 1)
    for index, hat in enumerate(scene["hats"]):
        step = 14 * (index + 1) + 6
        x = door + step if scene["door"] == "left" else door - step
        canvas.polygon([(x - 5, 80), (x + 5, 80), (x + 3, 56), (x - 3, 56)], "#9aa5b1")
        canvas.disc((x, 50), 6, "#f3d2b3", INK, 0.6)
        canvas.box((x - 4.5, 37), (x + 4.5, 46), COLOURS[hat])
        canvas.line([(x - 7, 46), (x + 7, 46)], COLOURS[hat], 2.2)


def _queue(rng: Random, knobs: Knobs) -> Posed:
    count = 4 + (knobs.crowd > 1)
    hats = pick(rng, list(COLOURS), count)
    options, right = one_of(rng, hats, knobs)
    gold = options[right[0]]
    line = [hat for hat in hats if hat != gold]
    rng.shuffle(line)
    position = rng.randrange(count)
    line.insert(position, gold)
    scene = {"hats": line, "door": rng.choice(("left", "right")), "asked": position}
    return Posed(options, right, {"ordinal": ORDINALS[position]}, scene)


KINDS = (
    Kind("feeling", "emotion", _feeling, draw),
    Kind("who-feels", "emotion", _who, draw, several=True),
    Kind("queue", "common", _queue, draw_queue),
)
