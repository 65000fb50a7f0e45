"""How many there are: the number of objects of a class in a picture, or the number that answers a question."""

from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Annotated

import msgspec

from eyetest.records import MAX_CHOICES
from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, shuffled
from eyetest.reform.reformers.open_answers import gold_of

NEAR = "number near the gold"
_IN_WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)


Asked = tuple[str, str, int, str]
"""What is counted, the question, how many there are, and how that is written."""


class CountingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How numbers are asked for."""

    question: str = "How many of these are in the picture: {class}?"
    """``{class}`` stands for what is counted."""
    options: Annotated[int, msgspec.Meta(ge=2, le=MAX_CHOICES)] = 4
    most: Annotated[int, msgspec.Meta(ge=1)] = 20
    """Where more are counted, nobody counted them well."""


class Counting(Reformer):
    """One item a class of a picture, or a question; options are numbers in a row, with the gold anywhere in it."""

    name = "counting"
    summary = "how many objects of a class there are, among numbers near the right one"
    settings = CountingSettings

    def drafts(self, annotations: Annotations, settings: CountingSettings, kit: Kit) -> Iterator[ItemDraft]:
        """Items of pictures with objects, and of questions whose answer is a number."""
        for record in annotations:
            questions = [*_counted(record, settings, kit)] if record.regions else [*_asked(record, kit)]
            for part, question, number, spelt in questions:
                if number > settings.most:
                    kit.passed_over[f"more than {settings.most} counted"] += 1
                    continue
                chance = kit.chance(record.id, part)
                others = [
                    (_spelt(other, spelt), NEAR) for other in numbers_around(number, settings.options, chance, 0)
                ]
                yield draft(
                    record,
                    part,
                    question=question,
                    choices=shuffled(spelt, others, chance),
                    tags={"count": number} | ({"class": part} if part else {}),
                )


def _counted(record: Annotation, settings: CountingSettings, kit: Kit) -> Iterator[Asked]:
    """Each class that is in the picture, and how often, but none of which some are under one box together."""
    crowded = {region.label for region in record.regions if region.is_crowd}
    for label, number in Counter(region.label for region in record.regions).items():
        if label in crowded:
            kit.passed_over["a crowd that nobody counted"] += 1
        else:
            yield label, settings.question.replace("{class}", label), number, str(number)


def _asked(record: Annotation, kit: Kit) -> Iterator[Asked]:
    answer, _ = gold_of(record)
    if answer.isascii() and answer.isdigit():
        yield "", record.question, int(answer), answer
    elif answer.lower() in _IN_WORDS:
        yield "", record.question, _IN_WORDS.index(answer.lower()), answer
    else:
        kit.passed_over["no number for an answer" if answer else "no answer" if record.question else "no object"] += 1


def _spelt(number: int, like: str) -> str:
    """A number in figures or in words, as another one is written; there are no words for large ones."""
    if like.isdigit() or number >= len(_IN_WORDS):
        return str(number)
    return _IN_WORDS[number].capitalize() if like[0].isupper() else _IN_WORDS[number]


def numbers_around(gold: int, options: int, chance: Random, lowest: int) -> list[int]:
    """The other numbers of a row in which each position of the gold is as likely, as far as it does not end."""
    first = gold - chance.randrange(min(options, gold - lowest + 1))
    return [number for number in range(first, first + options) if number != gold]


REFORMER = Counting()
