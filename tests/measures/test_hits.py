"""Hits without the image: by chance, by most inspectors, by models whose language model misses."""

from itertools import product

import polars as pl
import pytest
from scipy import stats

from eyetest.measures import NotMeasurable, Results
from eyetest.records import ModelEntry
from tests.measures.tables import asked, grid, measure, results

ITEMS = [{"item": str(i), "options": 4, "gold": "A", "position": 0} for i in range(4)]
INSPECTORS = {str(k): [1, float(k < 6), float(k < 5), 0] for k in range(8)}


def test_items_by_number_of_hits_beside_chance() -> None:
    table = measure("no-image-hits", grid(INSPECTORS, ITEMS, modality="no-image")).table
    assert table["hits"].to_list() == [*range(9)]
    assert table["items"].to_list() == [1, 0, 0, 0, 0, 1, 1, 0, 1]
    assert table["by_chance"].to_list() == pytest.approx(stats.binom.pmf(range(9), 8, 0.25))


def test_only_answers_without_the_image_are_hits_and_a_test_more_than_half_right_is_one() -> None:
    with pytest.raises(NotMeasurable, match="modality no-image"):
        measure("no-image-hits", grid(INSPECTORS, ITEMS))
    samples = [row for n in range(10) for row in asked("m", [float(n < 6), float(n < 5)], "no-image", sample=n)]
    table = measure("no-image-hits", results(samples, ITEMS)).table
    assert table["items"].to_list() == [1, 1]


def test_a_leak_hit_needs_a_language_model_that_misses() -> None:
    models = {name: ModelEntry(spec="scripted:a", base="text") for name in ("a", "b", "c")}
    found = grid(
        {"a": [1, 1, 0], "b": [1, 1, 0], "c": [1, 0, 0], "text": [0, 1, 0], "d": [1, 1, 1]}, modality="no-image"
    )
    measured = measure("no-image-hits", Results(found.scores, found.items, models), over="items")
    reported = [(row["item"], row["leak_hits"], row["pairs"]) for row in measured.table.to_dicts()]
    assert reported == [("0", 3, 3), ("1", 0, 3), ("2", 0, 3)]
    assert measured.notes == ("1 item of 3 leaked to more than half of the pairs",)
    alone = measure("no-image-hits", found, over="items")
    assert alone.table.columns == ["benchmark", "item", "hits", "asked"]
    assert alone.notes[0].startswith("leaks: not measured (no model and its language model")


def test_chance_has_to_hit_more_than_half_of_the_tests() -> None:
    samples = [(model, sample) for model, count in (("a", 5), ("b", 2), ("c", 1)) for sample in range(count)]
    rows = [row for model, sample in samples for row in asked(model, [0.0] * 4, "no-image", sample=sample)]
    table = measure("no-image-hits", results(rows, ITEMS)).table
    a, b, c = stats.binom.sf(2, 5, 0.25), 0.25**2, 0.25
    assert table["by_chance"][0] == pytest.approx((1 - a) * (1 - b) * (1 - c))
    assert table["by_chance"][3] == pytest.approx(a * b * c)
    assert table["by_chance"].sum() == pytest.approx(1)


def test_hits_by_tag_and_items_with_fewer_inspectors() -> None:
    items = [item | {"tag.half": "qqpp"[i]} for i, item in enumerate(ITEMS)]
    some = grid({"a": [1, 1, 0, 0], "b": [1, 0, 0, None]}, items, modality="no-image")
    found = measure("no-image-hits", some, by=("half",))
    assert found.table.select("tag.half", "hits").rows() == [*product("pq", range(3))]
    assert found.table["items"].to_list() == [2, 0, 0, 0, 1, 1]
    assert found.notes == ("1 item with answers of fewer inspectors than others",)
    with pytest.raises(NotMeasurable, match="rows are items already"):
        measure("no-image-hits", some, by=("half",), over="items")


def test_an_inspector_who_was_asked_in_two_ways_is_one_inspector() -> None:
    both = grid({"a": [1, 0, 0, 0], "b": [0, 0, 0, 0]}, ITEMS, modality="no-image")
    guessed = grid({"a": [1, 1, 0, 0]}, ITEMS, modality="no-image-guess")
    found = Results(pl.concat([both.scores, guessed.scores]), both.items)
    measured = measure("no-image-hits", found)
    assert dict(zip(measured.table["hits"], measured.table["items"], strict=True)) == {0: 2, 1: 2, 2: 0}
    assert "the higher score counts, no-image-guess 1" in measured.notes[0]
