from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from eyetest.errors import InputError
from eyetest.measures import NotMeasurable, Results, Settings
from eyetest.measures.linked import sides, unpaired
from eyetest.measures.stats.intervals import NOTHING, mean
from eyetest.measures.stats.paired import paired
from eyetest.records import ModelEntry
from tests.measures.tables import asked, both, measure, results

linked = partial(measure, "linked")
TO_COT: dict[str, Any] = {"from": "ask=direct", "to": "ask=cot"}


def test_paired_differences_and_ranks() -> None:
    of = both({"a": [1, 1, 1, 0], "b": [0, 1, 0, 0]}, {"a": [1, 0, 0, 0], "b": [1, 1, 1, 0]})
    table = linked(of, **TO_COT).table
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
    table = linked(results(rows, items), ("kind",), 50, **TO_COT).table
    known = table.select("p", "p_adjusted").drop_nulls().sort("p")
    steps = len(known) - np.arange(len(known))
    expected = np.minimum(np.maximum.accumulate(known["p"].to_numpy() * steps), 1)
    assert known["p_adjusted"].to_numpy() == pytest.approx(expected)
    assert (known["p"] < 0.05).sum() > (known["p_adjusted"] < 0.05).sum()


def test_items_to_read_by_how_many_models_lost_them() -> None:
    of = both({"a": [1, 1, 0], "b": [1, 0, 1], "c": [None, 1, 1]}, {"a": [0, 0, 1], "b": [0, 0, 1], "c": [1, 1, 1]})
    table = linked(of, **TO_COT, over="items").table
    assert table.columns == ["item", "lost", "won", "n", "lost_by", "won_by"]
    assert table.rows() == [("0", 2, 0, 2, "a, b", ""), ("1", 1, 0, 3, "a", ""), ("2", 0, 1, 3, "", "a")]
    with pytest.raises(InputError, match="expected items"):
        linked(of, **TO_COT, over="rows")
    benchmarks = results([*asked("a", [1, 1], benchmark="four"), *asked("a", [0], benchmark="ten")])
    by_id = linked(benchmarks, **TO_COT | {"from": "benchmark=four", "to": "benchmark=ten"}, over="items").table
    assert by_id["item"].to_list() == ["0"]


def compare(of: Results, start: str, end: str, **more: Any) -> tuple[list[str], pl.DataFrame]:
    return sides(of, Settings(own={"from": start, "to": end}, **more))


BOTH = [*asked("m", [1, 1]), *asked("m", [0, None, 1], ask="cot")]


def test_a_mixture_has_to_be_separated() -> None:
    rows = asked("m", [1]) + asked("m", [1], "no-image") + asked("m", [0], "screenshot", ask="cot")
    with pytest.raises(InputError, match="from: say which modality is meant: image, no-image"):
        compare(results(rows), "ask=direct", "ask=cot,modality=screenshot")


@pytest.mark.parametrize(
    ("start", "end", "why"),
    [
        ("ask", "ask=cot", "found 'ask', expected AXIS=VALUE, such as modality=no-image"),
        ("ask=", "ask=cot", "from: ask has no value, expected AXIS=VALUE"),
        ("ask=direct", "asks=cot", 'to: no axis .*did you mean "ask"'),
        ("order=x", "order=1", "from: order is a whole number"),
    ],
)
def test_what_cannot_be_understood(start: str, end: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        compare(results(BOTH), start, end)


SHOTS = [*asked("m", [1]), *asked("m", [0], ask="cot", shots="two")]
APART = [*asked("m", [1]), *asked("m", [None, 0], ask="cot")]


@pytest.mark.parametrize(
    ("rows", "start", "end", "why"),
    [
        (BOTH, "", "ask=cot", "say what to compare"),
        (BOTH, "ask=direct", "", "say what to compare"),
        (BOTH, "ask=direct", "ask=ocr", "nothing was scored under ask=ocr"),
        (APART, "ask=direct", "ask=cot", "the two settings have no item in common"),
        (SHOTS, "ask=direct", "ask=cot", "the same model, shots"),
    ],
)
def test_what_cannot_be_compared(rows: list[dict[str, Any]], start: str, end: str, why: str) -> None:
    with pytest.raises(NotMeasurable, match=f"linked: .*{why}"):
        compare(results(rows), start, end)


Columns = Mapping[str, Mapping[str, Sequence[float | None]]]


def chain(scores: Columns, options: dict[str, int]) -> Results:
    """Scores by benchmark and model over items 0, 1, …; those of the benchmark ``shot`` are of screenshots."""
    rows = [
        row
        for bench, models in scores.items()
        for model, column in models.items()
        for row in asked(model, column, "screenshot" if bench == "shot" else "image", benchmark=bench)
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
CHAIN = chain({"few": FOUR, "ten": TEN, "shot": SHOT}, {"few": 4, "ten": 10, "shot": 10})


def test_settings_are_recognised_by_their_items() -> None:
    table = linked(CHAIN).table.sort("model")
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


def test_the_original_has_other_items_and_is_not_paired() -> None:
    source = chain({"source": {"a": [1.0] * 9 + [0.0], "b": [1.0] * 5 + [0.0] * 5}}, {"source": 4})
    other = (pl.lit("s") + pl.col("item")).alias("item")
    scores, items = source.scores.with_columns(other), source.items.with_columns(other)
    of = Results(pl.concat([CHAIN.scores, scores]), pl.concat([CHAIN.items, items]))
    measured = linked(of, original="benchmark=source")
    table = measured.table.sort("model")
    assert table.select("original", "paired").rows() == [(0.9, False), (0.5, False)]
    assert table["delta1"].to_list() == pytest.approx([0.5 - 0.9, 0.25 - 0.5])
    assert any("not paired" in note for note in measured.notes)


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
    table = linked(results(rows, items)).table
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


def test_generated_less_weighed_answers_by_backbone() -> None:
    """ReForm-Eval's gap: a is right in 2 of 4 generated and in 3 weighed answers, b in none and in 2."""
    rows = asked("a", [1, 0, 1, 0]) + asked("a", [1, 1, 0, 1], method="likelihood")
    rows += asked("b", [0, 0, 0, 0]) + asked("b", [0, 1, 1, 0], method="likelihood")
    found = results(rows, models={name: ModelEntry(spec=f"x:{name}", base="lm") for name in "ab"})
    sides: dict[str, Any] = {"from": "method=likelihood", "to": "method=generate", "over": "", "original": ""}
    each = linked(found, **sides).table
    assert each.select("model", "difference", "n").rows() == [("a", -0.25, 4), ("b", -0.5, 4)]
    both = linked(found, ("model.base",), **sides).table
    assert both.select("model.base", "difference", "n").rows() == [("lm", -0.375, 4)]
