"""Groups of models: means over their models, paired differences between groups, models within each group."""

from math import log, sqrt
from statistics import mean, stdev
from typing import Any

import pytest
from scipy import stats

from eyetest.errors import InputError
from eyetest.measures import NotMeasurable, Results
from eyetest.measures.results import filters_of, narrowed
from eyetest.models.specs import named_models
from eyetest.records import ModelEntry
from eyetest.redaction import learn
from tests.measures.tables import asked, measure, results

MODELS = {
    "a": ModelEntry(spec="x", size_b=7, open=True, tuning="LoRA", facts={"year": 2023, "licence": "mit"}),
    "b": ModelEntry(spec="x", size_b=6.7, open=True, facts={"year": 2024}),
    "c": ModelEntry(spec="x", size_b=13, open=False),
    "d": ModelEntry(spec="x"),
}
SCORES = {
    "a": [1, 1, 0, 0, 1, 1, 0, 1], "b": [1, 0, 0, 0, 1, 0, 0, 0], "c": [1, 1, 1, 0, 1, 1, 1, 1], "d": [0] * 8,
}  # fmt: skip


def answers() -> Results:
    """``b`` was asked twice about the first item, right once: models count alike, however often they were asked."""
    rows = [row for model, scores in SCORES.items() for row in asked(model, scores)]
    rows.append({"model": "b", "item": "0", "score": 0.0, "sample": 1})
    items = [{"item": str(i), "tag.task": "xy"[i // 4], "options": 4, "position": 0} for i in range(8)]
    return results(rows, items, MODELS)


def measured(name: str, *by: str, **own: Any) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    found = measure(name, answers(), by, 50, **own)
    return found.table.to_dicts(), found.notes


def by_hand() -> tuple[list[float], list[float]]:
    """By item: the mean of a and b, and c."""
    b = [0.5, *SCORES["b"][1:]]
    return [(x + y) / 2 for x, y in zip(SCORES["a"], b, strict=True)], [float(x) for x in SCORES["c"]]


def test_a_group_scores_the_mean_of_its_models_item_by_item() -> None:
    rows, notes = measured("accuracy", "model.size_b")
    small, large = by_hand()
    assert [(row["model.size_b"], row["n"], row["missing"]) for row in rows] == [("13B", 8, 0), ("7B", 8, 0)]
    assert [row["accuracy"] for row in rows] == pytest.approx([mean(large), mean(small)])
    assert rows[1]["accuracy_low"] < mean(small) < rows[1]["accuracy_high"]
    assert notes[:2] == (
        "1 model without model.size_b left out: d",
        "means over the models of model.size_b (13B: 1, 7B: 2); intervals are for these models",
    )
    both, _ = measured("accuracy", "model.size_b", "task")
    tagged = {(row["model.size_b"], row["tag.task"]): row["accuracy"] for row in both}
    assert tagged["7B", "x"] == pytest.approx(mean(small[:4]))
    several, _ = measured("accuracy", "model.open", "model.tuning")
    assert [row["model.open · model.tuning"] for row in several] == ["yes · LoRA"]


def test_groups_differ_by_a_paired_interval() -> None:
    """Student's t over the differences of items, each the mean of a group less that of another."""
    (row,), _ = measured("differences", "model.size_b")
    small, large = by_hand()
    gaps = [x - y for x, y in zip(large, small, strict=True)]
    reach = stats.t.ppf(0.975, 7) * stdev(gaps) / sqrt(8)
    assert (row["a"], row["b"], row["n"]) == ("13B", "7B", 8)
    assert row["difference"] == pytest.approx(mean(gaps))
    assert row["p"] == pytest.approx(stats.ttest_1samp(gaps, 0).pvalue)
    assert (row["difference_low"], row["difference_high"]) == pytest.approx((mean(gaps) - reach, mean(gaps) + reach))


def test_entropies_are_of_each_model_before_they_are_averaged() -> None:
    """One model always says A, the other A and B: pooled, their choices would be less even than they are."""
    said = {"a": "AAAA", "b": "AABB", "c": "ABAB"}
    rows = [
        {"model": m, "item": "1", "order": i, "choice": c, "score": float(c == "A")}
        for m, cs in said.items()
        for i, c in enumerate(cs)
    ]
    found = results(rows, [{"item": "1", "options": 4, "position": 0}], MODELS)
    table = measure("instability", found, by=("model.open",)).table.filter(source="all")
    assert dict(table.select("model.open", "entropy").iter_rows()) == pytest.approx({"no": log(2), "yes": log(2) / 2})
    assert table["tests"].to_list() == [4, 4]


def test_only_some_groups_count_and_unknown_ones_are_refused() -> None:
    kept = narrowed(answers(), filters_of(answers(), ["model.open=yes"]))
    assert sorted(kept.scores.collect()["model"].unique()) == ["a", "b"]
    assert [row["model.year"] for row in measured("accuracy", "model.year")[0]] == ["2023", "2024"]
    for condition, message in (
        ("model.open=maybe", "no model.open .maybe.; known: no, yes"),
        ("model.opne=yes", 'did you mean "model.open"'),
    ):
        with pytest.raises(InputError, match=message):
            narrowed(answers(), filters_of(answers(), [condition]))
    with pytest.raises(InputError, match=r"property .encoder.; name models\.yaml with"):
        measured("accuracy", "model.encoder")
    with pytest.raises(NotMeasurable, match="only one model"):
        measured("spread", "model.tuning")


def test_own_properties_stand_under_facts() -> None:
    own = {"m": {"spec": "scripted:right=1", "facts": {"licence": "mit", "year": 2024, "moe": True}, "open": True}}
    entry = named_models(own, "models")["m"]
    assert [entry.fact(name) for name in ("licence", "year", "moe", "open", "size_b")] == [
        *("mit", "2024", "yes", "yes", None)
    ]
    secret = "sk-" + "a1B2" * 12
    learn(secret)
    hidden = ModelEntry(spec="x", facts={"note": secret, "year": 2024}).written_down().facts
    assert secret not in str(hidden)
    assert hidden["year"] == 2024
    with pytest.raises(InputError, match="licence"):
        named_models({"m": {"spec": "scripted:right=1", "licence": "mit"}}, "models")
