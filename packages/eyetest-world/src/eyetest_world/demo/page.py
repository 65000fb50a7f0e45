"""The demo's page as one HTML file: figures of what was planted, found and missed, and items to look at."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import altair as alt
from altair.typing import ChartType
from markupsafe import Markup

from eyetest.pages import palette, plots
from eyetest.pages.item_links import NOWHERE, ItemCount, ItemsAt
from eyetest.pages.item_view import Album, ItemView, in_turns, lot, show_item
from eyetest.pages.page import clip, estimate, write_page
from eyetest.pages.plots import as_svg, dressed, for_page
from eyetest.records import Item, Verdict
from eyetest.reports.report_page import Reply, replies_to
from eyetest_world import FLAWS, Truth
from eyetest_world.demo.kinds import KindOutcome
from eyetest_world.demo.story import WorldItems, WorldStory
from eyetest_world.grading import looks_for
from eyetest_world.toy_models.cards import cards

_WIDTH = 320  # in pixels: on a phone the whole figure is about as wide as the screen, so that its words stay legible
_TRUE = "#b0457f"  # what is known, in a colour of its own beside what was measured


def _lost(story: WorldStory) -> ChartType:
    """The share of a flawless world that each recipe would take out, with its interval."""
    shares = [tried.lost for tried in story.tried]
    table = [
        {"recipe": tried.title} | dict(zip(plots.bounded("lost"), share, strict=False))
        for tried, share in zip(story.tried, shares, strict=True)
    ]
    most = max((share.high or 0.0 for share in shares), default=0.0)
    x = plots.across("share of good items taken out", domain=[0.0, 1.25 * most or 1.0], ticks=6)
    y = plots.rows([tried.title for tried in story.tried], "recipe")
    chart = plots.chart_of(
        row | {"label": _labelled(share.value or 0.0, share.n)} for row, share in zip(table, shares, strict=True)
    )
    words = chart.mark_text(align="left", dx=6, color=palette.SOFT).encode(x=x("lost_high"), y=y, text="label:N")
    dots = plots.layered(plots.intervals(chart, "lost", x, y=y), words)
    return dots.properties(width=_WIDTH, height=plots.step(len(table)))


def _labelled(share: float, items: int) -> str:
    """A share and the counts behind it."""
    return f"{estimate(share)} ({round(share * items):,} of {items:,})"


def _leakage(story: WorldStory) -> ChartType:
    """Measured leakage with its interval, and the share that truly leaked, for each vision model."""
    table = story.vision_models.sort("leaked", "unclipped", descending=True)
    letters = {"measured leakage": plots.bounded("unclipped"), "truly leaked": ["leaked"] * 3}
    long = [
        {"model": row["model"], "what": what} | dict(zip(plots.bounded("share"), map(row.get, names), strict=True))
        for row in table.iter_rows(named=True)
        for what, names in letters.items()
    ]
    colour = alt.Color("what:N").scale(domain=list(letters), range=[palette.SIGHTED, _TRUE])
    shape = alt.Shape("what:N").scale(domain=list(letters), range=["circle", "diamond"])
    y = plots.rows(table.get_column("model").to_list(), "model")
    x = plots.across("share of items", ticks=6)
    dots = plots.intervals(plots.chart_of(long), "share", x, y=y, color=colour, shape=shape)
    return plots.layered(plots.dashed(), dots).properties(width=_WIDTH, height=plots.step(len(table)))


def _eyes(story: WorldStory) -> ChartType:
    """Scores without and with the image, of the language model, and true skill of each vision model."""
    table = story.vision_models.sort("skill", descending=True)
    names = {"base": "language model", "no_image": "no image", "with_image": "with image", "skill": "true skill"}
    known = table.rename(names)
    y = plots.rows(known.get_column("model").to_list(), "model")
    colours = {
        "language model": palette.BASE,
        "no image": palette.BLIND,
        "with image": palette.SIGHTED,
        "true skill": _TRUE,
    }
    dots = plots.dumbbells(known, ("no image", "with image"), colours, y)
    return dots.properties(width=_WIDTH, height=plots.step(len(known)))


def _ranking(story: WorldStory) -> ChartType:
    """Kendall's τ with true skill: of the corrupted benchmark, of random subsets, of the refined one."""
    ranks = story.rankings
    known = {"corrupted, all items": ranks.corrupted, "random, as few items": ranks.random, "refined": ranks.refined}
    table = [{"which": name} | dict(zip(plots.bounded("tau"), one, strict=False)) for name, one in known.items()]
    colours = [palette.BLIND, palette.SOFT, palette.SIGHTED]
    colour = alt.Color("which:N", legend=None).scale(domain=list(known), range=colours)
    x = plots.across("Kendall's τ with true skill", form=".1f", ticks=6)
    dots = plots.intervals(plots.chart_of(table), "tau", x, y=plots.rows(list(known), "which"), color=colour)
    return dots.properties(width=_WIDTH, height=plots.step(len(table)))


_FIGURES: Mapping[str, tuple[str, Callable[[WorldStory], ChartType]]] = {
    "lost": ("Good items that each recipe takes out", _lost),
    "leakage": ("Measured leakage and what truly leaked", _leakage),
    "eyes": ("Without and with the image, and true skill", _eyes),
    "ranking": ("How well each benchmark ranks models", _ranking),
}


@dataclass(frozen=True)
class Exhibits:
    """Items that belong together, and how many there are of them."""

    severity: str
    word: str
    about: str
    number: ItemCount
    items: Sequence[tuple[ItemView, list[Reply]]]


def write_world_page(
    story: WorldStory, about: Mapping[str, str], to: Path, at: ItemsAt = NOWHERE, *, overwrite: bool = False
) -> None:
    """Write the page; ``about`` says how it was made: names and values. ``at`` is where its numbers lead."""
    album, items = Album(story.benchmark), WorldItems(story, at)
    charts = {name: (title, draw(story)) for name, (title, draw) in _FIGURES.items()}
    whole = story.graded.items[""]
    sought = [kind for kind in story.kinds if kind.has_filter]
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
            "sought": items.count(item for kind in sought for item in kind.planted),
            "found_of_sought": items.count(item for kind in sought for item in kind.found),
        },
        "kinds": [_row_of_kind(kind, story, items) for kind in story.kinds],
        "headline": headline(story, items),
        "figures": {name: for_page(as_svg(dressed(chart)), title) for name, (title, chart) in charts.items()},
        "flaws": {flaw: FLAWS[flaw] for flaw in story.flaws},
        "planted": {flaw: items.count(story.planted(flaw)) for flaw in story.flaws},
        "columns": list(story.columns()),
        "exhibits": _exhibits(story, album, items),
        "models": [card for card in cards().values() if card.name in story.results.models],
        "about": about,
        "album": album.images,
    }
    write_page("world.html.j2", contents, to, overwrite=overwrite, package="eyetest_world.demo")


class KindRow(NamedTuple):
    """A kind of error as the page shows it: numbers that lead to their items, and why some were missed."""

    outcome: KindOutcome
    planted: ItemCount
    found: ItemCount
    missed: ItemCount
    recall: float
    finders: str
    bands: Sequence[tuple[str, ItemCount, int]]  # with the items without an error that are in it
    why: str


def _row_of_kind(kind: KindOutcome, story: WorldStory, items: WorldItems) -> KindRow:
    bands = [(name, items.count(ids), story.good_in_bands[name]) for name, ids in kind.bands.items()]
    return KindRow(
        outcome=kind,
        planted=items.count(kind.planted),
        found=items.count(kind.found),
        missed=items.count(kind.missed),
        recall=len(kind.found) / max(1, len(kind.planted)),
        finders=", ".join(f"{stage} {count:,}" for stage, count in kind.finders.items()),
        bands=bands,
        why=_why_missed(kind),
    )


def _why_missed(kind: KindOutcome) -> str:
    """What the missed items of a kind have in common, in a sentence; empty where none was missed."""
    if not kind.missed:
        return ""
    if not kind.has_filter:
        return "No filter looks for this kind."
    if kind.sign is None or kind.sign.is_shown is None:
        return "The filter kept them."
    if kind.sign.is_shown:
        return "They show it, but not firmly enough for the filter."
    return "By this sign they look like items without an error."


def headline(story: WorldStory, items: WorldItems | None = None) -> Markup:
    """The whole story in three sentences."""
    graded, items, planted = story.graded.items[""], items or WorldItems(story), story.planted()
    unsought = [item for kind in story.kinds if not kind.has_filter for item in kind.missed]
    first = Markup(
        "{} of {} were corrupted on purpose. {} small models answered them with and without the image. Without the "
        "ground truth, eyetest found {} of them, missed {}, and flagged {}."
    ).format(
        items.count(planted),
        items.count(truth.item for truth in story.truths).counted("item"),
        len(story.results.models),
        items.count(graded.found),
        items.count({*planted} - {*graded.found}),
        items.count(graded.flagged - graded.right).counted("good one"),
    )
    if not unsought:
        return first
    rest = Markup(" Of the missed ones, {} are of kinds for which there is no filter.")
    return first + rest.format(items.count(unsought))


def _exhibits(story: WorldStory, album: Album, links: WorldItems) -> list[Exhibits]:
    """Some items that were found, some that were missed, some that were blamed for nothing; each flaw in its turn."""
    gone = {truth.item for truth in story.truths if {truth.item, truth.twin} & story.flagged.keys()}
    caught = [truth for truth in story.truths if truth.flaws and truth.item in gone]
    missed = [truth for truth in story.truths if truth.flaws and truth.item not in gone]
    sound = {truth.item for truth in story.truths if not truth.flaws} - {truth.twin for truth in story.truths}
    blamed = [truth for truth in story.truths if truth.item in story.flagged and truth.item in sound]
    shown = [_one_of_each(part, most) for part, most in ((caught, 9), (missed, 6), (blamed, 3))]
    verdicts = {truth.item: _verdict_on(truth, story) for part in shown for truth in part}
    items = {item.id: item for item in story.benchmark if item.id in verdicts}
    replies = replies_to([row for row in verdicts.values() if row], story.runs, story.results.scores)
    kinds = (
        ("sound", "Found", "The item has a planted error and was removed."),
        ("bad", "Missed", "The item has a planted error and was kept."),
        ("suspect", "False alarm", "The item has no error and was removed."),
    )
    counts = [links.count(truth.item for truth in part) for part in (caught, missed, blamed)]

    def view(truth: Truth) -> tuple[ItemView, list[Reply]]:
        return _view(truth, items[truth.item], verdicts[truth.item], album), replies.get(truth.item, [])

    parts = zip(kinds, counts, shown, strict=True)
    return [Exhibits(*kind, count, list(map(view, part))) for kind, count, part in parts if part]


def _one_of_each(truths: Iterable[Truth], most: int) -> list[Truth]:
    """One of each kind of flaw, then another of each; which ones is drawn at random."""
    by_flaw: dict[str, list[Truth]] = {flaw: [] for flaw in FLAWS}
    for truth in sorted(truths, key=lambda truth: lot(truth.item)):
        by_flaw.setdefault(truth.flaws[0] if truth.flaws else "", []).append(truth)
    return in_turns(by_flaw.values(), most)


def _verdict_on(truth: Truth, story: WorldStory) -> Verdict | None:
    """The verdict that took an item out, or that of the stage that was to; else the last one."""
    if row := story.flagged.get(truth.item) or story.flagged.get(truth.twin):
        return row
    about = [row for row in story.whole.verdicts if row.item == truth.item]
    sought = [row for row in about if set(truth.flaws) & looks_for(row.stage)]
    return next(iter(sought or about[-1:]), None)


def _view(truth: Truth, item: Item, verdict: Verdict | None, album: Album) -> ItemView:
    facts = [f"Planted: {FLAWS[flaw]}." for flaw in truth.flaws] or ["Nothing was planted here."]
    if "wrong-gold" in truth.flaws:
        facts.append(f"Right is {truth.gold_before}.")
    if "two-right-options" in truth.flaws:
        facts.append(f"Right are {' and '.join(truth.right)}.")
    if truth.twin:
        facts.append(f"It repeats {truth.twin}.")
    if verdict is not None and (verdict.verdict != "keep" or set(truth.flaws) & looks_for(verdict.stage)):
        why = clip(verdict.reason.removeprefix(f"{verdict.stage}: "), 160)
        facts.append(f"{verdict.stage.capitalize()}: {why}." if why != verdict.stage else f"Flagged by {why}.")
    elif truth.flaws:
        facts.append("No stage here looks for this.")
    return show_item(item.id, " ".join(facts), [], item, album)
