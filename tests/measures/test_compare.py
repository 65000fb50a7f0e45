import numpy as np
import polars as pl
import pytest

from eyetest.errors import InputError
from eyetest.measures import MEASURES, NotMeasurable, Results, Settings
from eyetest.measures.results import ITEM_TYPES
from eyetest.measures.stats.paired import holm, paired, smallest_difference, smallest_shift
from tests.measures.tables import grid, mcnemar, results

THREE: dict[str, list[float | None]] = {
    "a": [1, 1, 1, 1, 1, 1, 0, 1, 1, 1],
    "b": [0, 0, 0, 1, 1, 0, 0, 1, 0, 0],
    "c": [1, 0, 1, 1, 0, 1, 0, None, 1, 1],
}


def differences(given: Results, by: tuple[str, ...] = (), **own: object) -> pl.DataFrame:
    return MEASURES["differences"].measure(given, Settings(by=by, own=own)).table


def test_it_is_registered() -> None:
    assert MEASURES["differences"].summary


def test_every_pair_of_models_has_a_row() -> None:
    table = differences(grid(THREE))
    assert table.select("a", "b").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    first = table.row(0, named=True)
    assert (first["a_mean"], first["b_mean"], first["difference"]) == pytest.approx((0.9, 0.3, 0.6))
    assert (first["only_a"], first["only_b"], first["n"], first["clusters"]) == (6, 0, 10, 10)
    assert first["p"] == mcnemar(6, 0)
    assert first["test"] == "mcnemar"
    assert first["difference_low"] < 0.6 < first["difference_high"]
    assert table.get_column("p_adjusted").to_list() == holm(table.get_column("p").to_list())
    assert table.get_column("detectable").to_list()[0] == smallest_difference(10, 0.6)


def test_a_failed_call_takes_its_item_out_of_its_pairs_only() -> None:
    table = differences(grid(THREE))
    assert table.get_column("n").to_list() == [10, 9, 9]
    assert table.row(1, named=True)["a_mean"] == pytest.approx(8 / 9)


def test_tests_of_an_item_are_averaged_and_fractions_compared_by_t() -> None:
    scores = {"a": [(1, 1), (1, 0), (1, 1), (0, 0)], "b": [(0, 1), (1, 0), (0, 0), (0, 1)]}
    rows = [
        {"model": model, "item": str(i), "order": order, "score": score}
        for model in scores
        for i, pair in enumerate(scores[model])
        for order, score in enumerate(pair)
    ]
    found = differences(results(rows)).row(0, named=True)
    expected = paired([1, 0.5, 1, 0], [0.5, 0.5, 0, 0.5])
    assert (found["difference"], found["p"]) == pytest.approx((expected.difference, expected.p))
    assert (found["test"], found["only_a"], found["n"]) == ("paired t", None, 4)
    assert expected.error is not None
    assert found["detectable"] == smallest_shift(expected.error, 4)


def test_what_one_pair_could_see_and_one_of_many() -> None:
    rng = np.random.default_rng(0)
    given = grid({model: [float(s) for s in rng.random(200) < 0.5] for model in "abc"})
    one, many = differences(given, models="a,b").row(0, named=True), differences(given).row(0, named=True)
    assert one["detectable"] == one["detectable_adjusted"] == many["detectable"]
    assert many["detectable_adjusted"] == smallest_difference(
        200, (many["only_a"] + many["only_b"]) / 200, 0.8, 1 - 0.05 / 3
    )
    assert many["detectable_adjusted"] > many["detectable"]


def test_clusters_of_items_are_respected() -> None:
    items = [{"item": str(i), "cluster": f"image {i // 5}"} for i in range(10)]
    found = differences(grid(THREE, items), models="a,b").row(0, named=True)
    assert found["clusters"] == 2
    assert found["p"] == 0.5


def test_scores_under_different_protocols_are_not_compared() -> None:
    rows = [
        {"model": model, "item": str(i), "score": 1, "ask": ask}
        for model, ask in (("a", "cot"), ("b", "direct"))
        for i in range(3)
    ]
    with pytest.raises(NotMeasurable, match="no two models"):
        differences(results(rows))


def test_each_protocol_and_benchmark_is_a_family_of_its_own() -> None:
    rows = [
        {"model": model, "item": str(i), "score": float(i % count == 0), "modality": modality, "benchmark": bench}
        for model, count in (("a", 2), ("b", 3), ("c", 5))
        for modality in ("image", "no-image")
        for bench in ("one", "two")
        for i in range(30)
    ]
    table = differences(results(rows))
    assert table.columns[:4] == ["benchmark", "modality", "a", "b"]
    assert len(table) == 4 * 3
    for _, family in table.group_by("benchmark", "modality"):
        assert family.get_column("p_adjusted").to_list() == holm(family.get_column("p").to_list())


def test_a_tag_splits_the_table() -> None:
    items = [{"item": str(i), "tag.task": "easy" if i < 4 else "hard"} for i in range(10)]
    table = differences(grid(THREE, items), by=("task",), models="a,b")
    assert table.select("tag.task", "n").rows() == [("easy", 4), ("hard", 6)]


def test_chosen_models_and_a_reference() -> None:
    assert differences(grid(THREE), models="c, a").select("a", "b").rows() == [("c", "a")]
    assert differences(grid(THREE), against="b").select("a", "b").rows() == [("a", "b"), ("c", "b")]
    assert differences(grid(THREE), models="a", against="b").select("a", "b").rows() == [("a", "b")]
    with pytest.raises(InputError, match="no scores of model 'aa'"):
        differences(grid(THREE), models="aa,b")
    for too_few in ("a", "a,a", ["a"]):
        with pytest.raises(InputError, match="at least two names"):
            differences(grid(THREE), models=too_few)
    with pytest.raises(InputError, match="between 0 and 1"):
        differences(grid(THREE), power=80)


def test_models_without_common_items_have_no_row() -> None:
    with pytest.raises(NotMeasurable):
        differences(grid({"a": [1, None], "b": [None, 1]}))


def test_models_that_never_differ() -> None:
    found = differences(grid({"a": [1, 0, 1], "b": [1, 0, 1]})).row(0, named=True)
    assert (found["difference"], found["p"], found["p_adjusted"], found["detectable"]) == (0, 1, 1, None)
    assert found["difference_low"] < 0 < found["difference_high"]


def test_sixty_models() -> None:
    rng = np.random.default_rng(0)
    models, items = 60, 3_000
    right = (rng.normal(size=(items, 1)) + rng.normal(size=(items, models)) < rng.normal(size=models)).astype(float)
    usual = results([{"model": "m", "item": "i", "score": 1}]).scores.collect().drop("item", "model", "score")
    scores = pl.DataFrame(
        {
            "item": np.repeat([f"{i}" for i in range(items)], models),
            "model": [f"m{j:02}" for j in range(models)] * items,
            "score": right.ravel(),
        }
    ).join(usual, how="cross")
    clusters = [{"benchmark": "bench", "item": f"{i}", "cluster": f"{i // 2}"} for i in range(items)]
    given = Results(scores.lazy(), pl.DataFrame(clusters, schema=ITEM_TYPES))
    table = differences(given)
    assert len(table) == 1_770
    expected = paired(right[:, 3], right[:, 7], np.arange(items) // 2)
    found = table.filter(a="m03", b="m07").row(0, named=True)
    assert (found["difference"], found["difference_low"], found["p"]) == pytest.approx(
        (expected.difference, expected.low, expected.p)
    )
