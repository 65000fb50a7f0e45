"""How a picture is made rather than what it shows: its style, and what spoils it."""

import math
from random import Random

from PIL import Image as Pillow
from PIL import ImageFilter

from eyetest.world.canvas import COLOURS, Canvas
from eyetest.world.posing import Kind, Knobs, Posed, Scene, one_of, pick
from eyetest.world.shapes import draw_shape, scattered

STYLES = ("plain", "outlined", "striped", "dotted", "checked")
FAULTS = ("blurred", "noisy", "too dark", "too pale", "in coarse blocks", "tilted")
_SHAPES = ("circle", "square", "triangle", "star", "heart", "diamond")


def _things(rng: Random, count: int, radius: float) -> list[Scene]:
    looks = [(rng.choice(_SHAPES), rng.choice(list(COLOURS))) for _ in range(count)]
    places = scattered(rng, count, radius)
    return [{"shape": s, "colour": c, "at": list(at)} for (s, c), at in zip(looks, places, strict=True)]


def draw(canvas: Canvas, scene: Scene) -> None:
    """Shapes, all in one style."""
    for one in scene["things"]:
        draw_shape(
            canvas, one["shape"], tuple(one["at"]), scene["radius"], one["colour"], scene.get("style", "plain")
        )


def _style(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, pick(rng, STYLES, 4), knobs)
    count, radius = 3 + min(knobs.crowd, 2), 13
    return Posed(
        options, right, {}, {"things": _things(rng, count, radius), "radius": radius, "style": options[right[0]]}
    )


def draw_spoilt(canvas: Canvas, scene: Scene) -> None:
    """A framed picture of shapes, and the fault laid over it."""
    canvas.box((8, 8), (92, 92), None, "#555555", 2)
    for one in scene["things"]:
        draw_shape(canvas, one["shape"], tuple(one["at"]), scene["radius"], one["colour"])
    canvas.image = _FAULTS[scene["fault"]](canvas.image, Random(scene["seed"]))


def _blur(image: Pillow.Image, rng: Random) -> Pillow.Image:
    return image.filter(ImageFilter.GaussianBlur(image.width / 28))


def _noise(image: Pillow.Image, rng: Random) -> Pillow.Image:
    side = 64
    grain = Pillow.frombytes("L", (side, side), bytes(rng.choices((0, 255), k=side * side)))
    grain = grain.resize(image.size, Pillow.Resampling.NEAREST).convert("RGB")
    return Pillow.blend(image, grain, 0.3)


def _dark(image: Pillow.Image, rng: Random) -> Pillow.Image:
    return Pillow.blend(image, Pillow.new("RGB", image.size, "#000000"), 0.76)


def _pale(image: Pillow.Image, rng: Random) -> Pillow.Image:
    return Pillow.blend(image, Pillow.new("RGB", image.size, "#ffffff"), 0.76)


def _blocks(image: Pillow.Image, rng: Random) -> Pillow.Image:
    return image.resize((12, 12), Pillow.Resampling.BOX).resize(image.size, Pillow.Resampling.NEAREST)


def _tilt(image: Pillow.Image, rng: Random) -> Pillow.Image:
    angle = rng.choice((-1, 1)) * rng.uniform(14, 22)
    inside = 1 / (abs(math.cos(math.radians(angle))) + abs(math.sin(math.radians(angle))))
    small = image.resize((round(image.width * inside), round(image.height * inside)))
    whole = Pillow.new("RGB", image.size, "#ffffff")
    turned = small.convert("RGBA").rotate(angle, expand=True, resample=Pillow.Resampling.BICUBIC)
    whole.paste(turned, ((whole.width - turned.width) // 2, (whole.height - turned.height) // 2), turned)
    return whole


_FAULTS = {
    "blurred": _blur,
    "noisy": _noise,
    "too dark": _dark,
    "too pale": _pale,
    "in coarse blocks": _blocks,
    "tilted": _tilt,
}


def _fault(rng: Random, knobs: Knobs) -> Posed:
    options, right = one_of(rng, pick(rng, FAULTS, 4), knobs)
    count = 3 + min(knobs.crowd, 2)
    things = _things(rng, count, 12)
    for one in things:
        one["at"] = [round(10 + 0.8 * coordinate, 1) for coordinate in one["at"]]
    scene = {"things": things, "radius": 9, "fault": options[right[0]], "seed": rng.randrange(10**6)}
    return Posed(options, right, {}, scene)


KINDS = (
    Kind("style", "style & quality", _style, draw),
    Kind("fault", "style & quality", _fault, draw_spoilt),
)
