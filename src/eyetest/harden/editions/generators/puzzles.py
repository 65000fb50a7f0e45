"""Puzzles with a hidden part, as PuzzleVQA describes them: read from their captions, or drawn anew."""

from collections.abc import Iterator
from random import Random

from eyetest.errors import short
from eyetest.harden.editions.generating import OF_THE_PICTURE, NotRenewable, Original, Redrawn
from eyetest.harden.editions.puzzles import PUZZLES
from eyetest.harden.editions.puzzles.puzzle import HIDDEN, Part, Puzzle, Scene, asked
from eyetest.records import Choice, Item
from eyetest.world.canvas import Canvas, png
from eyetest.world.phrasings import shuffled

_CATEGORY, _CAPTION = "category", "caption_gold"
_SIZE, _SMALLEST = 512, 200
_STALE = ("explanation", "deduction", *OF_THE_PICTURE)
"""Tags that speak of the old scene."""


class PuzzleGenerator:
    """Items with a ``category`` of PuzzleVQA, and for twins a caption that lists their parts."""

    name = "puzzles"
    summary = "the 20 categories of PuzzleVQA; twins are read from captions (description, or the tag caption_gold)"

    def knows(self, original: Original) -> bool:
        """Whether the category is one of them."""
        return original.item.tags.get(_CATEGORY) in PUZZLES and original.item.is_choice

    def renew(self, original: Original, rng: Random) -> Redrawn:
        """Another puzzle of the same category, with options of its own."""
        item, puzzle = original.item, PUZZLES[original.item.tags[_CATEGORY]]
        options = list(puzzle.options(rng))
        scene = puzzle.pose(rng, rng.choice([option for option in options if puzzle.fits(option)]), options)
        return _redrawn(puzzle, scene, item, [str(option) for option in options])

    def twins(self, original: Original, rng: Random) -> Iterator[Redrawn]:
        """The same puzzle with another of its options hidden."""
        item, puzzle = original.item, PUZZLES[original.item.tags[_CATEGORY]]
        scene = _read(puzzle, item)
        kind = type(scene["answer"])
        for text in shuffled(rng, [choice.text for choice in item.choices if not choice.correct]):
            changed = puzzle.change(scene, kind(text))
            if changed is not None:
                yield _redrawn(puzzle, changed, item, [choice.text for choice in item.choices])


def _read(puzzle: Puzzle, item: Item) -> Scene:
    """What the item's picture shows, from words about it."""
    caption = item.description or str(item.tags.get(_CAPTION, ""))
    if not caption:
        raise NotRenewable(f"no caption says what its picture shows (description, or the tag {_CAPTION})")
    if len(item.gold) != 1:
        raise NotRenewable("it has no single right option")
    text = item.choices[item.gold[0]].text
    answer: Part = int(text) if text.isascii() and text.isdigit() else text
    try:
        scene = puzzle.read(caption, item.question, answer)
        agrees = puzzle.holds(scene)
    except (ValueError, SyntaxError, TypeError, KeyError, StopIteration, IndexError):
        raise NotRenewable(f"its caption is not that of a puzzle {short(puzzle.name)}") from None
    if not agrees:
        raise NotRenewable("its gold does not follow from its caption")
    return scene


def _redrawn(puzzle: Puzzle, scene: Scene, item: Item, options: list[str]) -> Redrawn:
    size = max(item.images[0].width, _SMALLEST) if item.images else _SIZE
    canvas = Canvas(size)
    puzzle.draw(canvas, scene)
    caption = puzzle.say(scene)
    assert HIDDEN in caption or "of" in scene
    told = {_CAPTION: caption} if _CAPTION in item.tags else {}
    return Redrawn(
        question=asked(item.question, scene),
        choices=tuple(Choice(option, option == str(scene["answer"])) for option in options),
        picture=png(canvas.picture()),
        description=caption if item.description or not told else "",
        tags=dict.fromkeys(_STALE) | told,
        scene=scene | {"puzzle": puzzle.name},
    )


GENERATOR = PuzzleGenerator()
