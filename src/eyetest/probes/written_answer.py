"""Does the answer stand written in the picture, where its task is not about reading?

OCR reads a sample of pictures. An option that stands in a picture while none of the others does should be the gold as
often as luck makes it one, unless reading is what the task asks for: there it is no flaw, and is only noted.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from eyetest.errors import InputError, MissingExtraError
from eyetest.measures.stats.luck import at_least
from eyetest.ocr.base import Engine
from eyetest.ocr.choosing import choose_engine
from eyetest.probes.named_answer import is_telling, only_option_in
from eyetest.probes.picture_tasks import tasks_told
from eyetest.probes.pictures import UNREADABLE, in_parallel, open_small
from eyetest.probes.subject import Subject, no_choices, no_pictures, untested
from eyetest.records import Finding, Item
from eyetest.wording import listed, percent

_NAME = "written-answer"
_READ_SIDE = 1200
"""Pixels that a JPEG is not shrunk below before it is read."""
_LEAST_READ = 4
"""Pictures of a task that have to be read before it is called one of reading."""


class WrittenGold(NamedTuple):
    """An item of which one option, and no other, stands in a picture."""

    item: Item
    option: int

    @property
    def is_gold(self) -> bool:
        """Whether that is the gold."""
        return self.option == self.item.gold[0]


class WrittenAnswer:
    """Looks for golds that can be read off the picture."""

    name = _NAME
    summary = "Does the answer stand written in the picture?"

    def run(self, subject: Subject) -> Iterator[Finding]:
        """A test over the tasks that are not about reading, and a note of those that are."""
        if not subject.choice_items:
            yield no_choices(_NAME, subject)
            return
        if not subject.shows_pictures:
            yield no_pictures(_NAME, "none was read")
            return
        try:
            engine = choose_engine()
        except MissingExtraError as error:
            yield untested(_NAME, "no-ocr", "Whether answers stand in pictures was not looked at", f"{error}.")
            return
        texts = _read(_sample(subject), engine, subject)
        if len(texts) < subject.thresholds.min_items:
            title = "Too few pictures can be read to say whether answers stand in them"
            yield untested(_NAME, "too-few", title, n=len(texts), least=subject.thresholds.min_items)
            return
        yield from _findings(subject, texts)


def _sample(subject: Subject) -> list[Item]:
    """Items of which every option could be found, or finding the gold alone would be no luck; drawn by lot."""
    shortest = subject.thresholds.text.shortest_answer
    items = [
        item
        for item in subject.choice_items
        if item.images and all(is_telling(choice.text, shortest) for choice in item.choices)
    ]
    drawn = subject.rng(_NAME, "sample").permutation(len(items))[: subject.thresholds.tasks.most_read]
    return [items[index] for index in sorted(drawn.tolist())]


def _read(items: Sequence[Item], engine: Engine, subject: Subject) -> list[tuple[Item, str]]:
    """What stands in each item's pictures; items of which one cannot be read are left out."""

    def text(item: Item) -> str | None:
        try:
            pictures = [open_small(subject.benchmark.images.read(image), _READ_SIDE) for image in item.images]
            return "\n".join(line.text for picture in pictures for line in engine.read(picture))
        except (InputError, *UNREADABLE):
            return None

    texts = in_parallel(text, items, lambda share: subject.progress("reading pictures", share))
    return [(item, text) for item, text in zip(items, texts, strict=True) if text is not None]


def _findings(subject: Subject, texts: Sequence[tuple[Item, str]]) -> Iterator[Finding]:
    shortest = subject.thresholds.text.shortest_answer
    tasks = tasks_told(subject)
    names = {item.id: tasks.names[task] for item, task in zip(tasks.items, tasks.task, strict=True)} if tasks else {}
    read: Counter[str] = Counter(names.get(item.id, "") for item, _ in texts)
    found: dict[str, list[WrittenGold]] = {name: [] for name in read}
    for item, text in texts:
        option = only_option_in(text, item, shortest)
        if option is not None:
            found[names.get(item.id, "")].append(WrittenGold(item, option))
    reading: dict[str, list[WrittenGold]] = {}
    others: list[WrittenGold] = []
    for name, ones in found.items():
        golds = [one for one in ones if one.is_gold]
        if read[name] >= _LEAST_READ and len(golds) >= subject.thresholds.tasks.reading * read[name]:
            reading[name or "all items"] = golds
        else:
            others += ones
    if reading:
        yield _about_reading(reading)
    yield _given_away(others, len(texts), len(subject.choice_items))


def _about_reading(reading: dict[str, list[WrittenGold]]) -> Finding:
    golds = [one for of in reading.values() for one in of]
    return Finding(
        probe=_NAME,
        kind="reading-task",
        severity="note",
        verdict="keep",
        title=f"{listed(reading)}: answers stand in the pictures, as where reading is asked for",
        detail="In most pictures of these tasks that were read the gold is written, and no other option.",
        items=tuple(one.item.id for one in golds),
        evidence=_evidence(golds),
        numbers={"items": len(golds), "tasks": list(reading)},
    )


def _given_away(found: Sequence[WrittenGold], read: int, available: int) -> Finding:
    golds = [one for one in found if one.is_gold]
    chances = [1 / len(one.item.choices) for one in found]
    by_luck = sum(1 / (len(one.item.choices) - 1) for one in found if not one.is_gold)
    return Finding(
        probe=_NAME,
        kind="answer-in-picture",
        severity="suspect",
        title=f"{len(golds):,} times the answer and no other option stands in the picture; {by_luck:.0f} by luck"
        if golds
        else "No picture gives its answer away in words",
        detail=f"OCR read the pictures of {read:,} items ({available:,} have options); where just one option was "
        f"found, it is the gold in {percent(len(golds) / max(len(found), 1))} of {len(found):,} cases. What luck "
        "does is estimated from wrong options that stand there alone. Numbers and letters were not looked for.",
        items=tuple(one.item.id for one in golds),
        evidence=_evidence(golds),
        p=at_least(len(golds), chances) if found else 1.0,
        numbers={"read": read, "found": len(found), "gold": len(golds), "by_luck": by_luck},
    )


def _evidence(golds: Sequence[WrittenGold]) -> dict[str, str]:
    return {one.item.id: f'"{one.item.choices[one.option].text}" stands in the picture' for one in golds}


PROBE = WrittenAnswer()
