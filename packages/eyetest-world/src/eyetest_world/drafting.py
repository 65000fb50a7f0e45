"""Items before they are written: posed, worded, given the flaw that was planned for them, and drawn.

Facts are invented: lands, animals and minerals that do not exist, the same in every world. A model that was trained
on a fact answers an item about it without looking; any other can only guess, since the values of a property are
spread evenly over its subjects.
"""

import io
from collections.abc import Callable, Mapping
from functools import cache
from itertools import cycle, islice
from random import Random

import msgspec
from PIL import Image as Pillow

from eyetest_world.canvas import INK, PAPERS, Canvas, around
from eyetest_world.flaws import PlannedFlaw
from eyetest_world.posing import (
    Circumstance,
    Kind,
    Knobs,
    Posed,
    Scene,
    ask,
    circumstance,
    extra,
    phrasings,
    pick,
    read,
    without,
)
from eyetest_world.scenes import FAMILY_OF, KINDS

_GREYS = ("#8f8f8f", "#a3a3a3", "#7c7c7c", "#b5b5b5")


class Fact(msgspec.Struct, frozen=True):
    """One fact, in several wordings."""

    id: str
    subject: str
    property: str
    value: str
    sentences: tuple[str, ...]


@cache
def facts() -> tuple[Fact, ...]:
    """All there is to know."""
    data = read("facts")
    known = []
    for name, one in data["properties"].items():
        subjects = data["subjects"][one["about"]]
        values = list(islice(cycle(one["values"]), len(subjects)))
        Random(f"facts 1/{name}").shuffle(values)
        for subject, value in zip(subjects, values, strict=True):
            texts = [text.format(subject=subject, value=value) for text in one["told"]]
            sentences = tuple(text[0].upper() + text[1:] for text in texts)
            known.append(Fact(f"{name}/{subject}", subject, name, value, sentences))
    return tuple(known)


@cache
def fact_kinds() -> dict[str, Kind]:
    """One kind of question for each property."""
    kinds = {}
    for name, one in read("facts")["properties"].items():
        pose = _poser([fact for fact in facts() if fact.property == name], one["values"], one["about"])
        kinds[f"fact-{name}"] = Kind(f"fact-{name}", one["axis"], pose, _draw_subject)
    return kinds


def _poser(known: list[Fact], values: list[str], about: str) -> Callable[[Random, Knobs], Posed]:
    def pose(rng: Random, knobs: Knobs) -> Posed:
        fact = rng.choice(known)
        others = pick(rng, [value for value in values if value != fact.value], 3)
        options = pick(rng, [fact.value, *others], 4)
        scene = {"about": about, "seed": rng.randrange(10**6), "fact": fact.id}
        return Posed(tuple(options), (options.index(fact.value),), {"subject": fact.subject}, scene)

    return pose


def _draw_subject(canvas: Canvas, scene: Scene) -> None:
    """Something grey that the question is about, and that does not help."""
    rng = Random(scene["seed"])
    grey, x, y = rng.choice(_GREYS), rng.uniform(42, 58), rng.uniform(42, 58)
    if scene["about"] == "land":
        turns = around((x, y), 1, 14, rng.uniform(0, 360))
        reach = [rng.uniform(24, 40) for _ in turns]
        canvas.polygon([(x + (a - x) * r, y + (b - y) * r) for (a, b), r in zip(turns, reach, strict=True)], grey)
    elif scene["about"] == "animal":
        long, high = rng.uniform(20, 28), rng.uniform(11, 16)
        for leg in (-0.6, -0.2, 0.2, 0.6):
            canvas.line([(x + leg * long, y), (x + leg * long, y + high + rng.uniform(8, 14))], grey, 4)
        canvas.oval((x, y), (long, high), grey)
        canvas.disc((x + long, y - high * 0.8), rng.uniform(8, 11), grey)
    else:
        for _ in range(3):
            centre = (x + rng.uniform(-20, 20), y + rng.uniform(-18, 18))
            stone = around(centre, rng.uniform(13, 22), rng.randint(5, 8), rng.uniform(0, 360))
            canvas.polygon(stone, rng.choice(_GREYS), "#5f5f5f", 1)


_HARDEST = 3
_TRIES = 200


class Draft(msgspec.Struct, frozen=True):
    """An item as it will be, and what is true of it."""

    kind: str
    axis: str
    question: str
    options: tuple[str, ...]
    gold: int  # the option that will be marked
    right: tuple[int, ...]
    """The options that are right, by the image that is shown (none if it does not show it)."""
    before: int  # the option that was marked before the flaw
    scene: Scene
    shown: str  # the kind whose image is drawn; another than ``kind`` only where the item is impossible
    circumstance: Circumstance
    words: dict[str, str]
    phrasing: int
    clutter: int
    flaws: tuple[str, ...] = ()
    leaked_to: tuple[str, ...] = ()
    fact: str = ""
    seed: str = ""  # what it was drawn from, where that is known: then it can be posed again


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
        clutter=knobs.clutter,
        flaws=(flaw,) if flaw else (),
        leaked_to=planned.leaked_to if planned else (),
        fact=posed.scene.get("fact", ""),
    )
    change = _CHANGES.get(flaw)
    return msgspec.structs.replace(made, **change(made, rng)) if change else made


def rephrased(original: Draft, rng: Random) -> Draft:
    """The same question in other words."""
    phrasing = rng.choice(without(range(len(phrasings()[original.kind])), original.phrasing))
    question = ask(original.kind, original.words, original.circumstance, phrasing)
    return msgspec.structs.replace(original, question=question, phrasing=phrasing, flaws=("near-duplicate",))


def with_fewer_options(original: Draft, most: int) -> Draft:
    """The same item with so many options at most: those that are right or marked, and others at random."""
    rng = Random(f"{original.seed}/options")
    shown = {original.gold, original.before, *original.right}
    others = [index for index in range(len(original.options)) if index not in shown]
    kept = sorted([*shown, *rng.sample(others, max(0, min(most - len(shown), len(others))))])
    return msgspec.structs.replace(
        original,
        options=tuple(original.options[index] for index in kept),
        gold=kept.index(original.gold),
        before=kept.index(original.before),
        right=tuple(kept.index(index) for index in original.right),
    )


def twin_of(original: Draft, turn: int) -> Draft | None:
    """The same words and options about a scene in which another option is right, ``turn`` further on, or None.

    It is posed again from its seed, so what does not depend on the right option stays as it was.
    """
    options = _posed_again(original, Knobs(original.clutter)).options
    for attempt in range(_TRIES):
        posed = _posed_again(original, Knobs(original.clutter, turn=turn, attempt=attempt))
        answer = posed.options[posed.right[0]]
        if posed.options == options and posed.words == original.words and answer in original.options:
            right = original.options.index(answer)
            scene = posed.scene | {name: original.scene[name] for name in ("paper", "specks")}
            if "banner" in original.scene:
                scene["banner"] = original.options[right]
            return msgspec.structs.replace(original, gold=right, right=(right,), before=right, scene=scene)
    return None


def _posed_again(original: Draft, knobs: Knobs) -> Posed:
    rng = Random(original.seed)
    rng.randint(0, _HARDEST)
    return kind_of(original.kind).pose(rng, knobs)


def _paper(rng: Random) -> Scene:
    return {"paper": rng.randrange(8), "specks": rng.randrange(10**6)}


def _show_other(made: Draft, rng: Random) -> Mapping[str, object]:
    family = FAMILY_OF.get(made.kind)
    others = [kind for kind in KINDS.values() if FAMILY_OF[kind.name] != family and kind.axis != made.axis]
    other = rng.choice(others)
    posed = other.pose(rng, Knobs(made.clutter))
    return {"scene": posed.scene | _paper(rng), "shown": other.name, "right": ()}


_CHANGES: dict[str, Callable[[Draft, Random], Mapping[str, object]]] = {
    "answer-in-question": lambda made, rng: {
        "question": f"{made.question} {extra('tells', made.options[made.gold], made.circumstance, rng)}"
    },
    "wrong-gold": lambda made, rng: {"gold": rng.choice(without(range(len(made.options)), made.gold))},
    "trivially-easy": lambda made, rng: {"scene": made.scene | {"banner": made.options[made.gold]}},
    "impossible": _show_other,
    "gold-longest": lambda made, rng: {
        "options": tuple(
            extra("longer", text, made.circumstance, rng) if index == made.gold else text
            for index, text in enumerate(made.options)
        )
    },
}


SIZE = 128


def render(draft: Draft, size: int) -> Pillow.Image:
    """The image of an item."""
    scene = draft.scene
    canvas = Canvas(size, PAPERS[scene["paper"]])
    canvas.speckle(Random(scene["specks"]))
    kind_of(draft.shown).draw(canvas, scene)
    if "banner" in scene:
        canvas.box((0, 80), (100, 100), "#ffffff", INK, 1)
        canvas.fitted((50, 90), scene["banner"], 15, 92)
    return canvas.finished()


def encoded_again(image: Pillow.Image, rng: Random) -> bytes:
    """The same image after it was copied: cut by a pixel or two a side, resized, as a JPEG."""
    least = max(1, round(image.width / 100))
    left, top, right, bottom = (rng.randint(0, least) for _ in range(4))
    cut = image.crop((left, top, image.width - right, image.height - bottom))
    side = round(image.width * rng.choice((0.92, 1.0, 1.1, 1.25)))
    data = io.BytesIO()
    cut.resize((side, side), Pillow.Resampling.LANCZOS).save(data, "JPEG", quality=rng.randint(80, 92))
    return data.getvalue()
