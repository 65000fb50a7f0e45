"""Blind hits against chance and shared beliefs: who goes, who is looked at by people, and why; items of one template,
passage or image count together.
"""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from eyetest.filters.decoys import _known
from eyetest.measures.stats.chance import favourites
from eyetest.records import ImageRef, Item, Verdict
from eyetest.results.dependence import clusterings
from tests.filters.answers import evidence, item, judge, judged, stage
from tests.filters.simulated import TASTES, Drawn, Ints, draw_panel

RULE = stage(filter="chance-aware", rate=0.05)


def panel(known: int, options: int = 4, believed: int = 0) -> Drawn:
    """Items that every seat knows in nine samples of ten, others where it believes the second option as firmly, and
    forty without any preference."""
    rng = np.random.default_rng(options)
    chosen = rng.integers(options, size=(known + believed + 40, 4, 10))
    chosen[:known], chosen[known : known + believed] = 0, 1
    chosen[: known + believed, :, 9] = options - 1
    return Drawn(np.arange(len(chosen)) < known, chosen)


def decided(drawn: Drawn, options: int = 4, *, with_choices: bool = True) -> list[Verdict]:
    return judge(RULE, drawn.items(options), drawn.evidence(with_choices=with_choices))


@pytest.mark.parametrize(("options", "enough"), [(3, 10), (4, 7), (10, 3)])
def test_what_is_known_goes_where_there_is_enough_of_it(options: int, enough: int) -> None:
    """Fewer such items could be a belief that happens to be right: people are asked."""
    for known, verdict in ((enough, "drop"), (enough - 1, "review")):
        found = [one.verdict for one in decided(panel(known, options), options)]
        assert found == [verdict] * known + ["keep"] * 40


def test_as_many_wrong_favourites_speak_for_the_good_items() -> None:
    """Ten items on whose gold all agree, ten on whose second option all agree: a shared belief, not knowledge."""
    assert {one.verdict for one in decided(panel(10, believed=10))} == {"keep"}


def test_without_choices_hits_are_held_against_the_spread_of_hits() -> None:
    found = [one.verdict for one in decided(panel(3), with_choices=False)]
    assert found == ["drop"] * 3 + ["keep"] * 40


def test_an_incomplete_item_has_no_part_in_the_decision() -> None:
    sure = {f"sure{i}": ["1" * 10 + "-" * 2] for i in range(50)}
    close = {"close": ["1" * 5 + "0" * 7]}
    alone = judged(RULE, evidence(close))["close"]
    together = judged(RULE, evidence(close | sure, tests=12))
    assert alone.p == together["close"].p
    assert together["close"].verdict == alone.verdict
    assert {row.verdict for name, row in together.items() if name != "close"} == {"review"}


def templated(rng: np.random.Generator, options: int, leaky: float = 0.0, *, preferred: bool = True) -> Drawn:
    """Ten templates of 40 items. Models share one preference for each template, right or wrong for all its items and
    firm for the first template; without it they prefer any option of each item.
    """
    template = np.repeat(np.arange(10), 40)
    is_right = (rng.random(10) < 1 / options)[template] if preferred else rng.random(400) < 1 / options
    favourite = np.where(is_right, 0, rng.integers(1, options, 400))
    firm = np.append(0.97, rng.uniform(0.5, 0.6, 9))[template] if preferred else np.full(400, 0.5)
    likely = np.tile(((1 - firm) / (options - 1))[:, None], options)
    likely[np.arange(400), favourite] = firm
    is_leaky = rng.permutation(400) < round(400 * leaky)
    likely[is_leaky] = np.eye(options)[0] * 0.85 + 0.15 / options
    drawn = rng.random((400, 4, 10))[..., None] > likely.cumsum(axis=1)[:, None, None, :-1]
    return Drawn(is_leaky, drawn.sum(axis=3))


def with_notes(drawn: Drawn, options: int, *, alike: bool) -> tuple[list[Verdict], list[str]]:
    """Verdicts and notes, with questions of ten templates or with questions that share nothing."""
    notes: list[str] = []
    items = [
        Item(id=one.id, question=f"Is the {place} of kind {place // 40 * 'very '}large?", choices=one.choices)
        if alike
        else one
        for place, one in enumerate(drawn.items(options))
    ]
    return judge(RULE, items, drawn.evidence(), notes=notes), notes


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("Is there a dog in the image?", "Is there a cat in the image?", True),
        ("How many of the 12 boxes are red?", "How many of the 7 boxes are red?", True),
        ('What does "stop" mean on the sign?', "What does “slow down” mean on the sign?", True),
        ("In which year was Lake Victoria mapped?", "In which year was Mount Etna mapped?", True),
        ("Is there a dog in the image?", "How many dogs are there?", False),
        ("Which?", "Which?", False),
    ],
)
def test_templates_are_found(one: str, other: str, together: bool) -> None:
    items = [Item(id=str(number), question=question) for number, question in enumerate((one, other, "Why is it so?"))]
    assert ("question template" in clusterings(items)) == together


def test_passages_images_and_tags_make_clusters() -> None:
    shown = ImageRef("a" * 64, "png", 8, 8, 100)
    more: list[dict[str, Any]] = [{"hint": "a text"}] * 2 + [{"images": (shown,)}] * 2
    items = [item(f"q{number}", tags={"plot": number % 2}, **fields) for number, fields in enumerate(more)]
    found = {kind: numbers.tolist() for kind, numbers in clusterings(items).items()}
    assert found == {"passage": [0, 0, 1, 2], "image": [0, 1, 2, 2]}
    assert clusterings(items, "plot")["plot"].tolist() == [0, 1, 0, 1]


def test_one_preference_for_a_template_is_no_knowledge() -> None:
    """Models favour the right option of all 40 items of one template, and guess at random elsewhere."""
    rng = np.random.default_rng(1)
    chosen = rng.integers(2, size=(400, 4, 10))
    chosen[:40] = 0
    drawn = Drawn(np.zeros(400, bool), chosen)
    apart, alike = (with_notes(drawn, 2, alike=alike) for alike in (False, True))
    assert sum(one.verdict == "drop" for one in apart[0]) >= 40
    assert [one.verdict for one in alike[0]].count("drop") == 0
    assert [one.verdict for one in alike[0][:40]].count("review") == 1, "one item stands for its template"
    assert [one.verdict for one in alike[0]].count("review") <= 5


def test_where_no_item_can_be_named_it_is_said_how_many_are_known() -> None:
    """Shared beliefs are as firm as knowledge, so nothing is dropped; right favourites are still too many."""
    rng = np.random.default_rng(3)
    drawn = draw_panel(rng, items=400, inspectors=4, samples=10, leaky=0.17, taste=TASTES["coins"])
    drawn.chosen[np.flatnonzero(~drawn.leaky)[:60]] = rng.integers(1, 4, size=(60, 1, 1))
    verdicts, notes = with_notes(drawn, 4, alike=False)
    assert [one.verdict for one in verdicts].count("drop") == 0
    review = np.array([one.verdict == "review" for one in verdicts])
    assert drawn.leaky[review].mean() > 0.8, "the likeliest items are sent to people"
    assert "0 can be named at a rate of 0.05" in notes[0]


def lost(options: int, *, alike: bool, leaky: float = 0.0, preferred: bool = True) -> tuple[list[int], list[float]]:
    """By benchmark of sixty: how many good items are dropped, and the share of known items that is."""
    gone, found = [], []
    for seed in range(60):
        drawn = templated(np.random.default_rng([options, seed]), options, leaky, preferred=preferred)
        drop = np.array([one.verdict == "drop" for one in with_notes(drawn, options, alike=alike)[0]])
        gone.append(int((drop & ~drawn.leaky).sum()))
        found.append(float(drop[drawn.leaky].mean()) if leaky else 0.0)
    return gone, found


@pytest.mark.science
@pytest.mark.parametrize("options", [2, 4])
def test_flawless_benchmarks_of_templates_lose_items_in_at_most_one_of_twenty(options: int) -> None:
    apart, alike = (lost(options, alike=alike)[0] for alike in (False, True))
    losing = [sum(number > 0 for number in numbers) for numbers in (apart, alike)]
    print(f"{options} options: {losing[0]} of 60 lose items counted one by one, {losing[1]} of 60 by cluster")
    assert losing[0] > 3, "without clusters more than 5 % of benchmarks lose items"
    assert stats.binomtest(losing[1], 60, 0.05, alternative="greater").pvalue > 0.05


@pytest.mark.science
@pytest.mark.parametrize(("options", "less"), [(2, 0.12), (4, 0.03)])
def test_known_items_of_templates_are_still_found(options: int, less: float) -> None:
    """A fifth is known, spread over the templates; each model prefers any option elsewhere."""
    (_, apart), (gone, alike) = (lost(options, alike=alike, leaky=0.2, preferred=False) for alike in (False, True))
    print(f"{options} options: recall {np.mean(apart):.3f} one by one, {np.mean(alike):.3f} by cluster")
    assert np.mean(alike) >= np.mean(apart) - less
    assert np.mean(gone) <= 0.08 * 80


def estimate(drawn: Drawn, options: int, shared: dict[str, Ints]) -> list[float]:
    """How many items the panel seems to know."""
    counts = np.stack([(drawn.chosen == option).sum(axis=2) for option in range(options)], axis=2)
    favoured = favourites(counts, np.full(len(counts), options))
    return _known(favoured, favoured.option == 0, np.full(len(counts), 1 / options), shared)


@pytest.mark.science
@pytest.mark.parametrize("taste", ["coins", "leaning", "beliefs on a tenth", "templates"])
@pytest.mark.parametrize("options", [2, 4])
@pytest.mark.parametrize("leaky", [0.0, 0.17])
def test_the_number_of_known_items_lies_in_its_interval(options: int, leaky: float, taste: str) -> None:
    held = []
    for seed in range(100):
        rng = np.random.default_rng([seed, options])
        if taste == "templates":
            drawn, shared = templated(rng, options, leaky), {"template": np.repeat(np.arange(10), 40)}
        else:
            shape = {"items": 400, "inspectors": 4, "samples": 10, "options": options}
            drawn, shared = draw_panel(rng, **shape, leaky=leaky, taste=TASTES[taste]), {}
        _, low, high = estimate(drawn, options, shared)
        held.append(low - 0.5 <= drawn.leaky.sum() <= high + 0.5)
    print(f"{options} options, {leaky:.0%} known, {taste}: {np.mean(held):.2f} of 100 intervals hold the truth")
    assert stats.binomtest(sum(held), 100, 0.95, alternative="less").pvalue > 0.01
