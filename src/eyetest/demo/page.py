"""A world whose flaws are known as one HTML file: what was planted, found and missed, with items to look at."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from altair.typing import ChartType
from markupsafe import Markup

from eyetest.demo import figures
from eyetest.demo.story import WorldStory
from eyetest.demo.world_items import WorldItems
from eyetest.models.embedded import cards
from eyetest.pages.charts import ChartLinks, as_narrow_svg, as_svg, on_page
from eyetest.pages.item_counts import NOWHERE, ItemCount, ItemsAt
from eyetest.pages.item_view import Album, ItemView, in_turns, lot, show_item
from eyetest.pages.page import clip, write_page
from eyetest.pages.plots import dressed
from eyetest.records import Item, Verdict
from eyetest.reports.gallery import Fallen, replies_to
from eyetest.world import FLAWS, Truth
from eyetest.world.grading import looks_for

_FIGURES: Mapping[str, tuple[str, Callable[[WorldStory], ChartType]]] = {
    "planted": ("Planted flaws, found and missed", figures.planted),
    "lost": ("Good items that each recipe takes out", figures.lost),
    "leakage": ("Measured leakage and what truly leaked", figures.leakage),
    "eyes": ("Blind, sighted, and true skill", figures.eyes),
    "gains": ("Gain against true skill, before and after", figures.gains),
    "ranking": ("How well each benchmark ranks models", figures.ranking),
}
_FOUND, _MISSED, _BLAMED = 9, 6, 3
"""How many items are shown of each."""


@dataclass(frozen=True)
class Exhibits:
    """Items that belong together, and how many there are of them."""

    severity: str
    word: str
    about: str
    number: ItemCount
    items: Sequence[Fallen]


def write_world_page(
    story: WorldStory, about: Mapping[str, str], to: Path, at: ItemsAt = NOWHERE, *, overwrite: bool = False
) -> None:
    """Write the page; ``about`` says how it was made: names and values. ``at`` is where its numbers lead."""
    album, items = Album(story.benchmark), WorldItems(story, at)
    whole = story.graded.items[""]
    contents = {
        "story": story,
        "at": at,
        "items": items,
        "every": items.count(truth.item for truth in story.truths),
        "kept": items.count(story.kept),
        "whole": {
            "found": items.count(whole.found),
            "planted": items.count(story.planted()),
            "right": items.count(whole.right),
            "flagged": items.count(whole.flagged),
        },
        "headline": headline(story, items),
        "figures": _figures(story, items),
        "flaws": {flaw: FLAWS[flaw] for flaw in story.flaws},
        "planted": {flaw: items.count(story.planted(flaw)) for flaw in story.flaws},
        "columns": list(story.columns()),
        "exhibits": _exhibits(story, album, items),
        "models": list(cards().values()),
        "about": about,
        "album": album.pictures,
    }
    write_page("world.html.j2", contents, to, overwrite=overwrite, package="eyetest.demo")


def _figures(story: WorldStory, items: WorldItems) -> dict[str, Markup]:
    """The charts by their names; parts of the bars of planted flaws lead to their items."""
    links = ChartLinks()
    drawn = {name: draw(story) for name, (_, draw) in _FIGURES.items()}
    drawn["planted"] = figures.planted(story, lambda ids: links.mark(items.count(ids)))
    dressed_up = {name: dressed(chart) for name, chart in drawn.items()}
    return {
        name: on_page(as_svg(chart), as_narrow_svg(chart), _FIGURES[name][0], links)
        for name, chart in dressed_up.items()
    }


def headline(story: WorldStory, items: WorldItems | None = None) -> Markup:
    """The whole story in two sentences."""
    graded, items, planted = story.graded.items[""], items or WorldItems(story), story.planted()
    return Markup(
        "{} of {} were spoilt on purpose. {} small models answered them with and without the picture, and eyetest, "
        "which was not told, found {} of the spoilt ones, missed {}, and blamed {}."
    ).format(
        items.count(planted),
        items.count(truth.item for truth in story.truths).counted("item"),
        len(cards()),
        items.count(graded.found),
        items.count({*planted} - {*graded.found}),
        items.count(graded.flagged - graded.right).counted("good one"),
    )


def _exhibits(story: WorldStory, album: Album, links: WorldItems) -> list[Exhibits]:
    """Some items that were found, some that were missed, some that were blamed for nothing; each flaw in its turn."""
    gone = {truth.item for truth in story.truths if {truth.item, truth.twin} & story.flagged.keys()}
    caught = [truth for truth in story.truths if truth.flaws and truth.item in gone]
    missed = [truth for truth in story.truths if truth.flaws and truth.item not in gone]
    blamed = [truth for truth in story.truths if truth.item in story.flagged and not story.flawed(truth)]
    shown = [_one_of_each(caught, _FOUND), _one_of_each(missed, _MISSED), _one_of_each(blamed, _BLAMED)]
    verdicts = {truth.item: _verdict(truth, story) for part in shown for truth in part}
    items = {item.id: item for item in story.benchmark if item.id in verdicts}
    heard = replies_to([row for row in verdicts.values() if row], story.runs, story.results.scores)
    kinds = (
        ("sound", "Found", "A flaw was planted, and a screen took the item out."),
        ("bad", "Missed", "A flaw was planted, and the item is still there."),
        ("suspect", "False alarm", "Nothing is wrong with the item, and a screen took it out."),
    )
    counts = [links.count(truth.item for truth in part) for part in (caught, missed, blamed)]
    return [
        Exhibits(
            *kind,
            count,
            [
                Fallen(_view(truth, items[truth.item], verdicts[truth.item], album), heard.get(truth.item, []))
                for truth in part
            ],
        )
        for kind, count, part in zip(kinds, counts, shown, strict=True)
        if part
    ]


def _one_of_each(truths: Iterable[Truth], most: int) -> list[Truth]:
    """One of each kind of flaw, then another of each; which ones is drawn by lot."""
    by_flaw: dict[str, list[Truth]] = {flaw: [] for flaw in FLAWS}
    for truth in sorted(truths, key=lambda truth: lot(truth.item)):
        by_flaw.setdefault(truth.flaws[0] if truth.flaws else "", []).append(truth)
    return in_turns(by_flaw.values(), most)


def _verdict(truth: Truth, story: WorldStory) -> Verdict | None:
    """The verdict that took an item out, or that of the stage that was to; else the last one."""
    if row := story.flagged.get(truth.item) or story.flagged.get(truth.twin):
        return row
    about = [row for row in story.whole.verdicts if row.item == truth.item]
    sought = [row for row in about if set(truth.flaws) & looks_for(row.stage)]
    return next(iter(sought or about[-1:]), None)


def _view(truth: Truth, item: Item, verdict: Verdict | None, album: Album) -> ItemView:
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
