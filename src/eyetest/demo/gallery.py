"""Items of a world to look at: some that were found, some that were missed, some that were blamed for nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest

from eyetest.demo.story import WorldStory
from eyetest.pages.album import Album
from eyetest.pages.item_view import Shown, lot, show_item
from eyetest.pages.texts import clip
from eyetest.records import Item, Verdict
from eyetest.reports.gallery import Fallen, replies_to
from eyetest.world import FLAWS, Truth
from eyetest.world.grading import looks_for

_FOUND, _MISSED, _BLAMED = 9, 6, 3


@dataclass(frozen=True)
class Exhibits:
    """Items that belong together, and how many there are of them."""

    severity: str
    word: str
    about: str
    number: int
    items: Sequence[Fallen]


def exhibits(story: WorldStory, album: Album) -> list[Exhibits]:
    """What there is to see, each kind of flaw in its turn."""
    found = [truth for truth in story.truths if truth.flaws and _is_found(truth, story)]
    missed = [truth for truth in story.truths if truth.flaws and not _is_found(truth, story)]
    blamed = [truth for truth in story.truths if truth.item in story.flagged and not story.flawed(truth)]
    shown = [_in_turn(found, _FOUND), _in_turn(missed, _MISSED), _in_turn(blamed, _BLAMED)]
    ids = {truth.item for part in shown for truth in part}
    items = {item.id: item for item in story.benchmark if item.id in ids}
    verdicts = {truth.item: _verdict(truth, story) for part in shown for truth in part}
    heard = replies_to([row for row in verdicts.values() if row], story.runs, story.results.scores)
    kinds = (
        ("sound", "Found", "A flaw was planted, and a screen took the item out.", len(found)),
        ("bad", "Missed", "A flaw was planted, and the item is still there.", len(missed)),
        ("suspect", "False alarm", "Nothing is wrong with the item, and a screen took it out.", len(blamed)),
    )
    return [
        Exhibits(
            *kind,
            [
                Fallen(_card(truth, items[truth.item], verdicts[truth.item], album), heard.get(truth.item, []))
                for truth in part
            ],
        )
        for kind, part in zip(kinds, shown, strict=True)
        if part
    ]


def _is_found(truth: Truth, story: WorldStory) -> bool:
    return truth.item in story.flagged or truth.twin in story.flagged


def _in_turn(truths: Iterable[Truth], most: int) -> list[Truth]:
    """One of each kind of flaw, then another of each; which ones is drawn by lot."""
    by_flaw: dict[str, list[Truth]] = {flaw: [] for flaw in FLAWS}
    for truth in sorted(truths, key=lambda truth: lot(truth.item)):
        by_flaw.setdefault(truth.flaws[0] if truth.flaws else "", []).append(truth)
    turns = chain.from_iterable(zip_longest(*by_flaw.values()))
    return list(islice((truth for truth in turns if truth is not None), most))


def _verdict(truth: Truth, story: WorldStory) -> Verdict | None:
    """The verdict that took an item out, or that of the stage that was to; else the last one."""
    if row := story.flagged.get(truth.item) or story.flagged.get(truth.twin):
        return row
    about = [row for row in story.whole.verdicts if row.item == truth.item]
    sought = [row for row in about if set(truth.flaws) & looks_for(row.stage)]
    return next(iter(sought or about[-1:]), None)


def _card(truth: Truth, item: Item, verdict: Verdict | None, album: Album) -> Shown:
    told = [f"Planted: {FLAWS[flaw]}." for flaw in truth.flaws] or ["Nothing was planted here."]
    if "wrong-gold" in truth.flaws:
        told.append(f"Right is {truth.gold_before}.")
    if "two-right-options" in truth.flaws:
        told.append(f"Right are {' and '.join(truth.right)}.")
    if truth.twin:
        told.append(f"It repeats {truth.twin}.")
    if verdict is not None and (verdict.verdict != "keep" or set(truth.flaws) & looks_for(verdict.stage)):
        why = clip(verdict.reason.removeprefix(f"{verdict.stage}: "), 160)
        told.append(f"{verdict.stage.capitalize()}: {why}." if why != verdict.stage else f"Flagged by {why}.")
    elif truth.flaws:
        told.append("No stage here looks for this.")
    return show_item(item.id, " ".join(told), [], item, album)
