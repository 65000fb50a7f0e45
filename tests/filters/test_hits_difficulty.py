"""Bands: each count in its band, bands that go, panels of another size, counts that are not complete."""

from typing import Any

import pytest

from eyetest.errors import InputError
from eyetest.filters import FILTERS
from eyetest.filters.hits import BAND, band_of
from eyetest.recipes.loading import load_recipe
from eyetest.records import Stage
from tests.filters.said import KINDS, Table, Word, evidence, judged, stage, told, words

LIME = {"easy": [6, 9], "middle": [3, 5], "hard": [0, 2]}


def graded(**fields: Any) -> Stage:
    return stage(grade="difficulty", **{"bands": LIME, "drop": ["easy"], **fields})


def answered(hits: int, seats: int) -> list[list[Word]]:
    found: list[list[Word]] = [[1] for _ in range(hits)]
    return found + [[0] for _ in range(seats - hits)]


def test_every_count_has_its_band() -> None:
    found = judged(graded(), evidence({str(hits): answered(hits, 9) for hits in range(10)}))
    bands = [told(row)[BAND] for row in found.values()]
    assert bands == ["hard"] * 3 + ["middle"] * 3 + ["easy"] * 4
    assert [row.verdict for row in found.values()] == ["keep"] * 6 + ["drop"] * 4
    assert found["4"].reason == "middle: 4 of 9 answer it"
    assert (found["4"].n, found["4"].hits, len(found["4"].responses)) == (9, 4, 9)


@pytest.mark.parametrize(
    ("recipe", "bands"), [("mmstar", "tttthhhhmmmmeeeee"), ("lime", "hhhmmmeeee"), ("lime-code", "hhhmmeeeee")]
)
def test_the_bands_of_the_shipped_recipes(recipe: str, bands: str) -> None:
    found = next(one for one in load_recipe(recipe).stages if one.grade)
    size = len(bands) - 1
    assert "".join(band_of(found, hits, size, size)[0] for hits in range(size + 1)) == bands


@pytest.mark.parametrize(
    ("seats", "bands"), [(8, "hhhmmeeee"), (9, "hhhmmmeeee"), (18, "hhhhhmmmmmmeeeeeeee"), (3, "hmee"), (1, "he")]
)
def test_another_panel_takes_the_nearest_count_of_the_recipes(seats: int, bands: str) -> None:
    """With eight judges instead of nine: hard 0–2, middle 3–4, easy 5–8."""
    found = judged(graded(), evidence({str(h): answered(h, seats) for h in range(seats + 1)}), size=9)
    assert "".join(told(row)[BAND][0] for row in found.values()) == bands


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_plain_answer_is_no_hit_and_is_counted(kind: str) -> None:
    found = judged(graded(), evidence({"q": [*answered(3, 8), [kind]]}))["q"]
    assert found.hits == 3
    assert told(found)["not_plain"] == {kind: 1}
    if kind == "failed":
        assert (found.verdict, found.reason) == ("review", "1 answer missing: no band")
        assert BAND not in told(found)
    else:
        assert (found.verdict, told(found)[BAND]) == ("keep", "middle")


def test_enough_answers_are_enough() -> None:
    table: Table = {"eight": [*answered(3, 8), ["failed"]], "seven": [*answered(3, 7), ["failed"], ["failed"]]}
    assert words(judged(graded(min_answers=8), evidence(table))) == {"eight": "keep", "seven": "review"}


def test_several_samples_count_once() -> None:
    heard = evidence({"q": [[1, 1, 0], [1, 0, 0], [1, 1, 1]]})
    bands = {"all": [3, 3], "some": [0, 2]}
    for answers, hits in ((None, 3), ({"op": ">=", "value": 2}, 2), ({"op": "==", "value": 3}, 1)):
        found = judged(graded(bands=bands, drop=[], **({"answers": answers} if answers else {})), heard)["q"]
        assert found.hits == hits


@pytest.mark.parametrize(
    "bands",
    [
        {"easy": [6, 9], "middle": [4, 5], "hard": [0, 2]},
        {"easy": [6, 9], "middle": [3, 6], "hard": [0, 2]},
        {"easy": [6, 8], "middle": [3, 5], "hard": [0, 2]},
        {"easy": [6, 10], "middle": [3, 5], "hard": [0, 2]},
        {"easy": [9, 6], "middle": [3, 5], "hard": [0, 2]},
        {},
    ],
)
def test_bands_hold_every_count_once(bands: dict[str, list[int]]) -> None:
    with pytest.raises(InputError, match="bands have to hold each of 0 to 9 hits once"):
        FILTERS["difficulty"].rule(graded(bands=bands, drop=[]), 9, 9, 1)
