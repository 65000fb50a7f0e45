"""Items before they are written: each posed, worded, spoilt where a flaw was planned for it, and drawn."""

import io
from collections.abc import Mapping
from random import Random

import msgspec
from PIL import Image as Pillow

from eyetest.world.canvas import INK, PAPERS, Canvas
from eyetest.world.facts import fact_kinds
from eyetest.world.flaws import PlannedFlaw
from eyetest.world.phrasings import Circumstance, ask, circumstance, extra, other_phrasing
from eyetest.world.posing import Kind, Knobs, Posed, Scene
from eyetest.world.scenes import KINDS

_HARDEST = 3
_TRIES = 200
_ON_TOP = ("paper", "specks")


class Draft(msgspec.Struct, frozen=True):
    """An item as it will be, and what is true of it."""

    kind: str
    axis: str
    question: str
    options: tuple[str, ...]
    gold: int
    """The option that will be marked."""
    right: tuple[int, ...]
    """The options that are right, by the picture that is shown (none if it does not show it)."""
    before: int
    """The option that was marked before the flaw."""
    scene: Scene
    shown: str
    """The kind whose picture is drawn; another than ``kind`` only where the item is impossible."""
    circumstance: Circumstance
    words: dict[str, str]
    phrasing: int
    crowd: int
    flaws: tuple[str, ...] = ()
    leaked_to: tuple[str, ...] = ()
    fact: str = ""
    seed: str = ""
    """What it was drawn from, where somebody wrote it down: then it can be posed again."""


def kind_of(name: str) -> Kind:
    """A kind of question, one about facts or another."""
    return fact_kinds()[name] if name in fact_kinds() else KINDS[name]


def draft(kind: Kind, planned: PlannedFlaw | None, phrasing: int, rng: Random) -> Draft:
    """One item with the flaw that was planned for it."""
    flaw = planned.flaw if planned else ""
    knobs = Knobs(rng.randint(0, _HARDEST), 2 if flaw == "two-right-options" else 1)
    posed = kind.pose(rng, knobs)
    around = circumstance(rng)
    made = Draft(
        kind=kind.name,
        axis=kind.axis,
        question=ask(kind.name, posed.words, around, phrasing),
        options=posed.options,
        gold=posed.right[0],
        right=tuple(sorted(posed.right)),
        before=posed.right[0],
        scene=posed.scene | _paper(rng),
        shown=kind.name,
        circumstance=around,
        words=posed.words,
        phrasing=phrasing,
        crowd=knobs.crowd,
        flaws=(flaw,) if flaw else (),
        leaked_to=planned.leaked_to if planned else (),
        fact=posed.scene.get("fact", ""),
    )
    change = _CHANGES.get(flaw)
    return msgspec.structs.replace(made, **change(made, rng)) if change else made


def rephrased(original: Draft, rng: Random) -> Draft:
    """The same question in other words."""
    phrasing = other_phrasing(original.kind, rng, original.phrasing)
    question = ask(original.kind, original.words, original.circumstance, phrasing)
    return msgspec.structs.replace(original, question=question, phrasing=phrasing, flaws=("near-duplicate",))


def with_fewer_options(original: Draft, most: int) -> Draft:
    """The same item with so many options at most: those that are right or marked, and others by lot."""
    rng = Random(f"{original.seed}/options")
    told = {original.gold, original.before, *original.right}
    others = [index for index in range(len(original.options)) if index not in told]
    kept = sorted([*told, *rng.sample(others, max(0, min(most - len(told), len(others))))])
    return msgspec.structs.replace(
        original,
        options=tuple(original.options[index] for index in kept),
        gold=kept.index(original.gold),
        before=kept.index(original.before),
        right=tuple(kept.index(index) for index in original.right),
    )


def twin_of(original: Draft, turn: int) -> Draft | None:
    """The same words and options about a scene in which another option is right, so many further on.

    It is posed again from its seed, so what does not hang on the right option stays as it was. None where no scene
    fits the same words.
    """
    options = _posed_again(original, Knobs(original.crowd)).options
    for attempt in range(_TRIES):
        posed = _posed_again(original, Knobs(original.crowd, turn=turn, attempt=attempt))
        told = posed.options[posed.right[0]]
        if posed.options == options and posed.words == original.words and told in original.options:
            right = original.options.index(told)
            kept = {name: original.scene[name] for name in _ON_TOP if name in original.scene}
            banner = {"banner": original.options[right]} if "banner" in original.scene else {}
            scene = posed.scene | kept | banner
            return msgspec.structs.replace(original, gold=right, right=(right,), before=right, scene=scene)
    return None


def _posed_again(original: Draft, knobs: Knobs) -> Posed:
    rng = Random(original.seed)
    rng.randint(0, _HARDEST)
    return kind_of(original.kind).pose(rng, knobs)


def _paper(rng: Random) -> Scene:
    return {"paper": rng.randrange(8), "specks": rng.randrange(10**6)}


def _say_answer(made: Draft, rng: Random) -> Mapping[str, object]:
    told = extra("tells", made.options[made.gold], made.circumstance, rng)
    return {"question": f"{made.question} {told}"}


def _mark_wrong(made: Draft, rng: Random) -> Mapping[str, object]:
    return {"gold": rng.choice([index for index in range(len(made.options)) if index != made.gold])}


def _write_answer(made: Draft, rng: Random) -> Mapping[str, object]:
    return {"scene": made.scene | {"banner": made.options[made.gold]}}


def _show_other(made: Draft, rng: Random) -> Mapping[str, object]:
    family = kind_of(made.kind).pose.__module__
    others = [kind for kind in KINDS.values() if kind.pose.__module__ != family and kind.axis != made.axis]
    other = rng.choice(others)
    posed: Posed = other.pose(rng, Knobs(made.crowd))
    return {"scene": posed.scene | _paper(rng), "shown": other.name, "right": ()}


def _lengthen(made: Draft, rng: Random) -> Mapping[str, object]:
    options = list(made.options)
    options[made.gold] = extra("longer", options[made.gold], made.circumstance, rng)
    return {"options": tuple(options)}


_CHANGES = {
    "answer-in-question": _say_answer,
    "wrong-gold": _mark_wrong,
    "trivially-easy": _write_answer,
    "impossible": _show_other,
    "gold-longest": _lengthen,
}


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
