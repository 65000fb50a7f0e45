import itertools

import numpy as np
import polars as pl
import pytest
from eyetest_world import Truth, grade, rankings
from eyetest_world.grading import auroc, taus
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau
from sklearn.metrics import roc_auc_score

from eyetest.errors import InputError
from eyetest.records import Verdict, VerdictKind


def truth(item: str, *flaws: str, twin: str = "") -> Truth:
    return Truth(item=item, flaws=flaws, kind="k", axis="a", options=4, gold="A", gold_before="A", twin=twin)


def said(item: str, verdict: VerdictKind, stage: str = "chance-aware", reason: str = "") -> Verdict:
    return Verdict(item=item, stage=stage, verdict=verdict, reason=reason)


TRUTHS = [
    *(truth(f"fact{n}", "answerable-from-facts") for n in range(4)),
    *(truth(f"wrong{n}", "wrong-gold") for n in range(3)),
    *(truth(f"good{n}") for n in range(5)),
    truth("copy", "exact-duplicate", twin="good0"),
]


def test_a_stage_is_judged_by_what_it_looks_for() -> None:
    verdicts = [said(name, "drop") for name in ("fact0", "fact1", "fact2", "wrong0", "good1")]
    verdicts += [said("fact3", "keep"), said("wrong1", "review", "wrong-gold"), said("good2", "keep", "wrong-gold")]
    found = {one.flaw: one for one in grade(TRUTHS, verdicts).flaws}
    facts = found["answerable-from-facts"]
    assert (facts.planted, facts.found, facts.recall.value) == (4, 3, 0.75)
    assert (facts.flagged, facts.right, facts.precision.value) == (5, 3, 0.6)
    wrong = found["wrong-gold"]
    assert (wrong.found, wrong.flagged, wrong.right) == (2, 1, 1), "found by anybody, precision of those who look"
    overall = grade(TRUTHS, verdicts).overall
    assert (overall.planted, overall.found, overall.flagged, overall.right) == (8, 5, 6, 5)
    by_stage = {(one.stage, one.flaw): one for one in grade(TRUTHS, verdicts).stages}
    assert by_stage["wrong-gold", "wrong-gold"].reached == 1
    assert ("chance-aware", "wrong-gold") not in by_stage


scores_ = st.lists(st.integers(0, 6).map(float), min_size=2, max_size=30)


@given(scores_, scores_)
def test_auroc_is_that_of_scikit_learn(flawed: list[float], others: list[float]) -> None:
    found = auroc(flawed, others)
    wanted = roc_auc_score([1] * len(flawed) + [0] * len(others), flawed + others)
    assert found.value == pytest.approx(wanted)
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= wanted + 1e-12
    assert wanted - 1e-12 <= found.high <= 1
    assert found.low < found.high


def test_the_interval_of_auroc_holds() -> None:
    """Normal scores one standard deviation apart: the area is Φ(1/√2)."""
    rng = np.random.default_rng(0)
    truth_ = 0.7602
    hits = 0
    for _ in range(300):
        found = auroc(rng.normal(1, 1, 40).tolist(), rng.normal(0, 1, 80).tolist())
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= truth_ <= found.high
    assert 0.91 <= hits / 300 <= 0.985


def test_rankings_of_a_benchmark_that_leaked() -> None:
    """Twenty honest items rank five models as they are; eighty leaked ones turn the order round."""
    models = [f"m{n}" for n in range(5)]
    skill = {model: n / 10 for n, model in enumerate(models)}
    rows = [
        {"item": f"q{item}", "model": model, "score": float(item % 5 <= n if item < 20 else item % 5 >= n)}
        for item, (n, model) in itertools.product(range(100), enumerate(models))
    ]
    found = rankings(pl.DataFrame(rows), skill, [f"q{item}" for item in range(20)])
    assert (found.models, found.refined.value, found.corrupted.value) == (5, 1.0, -1.0)
    assert (found.random.value or 0) < 0
    assert found.above_random > 0.98
    assert (found.refined.low or -1) <= 1.0 == found.refined.high
    with pytest.raises(InputError, match="none of the refined"):
        rankings(pl.DataFrame(rows), skill, ["stranger"])
    with pytest.raises(InputError, match="expected 3 or more"):
        rankings(pl.DataFrame(rows), {"m0": 1.0, "m1": 0.5}, ["q1"])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=12))
def test_taus_are_those_of_scipy(triples: list[tuple[int, int, int]]) -> None:
    *scores, skill = np.array(triples, float).T
    wanted = [kendalltau(row, skill).statistic for row in scores]
    assert taus(np.array(scores), skill) == pytest.approx(np.nan_to_num(wanted))
