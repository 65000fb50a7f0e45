"""Pictures out of scenes, and a picture that comes back a little changed."""

import io
from random import Random

from PIL import Image as Pillow

from eyetest.world.canvas import INK, PAPERS, Canvas
from eyetest.world.drafting import Draft, kind_of

SIZE = 128
_BANNER = 20


def render(draft: Draft, size: int) -> Pillow.Image:
    """The picture of an item."""
    scene = draft.scene
    canvas = Canvas(size, PAPERS[scene["paper"]])
    canvas.speckle(Random(scene["specks"]))
    kind_of(draft.shown).draw(canvas, scene)
    if "banner" in scene:
        canvas.box((0, 100 - _BANNER), (100, 100), "#ffffff", INK, 1)
        canvas.fitted((50, 100 - _BANNER / 2), scene["banner"], 15, 92)
    return canvas.picture()


def encoded_again(picture: Pillow.Image, rng: Random) -> bytes:
    """The same picture after somebody copied it: cut by a pixel or two a side, resized, as a JPEG."""
    least = max(1, round(picture.width / 100))
    left, top, right, bottom = (rng.randint(0, least) for _ in range(4))
    cut = picture.crop((left, top, picture.width - right, picture.height - bottom))
    side = round(picture.width * rng.choice((0.92, 1.0, 1.1, 1.25)))
    data = io.BytesIO()
    cut.resize((side, side), Pillow.Resampling.LANCZOS).save(data, "JPEG", quality=rng.randint(80, 92))
    return data.getvalue()
