"""MMMU-Pro's three settings on small tables, and on real verdicts against plain arithmetic."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
import polars as pl
import pytest

from eyetest.errors import InputError
from eyetest.measures import MEASURES, NotMeasurable, Results, Settings
from eyetest.measures.results import own_settings
from eyetest.measures.stats.paired import paired
from tests.measures.tables import results

Columns = Mapping[str, Mapping[str, Sequence[float | None]]]


def told(measure: str, of: Results, **own: str) -> pl.DataFrame:
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
    table = told("linked", CHAIN).sort("model")
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
    assert told("linked", both).equals(told("linked", CHAIN))


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
    again = told("linked", of, original="benchmark=source", **{"from": "four"}).sort("model")
    assert again["delta1"].to_list() == [-0.25, -0.5]
    with pytest.raises(InputError, match="no model was asked"):
        told("linked", CHAIN, **{"from": "orignal"})


def test_only_items_of_all_settings_count() -> None:
    of = linked({"few": {"a": [1, 1, None]}, "ten": {"a": [1, None, 1]}}, {"few": 4, "ten": 10})
    row = told("linked", of).row(0, named=True)
    assert (row["n"], row["four"], row["ten"], row["delta1"], row["overall"]) == (1, 1, 1, 0, None)


def test_one_setting_is_not_linked() -> None:
    with pytest.raises(NotMeasurable, match="no linked settings"):
        told("linked", linked({"ten": TEN}, {"ten": 10}))
    with pytest.raises(NotMeasurable, match="no linked settings"):
        told("linked", results([{"item": "1", "score": 1.0}]))


def test_blind_after_each_step_beside_guessing() -> None:
    """The filtered items are told from the answers to the original, where no model was asked about them again."""
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
    table = told("linked", results(rows, items), original="benchmark=source", over="no-image")
    steps = (("original", 0.5, 0.25, 6), ("filtered", 0.25, 0.25, 4), ("ten options", 0, 0.1, 4))
    assert table.select("step", "model", "accuracy", "guessing", "n").rows() == [
        (step, model, accuracy, guessing, n) for step, accuracy, guessing, n in steps for model in ("m", "all models")
    ]
    with pytest.raises(NotMeasurable, match="no model has a score with modality no-image"):
        told("linked", CHAIN, over="no-image")


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
    table = told("linked", results(rows, items))
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
