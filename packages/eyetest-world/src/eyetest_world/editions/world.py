"""The synthetic world: a kind of question is posed anew, or once more with another option right."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from random import Random

import msgspec

from eyetest.errors import short
from eyetest.records import Choice, Item
from eyetest_world.building import ABOUT, cast
from eyetest_world.canvas import png
from eyetest_world.drafting import SIZE, Draft, draft, render, twin_of
from eyetest_world.editions import NotRenewable, Original, Redrawn, rng_of
from eyetest_world.flaws import TRUTH, Rates, read_truth
from eyetest_world.posing import CORE_OF, phrasings, shuffled
from eyetest_world.scenes import KINDS

_FACT = "fact"
_BEYOND_TWINS = {
    "answer-in-question": "the question says its answer",
    "gold-longest": "its words tell the answer: the longest option is right",
    "wrong-gold": "its gold does not follow from its image",
    "two-right-options": "it has two right options",
    "impossible": "its gold does not follow from its image",
}


class WorldGenerator:
    """Items of the drawn world, by their tags; twins of them from the world's folder, or from their lineage."""

    name = "world"
    summary = "items of the drawn world (eyetest world new), without the flaws that were planted"

    def knows(self, original: Original) -> bool:
        """Whether the tags are those of a drawn item."""
        tags = original.item.tags
        axis = tags.get("axis")
        return isinstance(axis, str) and CORE_OF.get(axis) == tags.get("core") and isinstance(tags.get("task"), str)

    def renew(self, original: Original, rng: Random) -> Redrawn:
        """Another item of the same kind; planted flaws are not planted again."""
        made = _drafted(original.item, rng)
        return _redrawn(made, original.item, shuffled(rng, list(made.options)))

    def twins(self, original: Original, rng: Random) -> Iterator[Redrawn]:
        """The same words and options; the image is drawn again from its own seed with another option right."""
        item = original.item
        _task(item)
        before = _as_drawn(original)
        texts = [choice.text for choice in item.choices]
        if sorted(texts) != sorted(before.options) or before.question != item.question:
            raise NotRenewable("it was changed after it was drawn, or drawn by another version of eyetest")
        for flaw in before.flaws:
            if flaw in _BEYOND_TWINS:
                raise NotRenewable(_BEYOND_TWINS[flaw])
        turns = shuffled(rng, list(range(1, len(texts))))
        for after in filter(None, (twin_of(before, turn) for turn in turns)):
            yield _redrawn(after, item, texts)


def _task(item: Item) -> str:
    task: str = item.tags["task"]
    if task == _FACT:
        raise NotRenewable("it asks for a fact that no image shows")
    if task not in KINDS:
        raise NotRenewable(f"no kind of question is called {short(task)}")
    return task


def _drafted(item: Item, rng: Random) -> Draft:
    task = _task(item)
    phrasing = rng.randrange(len(phrasings()[task]))
    seed = f"{rng.getrandbits(64):016x}"
    return msgspec.structs.replace(draft(KINDS[task], None, phrasing, Random(seed)), seed=seed)


def _as_drawn(original: Original) -> Draft:
    """The item's draft: of a renewed one from its lineage, of others from the folder of their world."""
    item = original.item
    for step in reversed(item.lineage):
        if step.step == "renew" and step.source == GENERATOR.name and step.seed is not None:
            return _drafted(item, rng_of("renew", step.seed, item.id))
    drafts = _drafts(original.data.resolve())
    if item.id not in drafts:
        raise NotRenewable(f"no {ABOUT} and {TRUTH} tell how it was drawn")
    return drafts[item.id]


@lru_cache(maxsize=4)
def _drafts(world: Path) -> dict[str, Draft]:
    """The items of a world as they were before they were drawn, as far as its truth bears them out."""
    path = world / ABOUT
    if not path.is_file():
        return {}
    about = msgspec.json.decode(path.read_bytes())
    played = cast(about["items"], about["seed"], msgspec.convert(about["flaws"], Rates))
    truths = read_truth(world)
    return {
        truth.item: one.draft
        for truth, one in zip(truths, played, strict=False)
        if truth.flaws == one.draft.flaws
        and truth.scene == msgspec.json.encode(one.draft.scene, order="sorted").decode()
    }


def _redrawn(made: Draft, item: Item, texts: list[str]) -> Redrawn:
    choices = tuple(Choice(text, text == made.options[made.gold]) for text in texts)
    image = png(render(made, item.images[0].width if item.images else SIZE))
    return Redrawn(question=made.question, choices=choices, image=image, scene=made.scene)


GENERATOR = WorldGenerator()
