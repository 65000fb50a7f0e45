import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep

from eyetest.measures import MEASURES, Results, Settings
from eyetest.measures.linked import ranks, unpaired
from eyetest.measures.stats.intervals import NOTHING, mean
from eyetest.measures.stats.paired import paired
from tests.measures.tables import both, results

MEASURE = MEASURES["linked"]
TO_COT = Settings(own={"from": "ask=direct", "to": "ask=cot"})


def test_paired_differences_and_ranks() -> None:
    of = both({"a": [1, 1, 1, 0], "b": [0, 1, 0, 0]}, {"a": [1, 0, 0, 0], "b": [1, 1, 1, 0]})
    table = MEASURE.measure(of, TO_COT).table
    assert table.select("model", "from_score", "to_score", "difference").rows() == [
        ("a", 0.75, 0.25, -0.5),
        ("b", 0.25, 0.75, 0.5),
    ]
    assert table.select("from_rank", "to_rank", "risen").rows() == [(1, 2, -1), (2, 1, 1)]
    assert table.select("from_n", "to_n", "paired").rows() == [(4, 4, True)] * 2
    alone = paired([1, 0, 0, 0], [1, 1, 1, 0])
    assert table.select("difference_low", "difference_high", "p").row(0) == (alone.low, alone.high, alone.p)


def test_only_shared_items_count() -> None:
    table = MEASURE.measure(both({"a": [1, 1, None]}, {"a": [0, None, 1]}), TO_COT).table
    assert table.select("from_score", "to_score", "from_n", "to_n").row(0) == (1, 0, 1, 1)


def test_other_items_are_not_paired() -> None:
    rows = [
        *({"item": f"p{i}", "benchmark": "p", "score": float(i < 30)} for i in range(50)),
        *({"item": f"q{i}", "benchmark": "q", "score": float(i < 30)} for i in range(80)),
    ]
    measured = MEASURE.measure(results(rows), Settings(own={"from": "benchmark=p", "to": "benchmark=q"}))
    found = measured.table.row(0, named=True)
    assert (found["paired"], found["from_n"], found["to_n"], found["p"]) == (False, 50, 80, None)
    assert found["difference"] == pytest.approx(30 / 80 - 30 / 50)
    theirs = confint_proportions_2indep(30, 80, 30, 50, compare="diff", method="newcomb")
    assert (found["difference_low"], found["difference_high"]) == pytest.approx(theirs)
    assert "not paired" in measured.notes[0]


def test_by_tag_ranks_are_within_a_tag() -> None:
    items = [{"item": str(i), "tag.kind": "xy"[i % 2]} for i in range(4)]
    of = both({"a": [1, 0, 1, 0], "b": [0, 1, 0, 1]}, {"a": [1, 1, 1, 1], "b": [0, 0, 0, 0]})
    table = MEASURE.measure(
        Results(of.scores, results([], items).items), Settings(by=("kind",), own=TO_COT.own)
    ).table
    assert table.select("model", "tag.kind", "difference", "risen").rows() == [
        ("a", "x", 0, 0),
        ("a", "y", 1, 1),
        ("b", "x", 0, 0),
        ("b", "y", -1, -1),
    ]


def test_models_on_one_side_only_are_out() -> None:
    table = MEASURE.measure(both({"a": [1], "b": [1]}, {"a": [0], "c": [1]}), TO_COT).table
    assert table.get_column("model").to_list() == ["a"]


def test_shifts_have_intervals_among_models_with_both_sides() -> None:
    shares = {"old": {"a": 0.9, "b": 0.5, "c": 0.2, "gone": 1.0}, "new": {"a": 0.1, "b": 0.5, "c": 0.2, "late": 1.0}}
    answers = results(
        {"benchmark": bench, "model": model, "item": f"{bench}{i}", "score": int(i < 20 * share)}
        for bench, of_model in shares.items()
        for model, share in of_model.items()
        for i in range(20)
    )
    table = MEASURE.measure(answers, Settings(own={"from": "benchmark=old", "to": "benchmark=new"})).table
    assert table.select("model", "risen").rows() == [("a", -2), ("b", 1), ("c", 1)]
    assert table["risen_high"][0] < 0
    assert all(low <= risen <= high for low, risen, high in table.select("risen_low", "risen", "risen_high").rows())


def test_unpaired_means() -> None:
    before, after = mean([0.2, 0.4, 0.9]), mean([0.5, 0.6])
    found = unpaired(before, after)
    assert found.value == pytest.approx(0.05)
    assert found.low is not None
    assert found.low < 0.05
    alone = unpaired(mean([0.2, 0.3], ["c", "c"]), after)
    assert alone.value == pytest.approx(0.3)
    assert alone[1:] == (None, None, 4)
    assert unpaired(NOTHING, after) == NOTHING


def test_unpaired_intervals_hold() -> None:
    draw = np.random.default_rng(4)
    held = 0
    for _ in range(300):
        found = unpaired(mean(draw.random(40) < 0.6), mean(draw.random(60) < 0.8))
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.2 <= found.high
    assert 0.91 < held / 300 < 0.99


def test_equals_stand_as_they_do_in_the_other_setting() -> None:
    assert ranks([3, 2, 1], [5, 4, 5]) == ([1, 2, 3], [1, 3, 2])
    assert ranks([2, 2, 1], [1, 3, 2]) == ([2, 1, 3], [3, 1, 2])
    assert ranks([1, 1], [1, 1]) == ([1, 2], [1, 2])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12))
def test_ranks_are_a_permutation_that_respects_scores(scores: list[tuple[int, int]]) -> None:
    before, after = [a for a, _ in scores], [b for _, b in scores]
    for found, by in zip(ranks(before, after), (before, after), strict=True):
        assert sorted(found) == list(range(1, len(scores) + 1))
        assert [by[i] for i in sorted(range(len(by)), key=found.__getitem__)] == sorted(by, reverse=True)
    same, again = ranks(before, before)
    assert same == again


def test_all_models_and_tag_values_of_a_protocol_are_adjusted_together() -> None:
    """Of 60 rows, some have p below .05 alone; Holm's rule is over all of them, not over each tag value's models."""
    rng = np.random.default_rng(0)
    rows, items = [], [{"item": f"{kind}.{i}", "tag.kind": f"k{kind:02}"} for kind in range(30) for i in range(20)]
    for model in ("a", "b"):
        for item in items:
            scores = {"direct": rng.random() < 0.5, "cot": rng.random() < 0.62}
            rows += [{"item": item["item"], "model": model, "ask": ask, "score": s} for ask, s in scores.items()]
    table = MEASURE.measure(results(rows, items), Settings(by=("kind",), own=TO_COT.own, resamples=50)).table
    known = table.select("p", "p_adjusted").drop_nulls().sort("p")
    steps = len(known) - np.arange(len(known))
    expected = np.minimum(np.maximum.accumulate(known["p"].to_numpy() * steps), 1)
    assert known["p_adjusted"].to_numpy() == pytest.approx(expected)
    assert (known["p"] < 0.05).sum() > (known["p_adjusted"] < 0.05).sum()
