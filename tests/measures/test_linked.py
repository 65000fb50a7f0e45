from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from eyetest.errors import InputError
from eyetest.measures import MEASURES, NotMeasurable, Results, Settings
from eyetest.measures.linked import sides, unpaired
from eyetest.measures.results import own_settings
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
    assert table["n"].to_list() == [4, 4]
    alone = paired([1, 0, 0, 0], [1, 1, 1, 0])
    assert table.select("difference_low", "difference_high", "p").row(0) == (alone.low, alone.high, alone.p)


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
    shares = unpaired(mean([1.0] * 30 + [0.0] * 20), mean([1.0] * 30 + [0.0] * 50))
    theirs = confint_proportions_2indep(30, 80, 30, 50, compare="diff", method="newcomb")
    assert (shares.low, shares.high) == pytest.approx(theirs)


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


def settings(start: str = "ask=direct", end: str = "ask=cot", **own: Any) -> Settings:
    return Settings(own={"from": start, "to": end, "over": "items", **own})


def test_items_to_read() -> None:
    of = both({"a": [1, 1, 0, 0, 1, None], "b": [1, 1]}, {"a": [0, 1, 1, 0, 0, 1], "b": [1, 1]})
    measured = MEASURE.measure(of, settings())
    assert measured.table.columns == ["model", "flip", "item", "from_score", "to_score", "flips", "n"]
    assert measured.table.rows() == [
        ("a", "lost", "0", 1, 0, 2, 5),
        ("a", "lost", "4", 1, 0, 2, 5),
        ("a", "won", "2", 0, 1, 1, 5),
    ]
    assert measured.notes == ("2 lost and 1 won of 7 pairs in 2 series",)


def test_items_of_two_benchmarks_are_the_same_by_their_id() -> None:
    rows = [
        {"item": "1", "benchmark": "four", "score": 1.0},
        {"item": "2", "benchmark": "four", "score": 1.0},
        {"item": "1", "benchmark": "ten", "score": 0.0},
    ]
    table = MEASURE.measure(results(rows), settings("benchmark=four", "benchmark=ten")).table
    assert table.select("item", "flip", "n").rows() == [("1", "lost", 1)]


def test_over_models_counts_who_lost_an_item() -> None:
    of = both({"a": [1, 1, 0], "b": [1, 0, 1]}, {"a": [0, 0, 1], "b": [0, 0, 1]})
    own = {"from": "ask=direct", "to": "ask=cot", "over": "models"}
    table = MEASURES["linked"].measure(of, Settings(own=own)).table
    assert table.rows() == [("0", 2, 0, 2, "a, b"), ("1", 1, 0, 2, "a"), ("2", 0, 1, 2, "")]
    with pytest.raises(InputError, match="expected items, models or no-image"):
        MEASURES["linked"].measure(of, Settings(own=own | {"over": "rows"}))


def compare(of: Results, start: str, end: str, **more: Any) -> tuple[list[str], pl.DataFrame]:
    return sides(of, Settings(own={"from": start, "to": end}, **more))


def asked(item: str, score: float | None, **more: Any) -> dict[str, Any]:
    return {"item": item, "score": score, **more}


BOTH = [asked("1", 1), asked("1", 0, ask="cot"), asked("2", 1), asked("3", 1, ask="cot")]


def test_tests_are_averaged_and_items_meet() -> None:
    failed = [asked("4", None), asked("4", 1, ask="cot")]
    keys, shared = compare(results([*BOTH, *failed, asked("1", 0, template=1)]), "ask=direct", "ask=cot")
    assert keys == ["model"]
    assert shared.select("item", "score", "score_after").rows() == [("1", 0.5, 0)]
    rows = [asked("1", 1, order=0), asked("1", 0, order=12)]
    assert compare(results(rows), "order=0", "order=12")[1].select("score_after").item() == 0, "numbers are numbers"


def test_a_mixture_has_to_be_separated() -> None:
    rows = [asked("1", 1), asked("1", 1, modality="no-image"), asked("1", 0, ask="cot", modality="screenshot")]
    with pytest.raises(InputError, match="from: say which modality is meant: image, no-image"):
        compare(results(rows), "ask=direct", "ask=cot,modality=screenshot")


@pytest.mark.parametrize(
    ("start", "end", "why"),
    [
        ("ask", "ask=cot", "from: 'ask' is not axis=value"),
        ("ask=", "ask=cot", "from: 'ask=' is not axis=value"),
        ("ask=direct", "asks=cot", 'to: no axis .*did you mean "ask"'),
        ("order=x", "order=1", "from: order is a whole number"),
    ],
)
def test_what_cannot_be_understood(start: str, end: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        compare(results(BOTH), start, end)


APART = [asked("1", 1), asked("2", 0, ask="cot")]


@pytest.mark.parametrize(
    ("rows", "start", "end", "why"),
    [
        (BOTH, "", "ask=cot", "say what to compare"),
        (BOTH, "ask=direct", "", "say what to compare"),
        (BOTH, "ask=direct", "ask=ocr", "nothing was scored under ask=ocr"),
        (APART, "ask=direct", "ask=cot", "the two settings have no item in common"),
        ([asked("1", 1), asked("1", 0, ask="cot", shots="two")], "ask=direct", "ask=cot", "the same model, shots"),
    ],
)
def test_what_cannot_be_compared(rows: list[dict[str, Any]], start: str, end: str, why: str) -> None:
    with pytest.raises(NotMeasurable, match=f"linked: .*{why}"):
        compare(results(rows), start, end)


Columns = Mapping[str, Mapping[str, Sequence[float | None]]]


def measured(measure: str, of: Results, **own: str) -> pl.DataFrame:
    return MEASURES[measure].measure(of, Settings(own=own_settings(MEASURES[measure], own))).table


def linked(scores: Columns, options: dict[str, int], modalities: Mapping[str, str] = MappingProxyType({})) -> Results:
    """Scores by benchmark and model over items 0, 1, …; ``modalities`` of benchmarks without images."""
    rows = [
        {
            "benchmark": bench,
            "model": model,
            "item": str(i),
            "score": score,
            "modality": (modalities or {}).get(bench, "image"),
        }
        for bench, models in scores.items()
        for model, column in models.items()
        for i, score in enumerate(column)
    ]
    items = [
        {"benchmark": bench, "item": str(i), "options": options[bench], "cluster": f"{bench}{i}"}
        for bench, models in scores.items()
        for i in range(max(map(len, models.values())))
    ]
    return results(rows, items)


FOUR = {"a": [1.0, 1, 1, 0], "b": [1.0, 0, 1, 1]}
TEN = {"a": [1.0, 1, 0, 0], "b": [0.0, 0, 1, 0]}
SHOT = {"a": [0.0, 1, 0, 0], "b": [1.0, 0, 1, 1]}
CHAIN = linked({"few": FOUR, "ten": TEN, "shot": SHOT}, {"few": 4, "ten": 10, "shot": 10}, {"shot": "screenshot"})


def test_settings_are_recognised_by_their_items() -> None:
    table = measured("linked", CHAIN).sort("model")
    assert table.select("model", "four", "ten", "vision", "overall").rows() == [
        ("a", 0.75, 0.5, 0.25, 0.375),
        ("b", 0.75, 0.25, 0.75, 0.5),
    ]
    for row in table.iter_rows(named=True):
        overall = (row["ten"] + row["vision"]) / 2
        differences = (row["ten"] - row["four"], row["vision"] - row["four"], overall - row["four"])
        assert (row["delta1"], row["delta2"], row["delta3"]) == differences
        assert row["paired"]
    assert table.select("ten_rank", "vision_rank").rows() == [(1, 2), (2, 1)]
    assert table.select("ten_risen", "vision_risen").rows() == [(0, 0), (0, 0)], "equals stand as they do later"
    alone = paired([1, 1, 0, 0], FOUR["a"])
    assert table.select("delta1_low", "delta1_high").row(0) == (alone.low, alone.high)


def test_ten_and_vision_may_be_two_modalities_of_one_benchmark() -> None:
    one, other = (
        linked({"ten": of}, {"ten": 10}, {"ten": modality}) for of, modality in ((TEN, "image"), (SHOT, "screenshot"))
    )
    few = linked({"few": FOUR}, {"few": 4})
    both = Results(pl.concat([one.scores, other.scores, few.scores]), pl.concat([one.items, few.items]))
    assert measured("linked", both).equals(measured("linked", CHAIN))


def test_the_original_has_other_items_and_is_not_paired() -> None:
    source = linked({"source": {"a": [1.0] * 9 + [0.0], "b": [1.0] * 5 + [0.0] * 5}}, {"source": 4})
    other = (pl.lit("s") + pl.col("item")).alias("item")
    scores, items = source.scores.with_columns(other), source.items.with_columns(other)
    of = Results(pl.concat([CHAIN.scores, scores]), pl.concat([CHAIN.items, items]))
    measured = MEASURES["linked"].measure(of, Settings(own={"from": "", "original": "benchmark=source"}))
    table = measured.table.sort("model")
    assert table.select("original", "paired").rows() == [(0.9, False), (0.5, False)]
    assert table["delta1"].to_list() == pytest.approx([0.5 - 0.9, 0.25 - 0.5])
    assert any("not paired" in note for note in measured.notes)


def test_only_items_of_all_settings_count() -> None:
    of = linked({"few": {"a": [1, 1, None]}, "ten": {"a": [1, None, 1]}}, {"few": 4, "ten": 10})
    row = measured("linked", of).row(0, named=True)
    assert (row["n"], row["four"], row["ten"], row["delta1"], row["overall"]) == (1, 1, 1, 0, None)


def test_one_setting_is_not_linked() -> None:
    with pytest.raises(NotMeasurable, match="no linked settings"):
        measured("linked", linked({"ten": TEN}, {"ten": 10}))
    with pytest.raises(NotMeasurable, match="no linked settings"):
        measured("linked", results([{"item": "1", "score": 1.0}]))


def test_blind_after_each_step_beside_guessing() -> None:
    """The filtered items are taken from the answers to the original, where no model was asked about them again."""
    rows = [
        *({"benchmark": "source", "item": str(i), "score": float(i < 3), "modality": "no-image"} for i in range(6)),
        *({"benchmark": "ten", "item": str(i), "score": float(i < 1), "modality": "no-image"} for i in range(2, 6)),
        *({"benchmark": "few", "item": str(i), "score": 1.0} for i in range(2, 6)),
    ]
    items = [
        {"benchmark": bench, "item": str(i), "options": n}
        for bench, n, first in (("source", 4, 0), ("few", 4, 2), ("ten", 10, 2))
        for i in range(first, 6)
    ]
    table = measured("linked", results(rows, items), original="benchmark=source", over="no-image")
    steps = (("original", 0.5, 0.25, 6), ("filtered", 0.25, 0.25, 4), ("ten options", 0, 0.1, 4))
    assert table.select("step", "model", "accuracy", "guessing", "n").rows() == [
        (step, model, accuracy, guessing, n) for step, accuracy, guessing, n in steps for model in ("m", "all models")
    ]
    with pytest.raises(NotMeasurable, match="no model has a score with modality no-image"):
        measured("linked", CHAIN, over="no-image")


def test_real_verdicts(shared: Path) -> None:
    """MMMU-Pro's own runs: every score and difference as plain means over the published matrix have them."""
    matrix = pl.read_csv(shared / "data/mmmu_pro/matrix.csv")
    ids = matrix.to_series(0).to_list()
    names = {"standard4": ("four", "image"), "standard10": ("ten", "image"), "vision10": ("ten", "screenshot")}
    rows, columns = [], dict[tuple[str, str, str], np.ndarray]()
    for head in matrix.columns[1:]:
        _, model, variant, ask = head.split("|")
        bench, modality = names[variant]
        columns[model, variant, ask] = matrix[head].to_numpy()
        about = {"benchmark": bench, "modality": modality, "model": model, "ask": ask}
        rows += [about | {"item": item, "score": float(score)} for item, score in zip(ids, matrix[head], strict=True)]
    items = [
        {"benchmark": name, "item": item, "options": n} for name, n in (("four", 4), ("ten", 10)) for item in ids
    ]
    table = measured("linked", results(rows, items))
    whole = table.drop_nulls(["four", "ten", "vision"])
    assert len(whole) == 8
    for row in whole.iter_rows(named=True):
        four, ten, vision = (columns[row["model"], variant, row["ask"]].mean() for variant in names)
        overall = (ten + vision) / 2
        expected = (four, ten, vision, ten - four, vision - four, overall, overall - four)
        found = [row[name] for name in ("four", "ten", "vision", "delta1", "delta2", "overall", "delta3")]
        assert found == pytest.approx(expected)
        assert row["delta1_low"] < row["delta1"] < row["delta1_high"] < 0
    direct = whole.filter(pl.col("ask") == "direct")
    assert sorted(direct["vision_rank"]) == list(range(1, len(direct) + 1))
    assert direct["vision_risen"].sum() == 0
