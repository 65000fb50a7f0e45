"""Clock faces and thermometers: things with a hand or a level to read."""

import math
from random import Random

from eyetest.world.canvas import INK, Canvas, around
from eyetest.world.posing import Kind, Knobs, Posed, Scene, near, one_of, pick

_RIMS = ("#2a62c9", "#8a3f3f", "#3f6b3f", "#5b4a82", "#444444", "#a0671c")
_FACES = ("#ffffff", "#fff3c9", "#d9ecff", "#e1f5df", "#fde0e6", "#ece2f8")


def draw(canvas: Canvas, scene: Scene) -> None:
    """A clock with twelve marks, a short thick hand and a long thin one."""
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


def _told(hour: int, minute: int) -> str:
    return f"{hour}:{minute:02}"


def _time(rng: Random, knobs: Knobs) -> Posed:
    """Two hours and two minutes make four times, each as good as the others."""
    hour = rng.randint(1, 12)
    hours = (hour, (hour + rng.choice((1, 2, 3)) - 1) % 12 + 1)
    minutes = pick(rng, (0, 15, 30, 45) if knobs.crowd < 2 else range(0, 60, 5), 2)
    times = [(one, minute) for one in hours for minute in minutes]
    options, right = one_of(rng, [_told(*time) for time in times], knobs)
    gold = times[right[0]]
    look = {
        "at": [round(rng.uniform(46, 54), 1), round(rng.uniform(46, 54), 1)],
        "radius": round(rng.uniform(36, 45), 1),
        "rim": rng.choice(_RIMS),
        "face": rng.choice(_FACES),
        "numbers": rng.choice((3, 6, 12)),
    }
    return Posed(options, right, {}, look | {"hour": gold[0], "minute": gold[1]})


def draw_thermometer(canvas: Canvas, scene: Scene) -> None:
    """A glass tube with a scale from 0 to 50."""
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
        "x": round(rng.uniform(36, 64), 1),
        "liquid": rng.choice(("#d8303c", "#2a62c9", "#8440a8", "#2f9e4a")),
        "scale": rng.choice(("left", "right")),
    }
    return Posed(options, right, {}, look | {"degrees": values[right[0]]})


KINDS = (
    Kind("clock", "numeric commonsense and calculation", _time, draw),
    Kind("thermometer", "biology & chemistry & physics", _degrees, draw_thermometer),
)
