"""Accuracy by series, tag and group, against the same figures computed by other means."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint

from eyetest.measures import NotMeasurable, Results
from eyetest.measures.printed import caveats
from eyetest.measures.results import REPLY_TYPES
from eyetest.measures.stats.chance import guessing
from eyetest.measures.stats.intervals import mean
from tests.measures.tables import asked, grid, measure, results


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.sampled_from([0.9, 0.95]))
def test_wilson_is_that_of_statsmodels(counts: tuple[int, int], level: float) -> None:
    hits, n = counts
    low, high = proportion_confint(hits, n, 1 - level, "wilson")
    found = mean([1.0] * hits + [0.0] * (n - hits), level=level)
    assert found[1:3] == pytest.approx((low, high), abs=1e-12)


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


def test_bounds_stay_within_0_and_1_and_one_cluster_says_nothing() -> None:
    assert mean([1.0] * 10)[1:3] == pytest.approx((0.7224672, 1.0), abs=1e-6)
    assert mean([1.0, 1.0], ["a", "a"]) == (1.0, 0.0, 1.0, 2)
    assert mean([0.5, 0.6], ["a", "a"])[1:3] == (None, None)
    assert mean([]) == (None, None, None, 0)


def test_one_row_a_series_and_failed_calls_are_counted_not_scored() -> None:
    found = measure("accuracy", grid({"a": [1, 0, 1, None], "b": [0, 0, 0, 0]})).table.to_dicts()
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


def test_missing_counts_what_the_benchmark_has_whichever_model_was_asked() -> None:
    """A model that was asked 3 of 8 items misses 5, by tag as in all; whose answers they are does not matter."""
    known = [{"item": str(i), "tag.core": "pq"[i % 2] if i < 6 else None} for i in range(8)]
    found = grid({"some": [1.0] * 3, "all": [*[0.0] * 7, None]}, known)
    whole = measure("accuracy", found).table
    assert set(whole.select("model", "n", "missing").rows()) == {("some", 3, 5), ("all", 7, 1)}
    by_tag = measure("accuracy", found, by=("core",)).table.select("model", "tag.core", "n", "missing").rows()
    some, every = {("some", "p", 2, 1), ("some", "q", 1, 2)}, {("all", "p", 3, 0), ("all", "q", 3, 0)}
    assert set(by_tag) == some | every | {("all", None, 1, 1)}


def test_random_is_the_mean_of_one_over_n_and_frequent_the_best_letter() -> None:
    assert guessing([2, 4, 4], [0, 1, 1]) == pytest.approx((1 / 3, 2 / 3, 1))
    assert guessing([4, 4], [2, 0]) == (0.25, 0.5, 0)


def test_by_tag_and_without_text_items() -> None:
    golds = [("y", 2, 1), ("x", 4, 0), ("x", 4, 0), ("y", None, None)]
    items = [{"item": str(i), "tag.core": t, "options": o, "position": p} for i, (t, o, p) in enumerate(golds)]
    found = measure("guessing", grid({"a": [1] * 4}, items), by=("core",))
    columns = ("benchmark", "tag.core", "random", "frequent", "letter", "items")
    assert "left out: 1 item without options or a known gold" in found.notes[0]
    assert found.table.select(columns).rows() == [("bench", "x", 0.25, 1.0, "A", 2), ("bench", "y", 0.5, 1.0, "B", 1)]
    with pytest.raises(NotMeasurable, match="--bench"):
        measure("guessing", grid({"a": [1]}))


def test_missing_rows_and_missing_scores_count_as_guesses() -> None:
    items = [{"item": str(i), "options": options} for i, options in enumerate((4, 4, 10, 2))]
    row = measure("guessing", grid({"human": [1, 0, None]}, items)).table.row(0, named=True)
    assert row["expected"] == pytest.approx((1 + 0 + 1 / 10 + 1 / 2) / 4)
    assert row["expected_low"] < row["expected"] < row["expected_high"]
    assert (row["accuracy"], row["guessed"], row["n"]) == (0.5, 2, 2)
    assert row["paper"] == (1 + 1) / 4, "two of four are guessed, so half of them are right (MMMU-Pro, Eq. 2)"
    assert row["paper_low"] <= row["paper"] <= row["paper_high"]
    assert "expected" not in measure("guessing", grid({"human": [1.0] * 4}, items)).table.columns
    many = [{"item": str(i), "options": 10} for i in range(20)]
    row = measure("guessing", grid({"human": [1.0] * 13 + [0.0] * 5 + [None] * 2}, many)).table.row(0, named=True)
    assert row["paper"] == pytest.approx(13 / 20), "2/20 of two guesses round to none: .650, and not .660"
    assert row["paper_low"] <= row["paper"] <= row["paper_high"]
    row = measure("guessing", grid({"human": [1.0] * 10 + [None] * 10}, many)).table.row(0, named=True)
    assert row["paper"] == pytest.approx(15 / 20)
    row = measure("guessing", grid({"human": [1.0] * 17 + [None] * 3}, many)).table.row(0, named=True)
    assert row["paper"] == pytest.approx(17 / 20), "3/20 of three are .45"
    free = measure("guessing", grid({"human": [1]}, [items[0], {"item": "open"}])).table
    assert free.item(0, "expected") == 0.5, "an open question cannot be guessed"


UNREAD: tuple[dict[str, Any], ...] = (
    {"reading": "refused"},
    {"reading": "ambiguous"},
    {"reading": "unparsed"},
    {"reading": "cut off", "outcome": "truncated"},
    {"reading": None, "outcome": "blocked"},
    {"reading": None, "outcome": "failed", "score": None},
)
READ: tuple[dict[str, Any], ...] = (
    {"reading": "chosen"},
    {"reading": "text"},
    {"reading": "unparsed", "rule": "given", "metric": "given"},
    {"reading": None, "rule": "given", "metric": "given"},
)


def answers(*kinds: dict[str, Any], model: str = "m", modality: str = "image") -> list[dict[str, Any]]:
    return [row | kind for row, kind in zip(asked(model, [0.0] * len(kinds), modality), kinds, strict=True)]


@pytest.mark.parametrize(("kind", "share"), [*((kind, 0.5) for kind in UNREAD), *((kind, 0.0) for kind in READ)])
def test_every_kind_of_answer_is_read_or_unread(kind: dict[str, Any], share: float) -> None:
    """An imported score stands whatever our rules make of the words."""
    table = measure("accuracy", results(answers({"score": 1.0}, kind))).table
    assert table.item(0, "unread") == share
    assert table.columns[:5] == ["model", "accuracy", "accuracy_low", "accuracy_high", "unread"]


@pytest.mark.parametrize("name", ["accuracy", "guessing", "ranks", "circular", "overall"])
def test_the_share_is_that_of_the_row_in_every_table_of_accuracies(name: str) -> None:
    items = [{"item": str(i), "options": 4, "group": f"g{i // 2}", "tag.task": f"t{i % 2}"} for i in range(4)]
    rows = []
    for model, unread in (("a", 1), ("b", 3)):
        kinds = [{"reading": "unparsed"}] * unread + [{"score": 1.0}] * (4 - unread)
        rows += answers(*kinds, model=model)
    table = measure(name, results(rows, items), resamples=100).table
    assert dict(table.select("model", "unread").iter_rows()) == {"a": 0.25, "b": 0.75}


def test_above_five_per_cent_a_note_names_the_model_and_the_share() -> None:
    """Of 2,318 replies 2,306 could not be read: an accuracy of 0 says nothing about the model."""
    broken = answers(*[{"reading": "unparsed"}] * 2_306, *[{}] * 12, model="broken")
    fine = answers(*[{"reading": "refused"}] * 5, *[{"score": 1.0}] * 95, model="fine")
    (note,) = caveats(results(broken + fine))
    assert note.endswith("broken 99.5 % (2,306 of 2,318, mostly unparsed)")
    assert "fine" not in note
    assert caveats(results(fine)) == ()
    failed = answers(*[{"reading": None, "outcome": "failed"}] * 7, {}, model="fine", modality="no-image")
    (note,) = caveats(results(fine + failed))
    assert "fine, no-image 87.5 % (7 of 8, mostly failed)" in note


SAID = {"tp": (True, "yes"), "fp": (False, "yes"), "tn": (False, "no"), "fn": (True, "no"), "?": (True, None)}


def answered(counts: dict[str, int], model: str = "m") -> Results:
    """Results with so many true and false yeses and noes, and yeses that were missed by saying neither."""
    rows, items, replies = [], [], []
    for kind, count in counts.items():
        gold, says = SAID[kind]
        for number in range(count):
            name = f"{kind}{number}"
            right = says is not None and (says == "yes") == gold
            rows.append({"item": name, "model": model, "score": float(right), "request": name, "reading": "text"})
            items.append({"item": name, "cluster": name, "yes": gold})
            replies.append({"benchmark": "bench", "request": name, "text": says or "a dog", "says": says})
    return replace(results(rows, items), replies=pl.LazyFrame(replies, schema=REPLY_TYPES))


def test_the_four_numbers_by_hand() -> None:
    """30 + 10 yeses said, 30 + 15 + 5 true: precision 3/4, recall 3/5, F1 2/3, share of yes 40 of 100."""
    (found,) = measure("yes-no", answered({"tp": 30, "fp": 10, "tn": 40, "fn": 15, "?": 5})).table.to_dicts()
    assert found["accuracy"] == pytest.approx(0.70)
    assert found["precision"] == pytest.approx(0.75)
    assert found["recall"] == pytest.approx(0.60)
    assert found["f1"] == pytest.approx(2 / 3)
    assert found["yes_rate"] == pytest.approx(0.40)
    assert (found["gold_yes"], found["unread"], found["n"]) == (0.5, 0.05, 100)
    assert all(found[f"{name}_low"] < found[name] < found[f"{name}_high"] for name in ("precision", "recall", "f1"))
