"""Accuracy by series, tag and group, against the same figures computed by other means."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.proportion import proportion_confint

from eyetest.errors import InputError
from eyetest.measures import MEASURES, NotMeasurable, Results, Settings
from eyetest.measures.stats.intervals import mean
from tests.measures.tables import grid, results

SETTINGS = Settings()


def rows(found: Results, settings: Settings = SETTINGS, name: str = "accuracy") -> list[dict[str, object]]:
    return MEASURES[name].measure(found, settings).table.to_dicts()


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.9, 0.95]))
def test_wilson_is_that_of_statsmodels(counts: tuple[int, int], level: float) -> None:
    hits, n = counts
    low, high = proportion_confint(hits, n, 1 - level, "wilson")
    found = mean([1.0] * hits + [0.0] * (n - hits), level=level)
    assert found[1:3] == pytest.approx((low, high), abs=1e-12)


def test_the_interval_over_clusters_of_one_size_is_the_sandwich() -> None:
    rng = np.random.default_rng(3)
    clusters = rng.permutation(np.repeat(np.arange(30), 7))
    scores = rng.random(210) + rng.random(30)[clusters]
    fit = OLS(scores, np.ones(210)).fit(cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True)
    assert mean(scores, clusters)[:3] == pytest.approx((scores.mean(), *fit.conf_int()[0]))


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_over_uneven_clusters_leaves_out_one_after_the_other(seed: int) -> None:
    """The degrees of freedom are those of a mixture of squares whose weights are the variance's eigenvalues."""
    rng = np.random.default_rng(seed)
    clusters = rng.choice(12, 90, p=rng.dirichlet(np.ones(12)))
    scores, names = rng.random(90) + rng.random(12)[clusters], np.unique(clusters)
    without = np.array([scores[clusters != name].mean() for name in names])
    variance = (len(names) - 1) / len(names) * np.square(without - scores.mean()).sum()
    moved = np.array([(clusters != name) / (clusters != name).sum() - 1 / 90 for name in names])
    weights = np.linalg.eigvalsh(moved @ moved.T)
    half = student.ppf(0.975, weights.sum() ** 2 / np.square(weights).sum()) * math.sqrt(variance)
    assert mean(scores, clusters)[1:3] == pytest.approx((scores.mean() - half, scores.mean() + half))


def test_clusters_widen_the_interval_of_answers_that_go_together() -> None:
    scores = np.repeat([1.0, 0.0, 1.0, 1.0, 0.0, 1.0], 20)
    alone, together = mean(scores), mean(scores, np.repeat(range(6), 20))
    assert alone.low is not None
    assert together.low is not None
    assert together.low < alone.low
    assert together.value == alone.value


def test_bounds_stay_within_0_and_1_and_one_cluster_says_nothing() -> None:
    assert mean([1.0] * 10)[1:3] == pytest.approx((0.7224672, 1.0), abs=1e-6)
    assert mean([1.0, 1.0], ["a", "a"]) == (1.0, 0.0, 1.0, 2)
    assert mean([0.5, 0.6], ["a", "a"])[1:3] == (None, None)
    assert mean([]) == (None, None, None, 0)


def test_one_row_a_series_and_failed_calls_are_counted_not_scored() -> None:
    found = rows(grid({"a": [1, 0, 1, None], "b": [0, 0, 0, 0]}))
    assert [row["model"] for row in found] == ["a", "b"]
    assert found[0] == {
        "model": "a",
        "accuracy": pytest.approx(2 / 3),
        "accuracy_low": pytest.approx(0.2076596),
        "accuracy_high": pytest.approx(0.9385081),
        "unread": 0.0,
        "n": 3,
        "clusters": 3,
        "unscored": 1,
        "missing": 1,
    }


def test_missing_counts_what_the_benchmark_has_whoever_was_asked() -> None:
    """A model that was asked 3 of 8 items misses 5, by tag as in all; whose answers they are does not matter."""
    known = [{"item": str(i), "tag.core": "pq"[i % 2] if i < 6 else None} for i in range(8)]
    asked = [{"item": str(i), "model": "some", "score": 1.0} for i in range(3)]
    asked += [{"item": str(i), "model": "all", "score": None if i == 7 else 0.0} for i in range(8)]
    whole = {row["model"]: (row["n"], row["missing"]) for row in rows(results(asked, known))}
    assert whole == {"some": (3, 5), "all": (7, 1)}
    by_tag = {
        (row["model"], row["tag.core"]): (row["n"], row["missing"])
        for row in rows(results(asked, known), Settings(by=("core",)))
    }
    assert by_tag == {
        ("some", "p"): (2, 1),
        ("some", "q"): (1, 2),
        ("all", "p"): (3, 0),
        ("all", "q"): (3, 0),
        ("all", None): (1, 1),
    }


def test_missing_is_of_each_benchmark_by_itself() -> None:
    known = [
        {"item": str(i), "benchmark": name} for name, n in (("x", 4), ("y", 9), ("nobody's", 50)) for i in range(n)
    ]
    asked = [{"item": "0", "benchmark": name, "score": 1.0} for name in "xy"]
    asked += [
        {"item": str(i), "benchmark": "only verdicts", "model": m, "score": 1.0}
        for m in "ab"
        for i in range(2 + (m == "b"))
    ]
    found = {(row["benchmark"], row["model"]): row["missing"] for row in rows(results(asked, known))}
    assert found == {("x", "m"): 3, ("y", "m"): 8, ("only verdicts", "a"): 1, ("only verdicts", "b"): 0}
    alone = rows(results([row for row in asked if row["benchmark"] == "y"], known))
    assert [row["missing"] for row in alone] == [8]


def test_a_group_of_which_an_item_was_never_asked_is_missing() -> None:
    known = [{"item": f"{pair}{side}", "group": pair} for pair in "vwxyz" for side in "12"]
    said = {"v1": 1, "v2": 1, "w1": 1, "x1": 0, "y1": 1, "y2": None}
    measured = MEASURES["circular"].measure(
        results([{"item": item, "score": score} for item, score in said.items()], known), Settings()
    )
    [row] = measured.table.to_dicts()
    assert (row["circular"], row["n"], row["undecided"]) == (0.5, 2, 2), "v is right, x is wrong; w and y are open"


def test_protocols_are_apart_and_tests_are_averaged_within_their_item() -> None:
    asked = [
        {"item": item, "modality": modality, "order": order, "score": float(item == "1" or modality == "image")}
        for item in "12"
        for modality in ("image", "no-image")
        for order in range(5)
    ]
    found = rows(results(asked))
    assert [(row["modality"], row["accuracy"], row["n"], row["clusters"], row["answers"]) for row in found] == [
        ("image", 1.0, 2, 2, 10),
        ("no-image", 0.5, 2, 2, 10),
    ]
    assert found[1]["accuracy_low"] == pytest.approx(0.0945312)  # two items, whatever the number of answers


def test_an_item_with_more_tests_weighs_no_more_than_another() -> None:
    asked = [{"item": "1", "sample": sample, "score": 1.0} for sample in range(9)]
    asked += [{"item": "2", "sample": 0, "score": 0.0}, {"item": "2", "sample": 1, "score": None}]
    found = rows(results(asked))
    names = ("accuracy", "n", "answers", "unscored", "missing")
    assert [tuple(row[name] for name in names) for row in found] == [(0.5, 2, 10, 1, 0)]


@pytest.mark.parametrize("tests", [3, 8])
def test_shares_of_right_answers_have_an_interval_within_0_and_1(tests: int) -> None:
    rng = np.random.default_rng(tests)
    scores = rng.random((40, tests)) < 0.97
    asked = [{"item": str(i), "sample": t, "score": float(scores[i, t])} for i in range(40) for t in range(tests)]
    row = rows(results(asked))[0]
    shares = scores.mean(axis=1)
    worth = row["accuracy"] * (1 - row["accuracy"]) / (shares.var(ddof=1) / 40)  # type: ignore[operator]
    z = student.ppf(0.975, 39)
    centre = (shares.mean() + z**2 / (2 * worth)) / (1 + z**2 / worth)
    half = z / (1 + z**2 / worth) * math.sqrt(shares.mean() * (1 - shares.mean()) / worth + z**2 / (4 * worth**2))
    assert row["accuracy"] == pytest.approx(shares.mean())
    assert (row["accuracy_low"], row["accuracy_high"]) == pytest.approx((centre - half, centre + half))
    assert row["accuracy_high"] < 1  # type: ignore[operator]


def test_what_may_not_be_read_out_of_the_table_is_said() -> None:
    def notes(found: Results) -> tuple[str, ...]:
        return MEASURES["accuracy"].measure(found, SETTINGS).notes

    clusters = [{"item": str(i), "cluster": str(i // 2)} for i in range(4)]
    assert notes(grid({"a": [1, 0, 1], "b": [1, 1, 0]})) == ()
    assert notes(grid({"a": [1, 0, 1], "b": [1, 1, None]})) == (
        "models rest on different items (n from 2 to 3): see differences, which pairs",
    )
    assert notes(grid({"a": [1, 0, 1, 1]}, clusters)) == (
        "1 row of fewer than 20 clusters: intervals may be too narrow",
    )


def test_by_tag_and_by_an_unknown_tag() -> None:
    items = [{"item": str(i), "tag.core": "xy"[i % 2], "cluster": str(i // 2)} for i in range(4)]
    found = rows(grid({"a": [1, 0, 1, 1]}, items), Settings(by=("core",)))
    assert [(row["tag.core"], row["accuracy"], row["n"]) for row in found] == [("x", 1.0, 2), ("y", 0.5, 2)]
    with pytest.raises(InputError, match=r'no tag \'coer\'; did you mean "core"\?'):
        rows(grid({"a": [1]}, items), Settings(by=("coer",)))


def test_a_series_without_any_score_is_undefined() -> None:
    found = rows(grid({"a": [None, None]}))
    assert [found[0][name] for name in ("accuracy", "accuracy_low", "n", "missing")] == [None, None, 0, 2]


def test_a_group_is_right_as_a_whole() -> None:
    items = [{"item": str(i), "group": "pq"[i // 2], "cluster": "pq"[i // 2]} for i in range(4)]
    found = rows(grid({"a": [1, 1, 1, 0]}, [*items, {"item": "4"}]), name="circular")
    assert (found[0]["circular"], found[0]["n"]) == (0.5, 2)
    failed = rows(grid({"a": [1, None, None, 0]}, items), name="circular")
    assert [failed[0][name] for name in ("circular", "n", "undecided")] == [0.0, 1, 1]
    with pytest.raises(NotMeasurable, match="group"):
        rows(grid({"a": [1]}, [{"item": "0"}]), name="circular")
