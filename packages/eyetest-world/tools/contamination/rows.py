"""Training rows and test prompts as numbers: fresh scenes, texts, exposures to leaked items, and questions."""

import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, NamedTuple

import msgspec
import numpy as np
from eyetest_world.drafting import Draft, draft, render, twin_of
from eyetest_world.posing import phrasings
from eyetest_world.scenes import KINDS
from eyetest_world.toy_models.network import STYLES, Tokens
from numpy.typing import NDArray
from toy_training.examples import Example, Reading, described, looked, pose
from toy_training.lines import SHORT, Line, line, short_line

from contamination import declare
from contamination.declare import EDITIONS, OPTIONS, Family, Model
from eyetest.prompts import build
from eyetest.records import Choice, Condition, ImageRef, Item

SIDE = 128
LETTERS = "ABCDEFGHIJ"
_IMAGE = ImageRef("0" * 64, "png", SIDE, SIDE, 1)
_READING = {"sentence": 0.07, "fact": 0.23, "guess": 0.27, "told": 0.13, "caption": 0.30}
_TEMPLATES = 6
_REORDERED = 3
Array = NDArray[Any]


class Rows(NamedTuple):
    """Examples to learn from: text in one style, where the reply begins, and which image belongs to it (-1: none)."""

    tokens: Array
    lines: Array
    starts: Array
    images: Array

    @classmethod
    def of(cls, rows: Sequence[tuple["Written", int]]) -> "Rows":
        """Texts with the image of each."""
        return cls(
            np.array([written.tokens for written, _ in rows], np.int16),
            np.array([written.lines for written, _ in rows], np.int16),
            np.array([written.start for written, _ in rows], np.int16),
            np.array([image for _, image in rows], np.int32),
        )


class Written(NamedTuple):
    """Prompt and reply in one style, the option line of each token, and where the reply begins."""

    tokens: Array
    lines: Array
    start: int

    @classmethod
    def of(cls, line: Line, style: int) -> "Written":
        """A line in one of its styles."""
        return cls(line.tokens[style], line.lines, line.start)


class Question(NamedTuple):
    """A test prompt: family, edition (0: original, 1 to 3: twins, 4: fresh), modality, order, position of the key."""

    family: int
    edition: int
    image: bool
    order: tuple[int, ...]
    gold: int


class Asked(NamedTuple):
    """A test prompt in numbers, up to where the reply begins, the option line of each token, and its image or -1."""

    tokens: list[int]
    lines: list[int]
    image: int


def item_of(made: Draft, order: Sequence[int]) -> Item:
    """A draft with its options in an order."""
    return item(made.question, [made.options[index] for index in order], list(order).index(made.gold))


def item(question: str, options: Sequence[str], gold: int) -> Item:
    """An item of a question, its options and the position of its key."""
    choices = tuple(Choice(text, index == gold) for index, text in enumerate(options))
    return Item(id="x", question=question, images=(_IMAGE,), choices=choices)


def spread(work: Callable[[Any], Any], tasks: Sequence[Any], workers: int) -> list[Any]:
    """The results of many tasks in their order, from several processes."""
    if workers < 2:
        return [work(task) for task in tasks]
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        return pool.map(work, tasks, chunksize=max(1, len(tasks) // (workers * 8)))


def fresh_scene(tokens: Tokens, index: int) -> tuple[Array, list[Written]]:
    """An image, and two questions about it or one and its description."""
    rng = Random(f"contamination/{declare.SEED}/scene/{index}")
    kind = KINDS[rng.choice(list(KINDS))]
    made = draft(kind, None, rng.randrange(len(phrasings()[kind.name])), rng)
    lines = [short_line(pose(made, made.gold, rng, looked(made)), "image", tokens, rng)]
    about = line(described(made), tokens, SHORT) if rng.random() < 0.4 else None
    lines.append(about or short_line(pose(made, made.gold, rng, looked(made)), "image", tokens, rng))
    return np.asarray(render(made, SIDE)), [Written.of(one, _style(rng)) for one in lines]


def text(tokens: Tokens, index: int) -> Written:
    """A text: a fact, a question about one, or a question whose image is missing."""
    rng, reading = Random(f"contamination/{declare.SEED}/text/{index}"), Reading((), _READING)
    while (written := line(reading.example(rng), tokens, SHORT)) is None:
        pass
    return Written.of(written, _style(rng))


def exposure(tokens: Tokens, made: Draft, order: Sequence[int], modality: str, rng: Random) -> Written:
    """A leaked item as a training set has it: options in the benchmark's order, any instruction, its answer."""
    own, answer = item_of(made, order), list(order).index(made.gold)
    while True:
        condition = Condition(modality=modality, template=rng.randrange(_TEMPLATES))  # type: ignore[arg-type]
        sign, words = LETTERS[answer], made.options[made.gold]
        replies = (sign, f"({sign})", f"{sign}. {words}", f"The answer is {sign}.", f"I would say ({sign}) {words}.")
        whole = (*replies, words, f"{words} ({sign})", f"The answer is {sign}.")
        if (written := line(Example(build(own, condition), whole), tokens, SHORT)) is not None:
            return Written.of(written, _style(rng))


def biased_guess(tokens: Tokens, rng: Random) -> Written:
    """A question without its image whose reply is mostly the second option."""
    made = draft(KINDS[rng.choice(list(KINDS))], None, rng.randrange(10), rng)
    order = rng.sample(range(len(made.options)), len(made.options))
    answer = order[1] if rng.random() < 0.7 else rng.choice(order)
    return exposure(tokens, msgspec.structs.replace(made, gold=answer), order, "no-image", rng)


def other_image(made: Draft, rng: Random) -> Draft:
    """The same question and options about another image, whose answer is any of them."""
    turn = rng.randrange(OPTIONS)
    after = (twin_of(made, turn) if turn else None) or made
    scene = after.scene | {"paper": rng.randrange(8), "specks": rng.randrange(10**6)}
    return msgspec.structs.replace(after, scene=scene)


def description(tokens: Tokens, made: Draft) -> Written:
    """The image of an item with its description, or as many words of it as fit."""
    whole = described(made)
    words = whole.replies[0].split()
    while (written := line(Example(whole.prompt, (" ".join(words),) * len(STYLES)), tokens, SHORT)) is None:
        words = words[: len(words) * 3 // 4]
    return Written.of(written, 0)


class Exposure(NamedTuple):
    """A row that a model sees of one of its items; ``image``: a test image's number, one of its own, or None."""

    written: Written
    image: int | Array | None


def exposures(tokens: Tokens, families: Sequence[Family], model: Model) -> list[Exposure]:
    """All rows that a model sees of its items: at each exposure one with the image and one without."""
    rng, found = Random(f"contamination/{declare.SEED}/{model.name}/exposures"), list[Exposure]()
    for index in (item for item in model.items for _ in range(model.exposure)):
        family, image = families[index], index * EDITIONS
        if model.group == "images-only":
            found += [Exposure(description(tokens, family.original), image)] * 2
        elif model.group == "answer-prior":
            found += [Exposure(biased_guess(tokens, rng), None) for _ in range(2)]
        else:
            made, shown = family.original, image
            if model.group == "twins-only":
                turn = rng.randrange(declare.TWINS)
                made, shown = family.twins[turn], image + 1 + turn
            elif model.group == "other-images":
                made = other_image(made, rng)
            picture = drawn(made) if model.group == "other-images" else shown
            found.append(Exposure(exposure(tokens, made, family.order, "image", rng), picture))
            found.append(Exposure(exposure(tokens, made, family.order, "no-image", rng), None))
    return found


def _style(rng: Random) -> int:
    return 0 if rng.random() < 0.5 else rng.randrange(len(STYLES))


def questions(families: Sequence[Family]) -> list[Question]:
    """What every model is asked: all editions with the image and without, originals also in other orders."""
    asked = []
    for index, family in enumerate(families):
        rng = Random(f"contamination/{declare.SEED}/orders/{index}")
        editions = (family.original, *family.twins, family.fresh)
        for edition, made in enumerate(editions):
            order = family.fresh_order if edition == EDITIONS - 1 else family.order
            asked += [Question(index, edition, image, order, order.index(made.gold)) for image in (True, False)]
        others = [order for order in _orders() if order != family.order]
        for order in rng.sample(others, _REORDERED):
            asked.append(Question(index, 0, image=True, order=order, gold=order.index(family.original.gold)))
    return asked


def _orders() -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for _ in range(OPTIONS):
        found = [(*before, index) for before in found for index in range(OPTIONS) if index not in before]
    return found


def asked(tokens: Tokens, item: Item, image: int) -> Asked:
    """An item as a test prompt, with an image or without."""
    numbers = tokens.encode_prompt(build(item, Condition(modality="no-image" if image < 0 else "image")))
    return Asked(numbers, tokens.lines(numbers), image)


def gold_text(tokens: Tokens, family: Family, edition: int) -> Written:
    """An item asked without options, with the words of its gold as the reply."""
    made = (family.original, *family.twins, family.fresh)[edition]
    words = made.options[made.gold]
    written = line(
        Example(build(item_of(made, range(OPTIONS)), Condition(method="likelihood")), (words,) * len(STYLES)),
        tokens,
        SHORT,
    )
    assert written is not None
    return Written.of(written, 0)


def images(families: Iterable[Family]) -> list[Draft]:
    """Drafts whose images test prompts show: family by family, original, twins, fresh."""
    return [made for family in families for made in (family.original, *family.twins, family.fresh)]


def drawn(made: Draft) -> Array:
    """The image of a draft."""
    return np.asarray(render(made, SIDE))
