"""Items that are answered blind: every operator, hits and shares, answers that are none, panels of another size."""

from collections.abc import Sequence
from typing import Any

import pytest

from eyetest.errors import InputError
from eyetest.filters import FILTERS
from eyetest.recipes.loading import load_recipe
from eyetest.records import Cut
from tests.filters.said import KINDS, Word, evidence, item, judged, stage, told, words

MMSTAR = {"filter": "blind-hits", "keep": {"hits": {"op": "<=", "value": 2}}}
MMMU_PRO = {"filter": "blind-majority", "answers": {"op": ">", "value": 5}, "keep": {"hits": {"op": "<", "value": 3}}}


def once(*answers: Word) -> list[list[Word]]:
    """Seats that are asked once each."""
    return [[answer] for answer in answers]


@pytest.mark.parametrize("hits", range(9))
def test_mmstar_keeps_what_at_most_two_of_eight_hit(hits: int) -> None:
    found = judged(stage(**MMSTAR, full_counts=True), evidence({"q": once(*[1] * hits, *[0] * (8 - hits))}))["q"]
    assert (found.verdict, found.hits, found.n) == ("keep" if hits <= 2 else "drop", hits, 8)
    assert found.reason == f"{hits} of 8 inspectors answer it blind"
    assert len(found.responses) == 8


@pytest.mark.parametrize(
    ("operator", "keeps"), [("<", "110"), ("<=", "111"), ("==", "001"), (">=", "0011"), (">", "00011")]
)
def test_every_operator(operator: str, keeps: str) -> None:
    cut = {"op": operator, "value": 2}
    table = {f"q{hits}": once(*[1] * hits, *[0] * (4 - hits)) for hits in range(len(keeps))}
    for full in (True, False):
        rule = stage(filter="blind-hits", keep={"hits": cut}, full_counts=full)
        found = judged(rule, evidence(table))
        assert [row.verdict == "keep" for row in found.values()] == [mark == "1" for mark in keeps]


@pytest.mark.parametrize("recipe", ["lime", "lime-code"])
def test_lime_drops_captions_that_models_repeat_without_the_image(recipe: str) -> None:
    """The thresholds are those of the image stage: BLEU-4 of .2, not of 1."""
    rule = next(one for one in load_recipe(recipe).stages if one.filter == "blind-count")
    found = judged(rule, evidence({"repeated": once(1.0, 0.3, 0, 0), "other": once(0.19, 0, 0, 0)}, metric="bleu-4"))
    assert words(found) == {"repeated": "drop", "other": "keep"}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_plain_answer_is_no_hit_and_is_counted(kind: str) -> None:
    found = judged(stage(**MMSTAR, full_counts=True), evidence({"q": once(1, 1, 0, 0, 0, 0, 0, kind)}))["q"]
    assert found.hits == 2
    assert told(found)["not_plain"] == {kind: 1}
    known = 7 if kind == "failed" else 8
    assert found.n == known
    assert told(found)["seats"]["m7"] == [0, known - 7]
    assert found.verdict == ("review" if kind == "failed" else "keep"), "only a failed call could have been a hit"


def test_missing_answers_go_to_people_only_where_they_could_change_the_verdict() -> None:
    table = {
        "open": once(1, 1, 0, 0, 0, 0, "failed", 0),
        "settled drop": once(1, 1, 1, "failed", "failed", None, None, None),
        "settled keep": once(1, 0, 0, 0, 0, 0, 0, "failed"),
        "nobody": once(*[None] * 8),
        "all failed": once(*["failed"] * 8),
    }
    for full in (True, False):
        found = judged(stage(**MMSTAR, full_counts=full), evidence(table))
        assert words(found) == {
            "open": "review",
            "settled drop": "drop",
            "settled keep": "keep",
            "nobody": "review",
            "all failed": "review",
        }
        assert found["open"].reason == "1 answer missing, which could change the verdict"
        assert found["all failed"].reason == "8 answers missing, which could change the verdict"


def test_an_item_that_nobody_was_asked_about_goes_to_people() -> None:
    heard = evidence({"known": once(0, 0)})
    rule = stage(filter="blind-hits", keep={"hits": {"op": "<", "value": 1}})
    found = judged(rule, heard, items=[item("known"), item("unknown")])
    assert words(found) == {"known": "keep", "unknown": "review"}
    assert (found["unknown"].n, found["unknown"].responses) == (0, ())


def test_enough_answers_are_enough() -> None:
    table = {"six": once(1, 1, 0, 0, 0, 0, "failed", "failed"), "five": once(1, 1, 0, 0, 0, *["failed"] * 3)}
    for full in (True, False):
        found = judged(stage(**MMSTAR, min_answers=6, full_counts=full), evidence(table))
        assert words(found) == {"six": "keep", "five": "review"}


def test_a_share_is_one_of_the_seats() -> None:
    rule = stage(filter="blind-count", keep={"share": {"op": "<", "value": 0.5}}, full_counts=True)
    table = {f"q{hits}": once(*[1] * hits, *[0] * (4 - hits)) for hits in range(5)}
    found = words(judged(rule, evidence(table)))
    assert found == {f"q{hits}": "keep" if hits < 2 else "drop" for hits in range(5)}


@pytest.mark.parametrize("seats", range(1, 31))
def test_a_share_of_any_panel_is_compared_exactly(seats: int) -> None:
    """A third of three, a tenth of thirty: no rounding of a share may move an item over its cut."""
    for part in range(1, seats):
        rule = stage(filter="blind-count", keep={"share": {"op": "<=", "value": part / seats}}, full_counts=True)
        table = {str(hits): once(*[1] * hits, *[0] * (seats - hits)) for hits in (part, part + 1)}
        assert words(judged(rule, evidence(table))) == {str(part): "keep", str(part + 1): "drop"}


@pytest.mark.parametrize(("seats", "keeps"), [(4, 1), (8, 2), (12, 3), (16, 4), (5, 1), (9, 2), (11, 2), (20, 5)])
def test_a_panel_of_another_size_has_its_thresholds_as_shares(seats: int, keeps: int) -> None:
    table = {str(hits): once(*[1] * hits, *[0] * (seats - hits)) for hits in range(seats + 1)}
    found = judged(stage(**MMSTAR, full_counts=True), evidence(table), size=8)
    assert [int(name) for name, row in found.items() if row.verdict == "keep"] == list(range(keeps + 1))
    assert found["1"].reason == f"1 of {seats} inspectors answer it blind"


def tenfold(*right: int) -> list[str]:
    return ["1" * hits + "0" * (10 - hits) for hits in right]


@pytest.mark.parametrize(
    ("right", "verdict"),
    [
        ((5, 5, 5, 5), "keep"),
        ((6, 6, 5, 5), "keep"),
        ((6, 6, 6, 0), "drop"),
        ((10, 10, 10, 10), "drop"),
        ((10, 10, 5, 5), "keep"),
        ((0, 6, 6, 6), "drop"),
    ],
)
def test_mmmu_pro_drops_what_three_of_four_answer_more_than_five_times(right: Sequence[int], verdict: str) -> None:
    for full in (True, False):
        found = judged(stage(**MMMU_PRO, full_counts=full), evidence({"q": tenfold(*right)}))["q"]
        assert found.verdict == verdict
        if full:
            assert found.hits == sum(hits > 5 for hits in right)
            assert told(found)["seats"] == {f"m{i}": [hits, 10] for i, hits in enumerate(right)}
            assert found.n == 40


def test_a_settled_verdict_says_so_and_rests_on_what_settled_it() -> None:
    found = judged(stage(**MMMU_PRO), evidence({"q": tenfold(10, 10, 10, 10)}))["q"]
    assert found.reason == "3 of 4 inspectors answer it blind in enough samples (settled)"
    assert found.n == 18
    assert found.responses == tuple(f"q/{seat}/{sample}" for seat in range(3) for sample in range(6))


def test_scores_count_as_right_from_the_stages_own_cut_on() -> None:
    heard = evidence({"q": once(0.6, 0.59, 1.0)}, metric="vqa")
    cuts: list[tuple[dict[str, Any], int]] = [
        ({}, 1),
        ({"vqa": {"op": ">=", "value": 0.6}}, 2),
        ({"vqa": {"op": ">", "value": 0.6}}, 1),
        ({"any": {"op": ">=", "value": 0.5}}, 3),
        ({"bleu-4": {"op": ">=", "value": 0.2}}, 1),
        ({"any": {"op": ">=", "value": 0.5}, "vqa": {"op": ">=", "value": 0.6}}, 2),
    ]
    for right, hits in cuts:
        rule = stage(filter="blind-hits", keep={"hits": {"op": "<=", "value": 2}}, right=right, full_counts=True)
        assert judged(rule, heard)["q"].hits == hits


@pytest.mark.parametrize(
    ("keep", "names"),
    [({}, "nothing"), ({"hit": 2}, "hit"), ({"hits": 1, "share": 2}, "hits, share"), ({"ratio": 1}, "ratio")],
)
def test_a_threshold_that_cannot_be_read_is_refused(keep: dict[str, int], names: str) -> None:
    rule = stage(filter="blind-hits", keep={name: Cut(op="<=", value=value) for name, value in keep.items()})
    with pytest.raises(InputError, match=f"keep says {names}; it takes hits or share"):
        FILTERS["blind-hits"].rule(rule, 8, 8, 1)


@pytest.mark.parametrize("cut", [("<=", 8), ("<", 0), (">", 8), (">=", 0), ("==", 9)])
def test_a_threshold_that_no_answer_could_change_is_refused(cut: tuple[str, int]) -> None:
    rule = stage(filter="blind-hits", keep={"hits": {"op": cut[0], "value": cut[1]}})
    with pytest.raises(InputError, match=r"(always|never) so"):
        FILTERS["blind-hits"].rule(rule, 8, 8, 1)
