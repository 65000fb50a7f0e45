import numpy as np
import polars as pl
import pytest

from eyetest.errors import InputError
from eyetest.measures import MEASURES, Measured, NotMeasurable, Settings
from eyetest.measures.hits import parse_bands
from eyetest.measures.stats.item_analysis import fit
from tests.measures.tables import grid, measure, results


def bands(found: Measured) -> dict[str, int]:
    return dict(found.table.select("band", "items").iter_rows())


def test_each_item_has_its_mean_score_and_its_item_rest_correlation() -> None:
    found = measure("items", grid({"a": [1, 1, 0], "b": [1, 1, 0], "c": [0, 0, None], "d": [1, 0, 1]}))
    assert found.table.columns == ["item", "accuracy", "item_rest", "slope", "intercept", "n"]
    assert found.table["accuracy"].to_list() == pytest.approx([0.75, 0.5, 1 / 3])
    assert found.table["n"].to_list() == [4, 4, 3]
    others = [[0.5, 0.5, 0, 0.5], [0.5, 0.5, 0, 1], [1, 1, 0.5]]
    for place, scores in enumerate(([1, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1])):
        assert found.table["item_rest"][place] == pytest.approx(np.corrcoef(scores, others[place])[0, 1])


def test_few_models_give_no_slope_and_it_is_said() -> None:
    found = measure("items", grid({"a": [1, 0], "b": [0, 1]}))
    assert found.table["slope"].to_list() == [None, None]
    assert found.table.schema["slope"] == pl.Float64
    assert found.notes == ("slope and intercept need at least 8 models",)


def test_from_eight_models_on_items_have_slopes_of_rounded_scores() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((8, 30))
    found = measure("items", grid({str(k): row.tolist() for k, row in enumerate(scores)}))
    table = found.table
    assert found.notes == ("for slope and intercept an item is right from a mean score of 0.5 on",)
    order = [int(item) for item in table["item"]]
    fitted = fit((scores.T[order] >= 0.5).astype(float))
    assert table["slope"].to_list() == pytest.approx(fitted.slopes.tolist())
    assert table["intercept"].to_list() == pytest.approx(fitted.intercepts.tolist())


def test_items_are_told_apart_by_protocol_and_benchmark() -> None:
    rows = [
        {"benchmark": bench, "modality": modality, "model": model, "item": "1", "score": float(modality == "image")}
        for bench in "xy"
        for modality in ("image", "no-image")
        for model in "ab"
    ]
    table = measure("items", results(rows)).table
    assert table.columns[:3] == ["benchmark", "modality", "item"]
    assert table.select("benchmark", "modality", "accuracy").rows() == [
        (bench, modality, float(modality == "image")) for bench in "xy" for modality in ("image", "no-image")
    ]


def test_items_without_any_score() -> None:
    with pytest.raises(NotMeasurable, match="no answer has a score"):
        measure("items", grid({"a": [None]}))


def _nine(*hits: int) -> dict[str, list[float | None]]:
    return {str(k): [float(k < hit) for hit in hits] for k in range(9)}


def test_bands_are_limes() -> None:
    found = measure("difficulty", grid(_nine(0, 2, 3, 5, 6, 9, 9)))
    assert found.table.columns == ["band", "items", "share"]
    assert bands(found) == {"easy": 3, "middle": 2, "hard": 2}
    assert found.table["share"].to_list() == pytest.approx([3 / 7, 2 / 7, 2 / 7])
    assert found.notes == ()


def test_tests_of_an_item_are_averaged_before_they_count_as_right() -> None:
    rows = [
        {"model": str(k), "item": item, "template": test, "score": score}
        for k in range(9)
        for item, scores in (("1", (1, 1)), ("2", (1, 0)), ("3", (0.2, 1.0)))
        for test, score in enumerate(scores)
    ]
    assert bands(measure("difficulty", results(rows))) == {"easy": 1, "middle": 0, "hard": 2}
    assert bands(measure("difficulty", results(rows), right=0.6)) == {"easy": 2, "middle": 0, "hard": 1}


def test_a_failed_call_leaves_a_band_open_only_where_it_could_change_it() -> None:
    scores = _nine(5, 4, 6, 0)
    scores["8"] = [None] * 4
    assert bands(measure("difficulty", grid(scores))) == {"easy": 1, "middle": 1, "hard": 1, "undecided": 1}


def test_bands_of_another_panel() -> None:
    scores = grid({"a": [1, 0, 0], "b": [1, 1, 0]})
    with pytest.raises(
        NotMeasurable, match=r"panel of 9, and 2 answered; .* --set bands=easy:2-2,middle:1-1,hard:0-0"
    ):
        measure("difficulty", scores)
    assert bands(measure("difficulty", scores, bands="all: 2, some: 1, none: 0")) == {"all": 1, "some": 1, "none": 1}


def test_protocols_with_another_panel_are_left_out_and_named() -> None:
    rows = [
        {"model": str(k), "item": "1", "modality": modality, "score": 1.0}
        for modality, size in (("image", 9), ("no-image", 4))
        for k in range(size)
    ]
    found = measure("difficulty", results(rows))
    assert found.table.select("modality", "band", "items").rows() == [
        ("image", "easy", 1),
        ("image", "middle", 0),
        ("image", "hard", 0),
    ]
    assert found.notes == ("left out: the bands are for a panel of 9, and 4 answered",)


@pytest.mark.parametrize(
    "words", ["", "easy", "easy:3-", "easy:2-3", "a:0-2,b:2-3", "a:0-1,a:2-3", "a:0,b:2", "a:1-0,b:0-1", "a:-1-3"]
)
def test_bands_that_do_not_give_every_number_one_band(words: str) -> None:
    with pytest.raises(InputError, match="bands"):
        parse_bands(words)


def test_bands_in_words() -> None:
    assert parse_bands("easy:12-16,moderate:8-11,hard:4-7,tough:0-3")["hard"] == (4, 7)


@pytest.mark.parametrize("panel", range(1, 13))
def test_the_bands_that_are_proposed_fit_the_panel(panel: int) -> None:
    with pytest.raises(NotMeasurable) as refused:
        measure("difficulty", grid({str(k): [1] for k in range(panel)}), bands="all:0-20")
    proposed = parse_bands(str(refused.value).rpartition("bands=")[2])
    assert max(high for _, high in proposed.values()) == panel


def test_bands_by_tag_and_items_without_rows_by_tag() -> None:
    items = [{"item": str(i), "tag.core": "qp"[i]} for i in range(2)]
    own = {"bands": "some:1,none:0", "right": 1.0}
    found = MEASURES["difficulty"].measure(grid({"a": [1, 0]}, items), Settings(by=("core",), own=own)).table
    assert found.filter(pl.col("items") > 0).select("tag.core", "band").rows() == [("p", "none"), ("q", "some")]
    with pytest.raises(NotMeasurable, match="items: it has no rows by tag"):
        MEASURES["items"].measure(grid({"a": [1, 0]}, items), Settings(by=("core",), own={"right": 0.5}))
