from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.api import OLS

from eyetest.measures import NotMeasurable, Results
from tests.measures.tables import entropy, measure, results

instability = partial(measure, "instability")


def asked(item: str, choices: str, axis: str = "sample", **more: Any) -> Iterator[dict[str, Any]]:
    """Answers of one item, a letter each, right where it is A; ``?`` was not read."""
    for number, choice in enumerate(choices):
        read = choice != "?"
        yield {
            "item": item,
            axis: number,
            "reading": "chosen" if read else "unparsed",
            "choice": choice if read else None,
            "score": float(choice == "A"),
            **more,
        }


def items(*names: str, options: int | None = 4, **more: Any) -> list[dict[str, Any]]:
    return [{"item": name, "options": options, **more} for name in names]


def row(of: Results) -> dict[str, Any]:
    return instability(of).table.row(by_predicate=pl.col("source") == "all", named=True)


def test_the_mean_over_items() -> None:
    found = row(results([*asked("1", "AAABC"), *asked("2", "BBBBB")], items("1", "2")))
    one = entropy([3, 1, 1], 4)
    assert found["entropy"] == pytest.approx(one.plain / 2)
    assert found["corrected"] == pytest.approx(one.corrected / 2)
    assert found["normalised"] == pytest.approx(one.normalised / 2)
    assert found["accuracy"] == pytest.approx(0.3)
    assert found["entropy_low"] < found["entropy"] < found["entropy_high"]
    assert (found["tests"], found["n"], found["unread"], found["unmeasured"]) == (5, 2, 0, 0)


def test_text_items_and_items_asked_once_are_out() -> None:
    open_ = {"item": "t", "metric": "open", "score": 0.0}
    texts = [open_ | {"sample": n, "reading": reading} for n, reading in enumerate(("text", "refused"))]
    given = [{"item": "g", "sample": n, "reading": "refused", "metric": "given", "score": 0.0} for n in range(2)]
    known = [*items("1", "2"), *items("t", "g", options=None)]
    found = row(results([*asked("1", "AB"), *asked("2", "A"), *texts, *given], known))
    assert (found["n"], found["unmeasured"], found["unread"]) == (1, 0, 0)


def test_sources_vary_alone() -> None:
    rows: list[dict[str, Any]] = [
        {"template": 0, "choice": "A"},
        {"template": 1, "choice": "A"},
        {"template": 2, "choice": "B"},
        {"order": 1, "choice": "C"},
        {"letters": "digit", "choice": "A"},
        {"letters": "lower", "choice": "A"},
        {"template": 1, "order": 1, "choice": "D"},
    ]
    of = results([{"item": "1", "score": 0.0, **test} for test in rows], items("1"))
    table = instability(of).table
    assert dict(table.select("source", "entropy").rows()) == {
        "all": pytest.approx(entropy([4, 1, 1, 1]).plain),
        "instruction": pytest.approx(entropy([2, 1]).plain),
        "order": pytest.approx(entropy([1, 1]).plain),
        "letters": 0,
    }
    assert dict(table.select("source", "tests").rows()) == {"all": 7, "instruction": 3, "order": 2, "letters": 3}


def test_notes() -> None:
    few = instability(results([*asked("1", "AB"), *asked("2", "A?")], items("1", "2"))).notes
    assert "2 tests an item" in few[0]
    assert few[1].startswith("1 item of")
    assert instability(results(asked("1", "ABABA"), items("1"))).notes == ()


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([*asked("1", "A")], "ask again"),
        ([*asked("1", "?????")], "no answer was read"),
        ([*asked("1", "A?")], "ask again"),
        ([*asked("1", "A", model="x"), *asked("1", "B", model="y", template=4)], "ask again"),
    ],
)
def test_not_measurable(rows: list[dict[str, Any]], why: str) -> None:
    with pytest.raises(NotMeasurable, match=f"instability: .*{why}"):
        instability(results(rows, items("1")))


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["x", "y", "z"]), st.sampled_from("123")),
        st.text("ABC?", min_size=2, max_size=6),
        min_size=1,
        max_size=9,
    )
)
def test_as_counted_one_by_one(answers: dict[tuple[str, str], str]) -> None:
    rows = [test for (model, item), letters in answers.items() for test in asked(item, letters, model=model)]
    expected: dict[str, list[float]] = {}
    for (model, _), letters in answers.items():
        counts = Counter(letters.replace("?", ""))
        if counts.total() > 1:
            expected.setdefault(model, []).append(entropy([*counts.values()]).plain)
    try:
        table = instability(results(rows, items("1", "2", "3"))).table
    except NotMeasurable:
        assert not expected
        return
    found = table.filter(pl.col("source") == "all", pl.col("n") > 0)
    assert (found["entropy_low"] >= 0).all()
    assert dict(found.select("model", "entropy").rows()) == {
        model: pytest.approx(sum(values) / len(values), abs=1e-12) for model, values in expected.items()
    }


ITEMS = [
    {"item": f"{dialogue}{turn}", "tag.dialogue": dialogue, "tag.turn": str(turn), "cluster": f"{dialogue}{turn}"}
    for dialogue in "abcd"
    for turn in (1, 2, 3)
]


def scores(history: str, values: Mapping[str, Sequence[float | None]], **axes: Any) -> list[dict[str, Any]]:
    """The scores of the turns of each dialogue."""
    return [
        {"item": f"{dialogue}{turn}", "history": history, "score": score, **axes}
        for dialogue, row in values.items()
        for turn, score in enumerate(row, 1)
    ]


GOLD: dict[str, list[float | None]] = {"a": [1, 1, 1], "b": [1, 1, 0], "c": [1, 0, 1], "d": [1, 1, 1]}
OWN: dict[str, list[float | None]] = {"a": [1, 0, 0], "b": [1, 1, 0], "c": [1, 0, 0], "d": [1, 1, None]}


def by_turn(found: Results) -> pl.DataFrame:
    return measure("accuracy", found, by=("turn",)).table


def test_accuracy_by_turn_has_the_slope_of_each_history() -> None:
    table = by_turn(results(scores("gold", GOLD) + scores("own", OWN), ITEMS))
    assert table.select("history", "tag.turn").rows() == [*product(("gold", "own"), "123")]
    assert table["accuracy"].to_list() == [1.0, 0.75, 0.75, 1.0, 0.5, 0.0]
    assert table["n"].to_list() == [4, 4, 4, 4, 4, 3]
    assert table["slope"][0] == pytest.approx(-0.125)
    assert (table["slope_low"] < table["slope"]).all()


def test_slopes_are_within_dialogues() -> None:
    """Dialogues that differ in level and in length have the slope that each of them has."""
    short: dict[str, list[float | None]] = {"a": [0.9, 0.8, 0.7], "b": [0.2, 0.1, None], "c": [0.5, None, None]}
    table = by_turn(results(scores("gold", short), ITEMS))
    assert table["n"].sum() == 6
    assert table["dialogues"].unique().to_list() == [2]
    assert table["slope"].to_list() == pytest.approx([-0.1] * 3)


def test_dialogues_are_clusters_unless_images_join_them() -> None:
    alone = by_turn(results(scores("gold", GOLD), ITEMS))
    joined = [item | {"cluster": "p" if item["tag.dialogue"] in "ab" else "q"} for item in ITEMS]
    together = by_turn(results(scores("gold", GOLD), joined))
    assert together["slope"][0] == pytest.approx(alone["slope"][0])
    assert together["slope_high"][0] > alone["slope_high"][0]
    one = [item | {"cluster": "p"} for item in ITEMS]
    assert by_turn(results(scores("gold", GOLD), one))["slope_low"][0] is None


@pytest.mark.science
@pytest.mark.parametrize(("dialogues", "turns"), [(15, 4), (40, 6)])
def test_the_interval_of_the_slope_covers(dialogues: int, turns: int) -> None:
    """Right and wrong answers in dialogues that differ in level and in slope; .93 to .96 in 400 simulations."""
    rng, held = np.random.default_rng(1), 0
    names = [(f"{dialogue}.{turn}", dialogue, turn) for dialogue in range(dialogues) for turn in range(turns)]
    known = [{"item": name, "tag.dialogue": str(one), "tag.turn": str(turn)} for name, one, turn in names]
    for _ in range(400):
        levels, slopes = 0.7 + rng.normal(0, 0.1, dialogues), -0.05 + rng.normal(0, 0.03, dialogues)
        chances = levels[:, None] + slopes[:, None] * (np.arange(turns) - (turns - 1) / 2)
        answers = (rng.random(chances.shape) < chances).ravel()
        answered = [{"item": name, "score": float(s)} for (name, *_), s in zip(names, answers, strict=True)]
        row = by_turn(results(answered, known)).row(0, named=True)
        held += row["slope_low"] <= -0.05 <= row["slope_high"]
    assert 0.92 <= held / 400 <= 0.985


def test_the_slope_is_that_of_statsmodels() -> None:
    """Least squares with a dummy for each dialogue; the interval is about as wide as the clustered one."""
    draw = np.random.default_rng(0)
    groups = np.repeat(np.arange(60), 6)
    x = np.tile(np.arange(1.0, 7.0), 60)
    y = draw.normal(size=60)[groups] - 0.05 * x + draw.normal(size=360) * draw.uniform(0.5, 1.5, 60)[groups]
    known = [
        {"item": f"{group}.{turn:g}", "tag.dialogue": str(group), "tag.turn": f"{turn:g}"}
        for group, turn in zip(groups, x, strict=True)
    ]
    found = by_turn(results([{"item": k["item"], "score": s} for k, s in zip(known, y, strict=True)], known))
    centred = [v - (np.bincount(groups, v) / 6)[groups] for v in (x, y)]
    fitted = OLS(centred[1], centred[0]).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    assert found["slope"][0] == pytest.approx(fitted.params[0])
    low, high = fitted.conf_int()[0]
    assert found["slope_high"][0] - found["slope_low"][0] == pytest.approx(high - low, rel=0.1)
    assert found["dialogues"][0] == 60


def drawn_choices(rng: np.random.Generator, series: int, items: int, options: int, level: str) -> np.ndarray:
    """Counts of choices in five tests: series × items × options, by numpy alone. Nine in ten items of a stable model
    are answered alike in .985 of the tests.
    """
    shares = rng.dirichlet(np.full(options, {"low": 0.3, "high": 3.0}[level]), (series, items))
    if level == "low":
        steady = rng.random((series, items)) < 0.9
        shares[steady] = np.eye(options)[0] * 0.985 + 0.015 / options
    return np.asarray(rng.multinomial(5, shares))


@pytest.mark.science
@pytest.mark.parametrize("level", ["low", "high"])
@pytest.mark.parametrize(("options", "number"), [(2, 50), (4, 50), (10, 50), (2, 500)])
def test_intervals_of_mean_entropy_cover(options: int, number: int, level: str) -> None:
    """The mean entropy of five tests lies in its interval in 95 of 100 series, and above it in 2.5."""
    rng = np.random.default_rng([options, number, len(level)])
    shares = drawn_choices(rng, 1, 300_000, options, level) / 5
    truth = -np.where(shares > 0, shares * np.log(np.where(shares > 0, shares, 1)), 0).sum(axis=2).mean()
    series = 20_000 // number
    counts = drawn_choices(rng, series, number, options, level)
    places = np.repeat(np.tile(np.arange(options), series * number), counts.ravel())
    model, item, test = np.unravel_index(np.arange(len(places)), (series, number, 5))
    rows = [
        {"model": f"m{who}", "item": str(what), "sample": int(when), "choice": "ABCDEFGHIJ"[place]}
        for who, what, when, place in zip(model, item, test, places.tolist(), strict=True)
    ]
    known = items(*map(str, range(number)), options=options)
    table = instability(results([row | {"reading": "chosen", "score": 0.0} for row in rows], known)).table
    table = table.filter(pl.col("source") == "all")
    above, below = ((table["entropy_high"] < truth).mean(), (table["entropy_low"] > truth).mean())
    print(f"{options} options, {number} items, {level}: {1 - above - below:.3f} covered, {above:.3f} end too low")
    assert len(table) == series
    assert stats.binomtest(round((above + below) * series), series, 0.05, alternative="greater").pvalue > 0.005
    assert stats.binomtest(round(above * series), series, 0.025, alternative="greater").pvalue > 0.005


def test_an_interval_of_entropy_stays_between_none_and_the_largest() -> None:
    rows = [*asked("1", "AAAAA"), *asked("2", "AAAAA"), *asked("3", "AAAAA")]
    still = row(results(rows, items("1", "2", "3", options=2)))
    assert still["entropy"] == still["entropy_low"] == 0
    assert 0 < still["entropy_high"] < np.log(2)
    even = row(
        results([*asked("1", "AABB"), *asked("2", "ABAB"), *asked("3", "ABBA")], items("1", "2", "3", options=2))
    )
    assert even["entropy"] == pytest.approx(np.log(2))
    assert even["entropy_high"] == pytest.approx(np.log(2))
    assert 0 < even["entropy_low"] < np.log(2)
