"""Gain and leakage over score tables: paired, with their protocols, averaged both ways."""

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from eyetest.errors import InputError
from eyetest.measures import NotMeasurable, Results
from eyetest.measures.stats.paired import paired
from eyetest.records import ModelEntry
from tests.measures.tables import asked, measure, results
from tests.support.command import call

MODELS = {"eye": ModelEntry(spec="scripted:a", base="text"), "orphan": ModelEntry(spec="scripted:a")}


def panel(
    image: Sequence[Any], blind: Sequence[Any], base: Sequence[Any] = (), modality: str = "no-image"
) -> Results:
    """The scores of a model with the image and without it, and those of its language model."""
    rows = asked("eye", image) + asked("eye", blind, modality) + asked("text", base, modality)
    return results(rows, models=MODELS)


measure_gain = partial(measure, "gain")


@pytest.mark.parametrize("modality", ["no-image", "no-image-guess", "gray"])
def test_one_model_and_its_language_model_asked_in_any_way_without_the_image(modality: str) -> None:
    [row] = measure_gain(panel([1, 1, 1, 0], [1, 0, 0, 0], [0, 1, 1, 0], modality)).table.to_dicts()
    assert (row["model"], row["gain"], row["leakage"], row["unclipped"], row["n"]) == ("eye", 0.5, 0.0, -0.25, 4)
    assert (row["with_image"], row["no_image"], row["base"]) == (0.75, 0.25, 0.5)
    assert row["with_image_by"] == "image direct"
    assert row["no_image_by"] == row["base_by"] == f"{modality} direct"
    assert row["unclipped_low"] <= -0.25 <= row["unclipped_high"]
    assert row["leakage_low"] == 0.0


def test_intervals_are_those_of_paired_differences_and_of_their_averages() -> None:
    rng = np.random.default_rng(3)
    sighted, blind = ((rng.random((2, 50)) < share).astype(float) for share in (0.7, 0.4))
    clusters = [str(i // 2) for i in range(50)]
    items = [{"benchmark": name, "item": str(i), "cluster": clusters[i]} for name in "xy" for i in range(50)]
    rows = []
    for which, name in enumerate("xy"):
        rows += asked("m", sighted[which].tolist(), benchmark=name)
        rows += asked("m", blind[which].tolist(), "no-image", benchmark=name)
    x, y, whole = measure_gain(results(rows, items)).table.to_dicts()
    for which, row in enumerate((x, y)):
        alone = paired(sighted[which], blind[which], clusters)
        assert [row[f"gain{end}"] for end in ("", "_low", "_high")] == [alone.difference, alone.low, alone.high]
    assert whole["gain"] == pytest.approx((x["gain"] + y["gain"]) / 2)
    reach = math.hypot(*(row["gain"] - row["gain_low"] for row in (x, y))) / 2
    assert whole["gain_low"] == pytest.approx(whole["gain"] - reach)


@pytest.mark.science
@pytest.mark.parametrize("shared", [0.0, 0.7])
def test_intervals_of_averaged_gains_cover(shared: float) -> None:
    """Three benchmarks, one with four items to an image, and four models, of whose answers items decide a ``shared``
    part: the averages over benchmarks, over models and over both hold the truth .93 to .985 of 500 times.
    """
    rng = np.random.default_rng(7)
    rates = stats.norm.ppf([[0.55, 0.65, 0.7, 0.8], [0.3, 0.35, 0.4, 0.45]]).T[:, :, None]
    true = {f"{model}": gain for model, gain in enumerate((0.25, 0.3, 0.3, 0.35))}
    items = [
        {"benchmark": name, "item": str(item), "cluster": str(item // per)}
        for name, per in (("x", 1), ("y", 4), ("z", 1))
        for item in range(120)
    ]
    axes = product("xyz", true, ("image", "no-image"))
    rows = [row for name, model, how in axes for row in asked(model, [0] * 120, how, benchmark=name)]
    found, held = results(rows, items), dict[str, list[bool]]()
    for _ in range(500):
        hard = rng.normal(size=(3, 1, 2, 120)) + rng.normal(size=(3, 1, 1, 120))
        hard[1] = (hard[1] + hard[1][..., np.arange(120) // 4]) / math.sqrt(2)
        latent = math.sqrt(shared / 2) * hard + math.sqrt(1 - shared) * rng.normal(size=(3, 4, 2, 120))
        scores = pl.Series("score", (latent < rates).ravel().astype(float))
        for row in measure_gain(replace(found, scores=found.scores.with_columns(scores))).table.iter_rows(named=True):
            kinds = ("models", "both") if row["model"] not in true else ("one", "benchmarks")
            kind = kinds[row["benchmark"].startswith("mean")]
            held.setdefault(kind, []).append(row["gain_low"] <= true.get(row["model"], 0.3) <= row["gain_high"])
    shares = {kind: np.mean(each) for kind, each in held.items()}
    assert {kind: share for kind, share in shares.items() if not 0.93 <= share <= 0.985} == {}, shares


def test_each_protocol_is_measured_with_its_own_and_a_base_of_another_is_named() -> None:
    found = results(
        asked("eye", [1, 1], ask="cot")
        + asked("eye", [1, 0], "no-image", ask="cot")
        + asked("eye", [1, 0])
        + asked("eye", [0, 0], "no-image")
        + asked("text", [0, 0], "no-image", shots="two"),
        models=MODELS,
    )
    rows = measure_gain(found).table.to_dicts()[:2]
    direct, cot = sorted(rows, key=lambda row: row["gain"] + (row["no_image"] or 0))
    assert (direct["with_image_by"], direct["base_by"]) == ("image direct", "no-image direct two")
    assert direct["gain"] == 0.5
    assert (cot["with_image_by"], cot["no_image_by"], cot["unclipped"]) == ("image cot", "no-image cot", 0.5)


def test_averages_over_models_and_over_benchmarks() -> None:
    shape = {("eye", "x"): (1, 0), ("eye", "y"): (1, 1), ("orphan", "x"): (0, 0), ("orphan", "y"): (1, 0)}
    found = []
    for (model, benchmark), (sighted, blind) in shape.items():
        found += asked(model, [sighted] * 4, benchmark=benchmark)
        found += asked(model, [blind] * 4, "no-image", benchmark=benchmark)
    base = asked("text", [0] * 4, "no-image", benchmark="x") + asked("text", [1] * 4, "no-image", benchmark="y")
    table = measure_gain(results(found + base, models=MODELS)).table.to_dicts()
    reported = {(row["benchmark"], row["model"]): (row["gain"], row["leakage"]) for row in table}
    assert reported[("x", "eye")] == (1.0, 0.0)
    assert reported[("y", "eye")] == (0.0, 0.0)
    assert reported[("mean of 2", "eye")] == (0.5, 0.0)
    assert reported[("x", "mean of 2 rows")] == (0.5, 0.0)
    assert reported[("mean of 2", "mean of 4 rows")] == (0.5, 0.0)


def test_what_does_not_apply_says_why() -> None:
    with pytest.raises(NotMeasurable, match="both image and no-image"):
        measure_gain(results(asked("m", [1])))
    pair = asked("eye", [1]) + asked("eye", [1], "no-image")
    assert "base model text was not asked no-image" in measure_gain(results(pair, models=MODELS)).notes[0]
    assert measure_gain(results(pair)).notes[0].startswith("Leakage: not measured (no base language model named)")


def test_of_several_ways_the_higher_score_counts_and_that_is_said() -> None:
    """A model that refuses unless it is asked to guess would seem to gain more than it does."""
    both = {"no-image": [0, 0, 0, 0, 1], "no-image-guess": [1, 1, 0, 0, 1]}
    found = results(
        asked("eye", [1, 1, 1, 1, 1])
        + [row for modality, scores in both.items() for row in asked("eye", [float(s) for s in scores], modality)]
        + [row for modality in both for row in asked("text", [0, 0, 0, 0, float(modality == "no-image")], modality)]
        + asked("orphan", [1, 1, 0, 0, 0])
        + asked("orphan", [1, 0, 0, 0, 0], "no-image"),
        models=MODELS,
    )
    measured = measure_gain(found)
    eye, orphan = measured.table.to_dicts()[:2]
    assert (eye["gain"], eye["no_image_by"]) == (pytest.approx(0.4), "no-image-guess direct")
    # its language model is held to the same words
    assert (eye["base"], eye["base_by"]) == (0.0, "no-image-guess direct")
    assert orphan["no_image_by"] == "no-image direct"


def test_leakage_over_other_items_than_gain_says_over_how_many() -> None:
    [row] = measure_gain(panel([1, 1, None, None], [1, 0, 1, 1], [0, 0, 0, 0])).table.to_dicts()
    assert (row["n"], row["leakage_n"], row["unclipped"]) == (2, 4, 0.75)
    assert "leakage_n" not in measure_gain(panel([1], [1], [0])).table.columns


def test_gain_on_mmmu(shared: Path, tmp_path: Path) -> None:
    path = shared / "data/vlm_matrices/normal_mmmu.csv"
    call(
        *("import", path, "--to", tmp_path / "run", "--matrix", "model"),
        *("--header", r"(?P<modality><no_\w+>)?(?P<item>.+)"),
        *("--map-values", "modality=<no_image>>no-image,<no_question>>no-question,<no_info>>nothing"),
    ).fine()
    rows = json.loads(call("measure", "gain", tmp_path / "run", "--output", "json").fine())["rows"]
    table = pl.read_csv(path, infer_schema_length=None)
    items = [name for name in table.columns[1:] if not name.startswith("<")]
    sighted = table.select(items).to_numpy()
    blind = table.select([f"<no_image>{name}" for name in items]).to_numpy()
    gains = dict(zip(table.get_column(table.columns[0]), (sighted - blind).mean(axis=1), strict=True))
    assert {row["model"]: row["gain"] for row in rows[:-1]} == pytest.approx(gains)
    assert rows[-1]["gain"] == pytest.approx(np.mean(list(gains.values())), abs=1e-9)
    for row in rows:
        assert row["gain_low"] < row["gain"] < row["gain_high"]
        assert (row["leakage"], row["n"] % 847) == (None, 0)
    widths = [row["gain_high"] - row["gain_low"] for row in rows[:-1]]
    assert 0.04 < min(widths) < max(widths) < 0.1
    assert sum(row["gain_low"] > 0 for row in rows[:-1]) == 22  # all but two gain from the image for sure


@pytest.mark.science
@pytest.mark.parametrize("options", [4, 2])
def test_the_best_of_twelve_guessing_models_is_not_above_guessing(options: int) -> None:
    rng, above = np.random.default_rng(3), 0
    items = [{"item": str(n), "options": options, "position": 0} for n in range(200)]
    for _ in range(60):
        drawn = (rng.random((12, 200)) < 1 / options).astype(float)
        rows = [row for at, hits in enumerate(drawn) for row in asked(f"m{at}", hits.tolist(), "no-image")]
        found = measure("best-no-image", results(rows, items)).table
        above += (found.row(0, named=True)["above_low"] or 0.0) > 0
    assert above <= 5


@pytest.mark.science
@pytest.mark.parametrize(
    ("share", "models", "templates"), [(0.0, 1, 300), (0.1, 1, 300), (0.3, 6, 300), (0.0, 6, 20), (0.0, 12, 20)]
)
def test_the_interval_of_the_share_answerable_without_the_image_covers_what_was_planted(
    share: float, models: int, templates: int
) -> None:
    """Models know the planted items and guess the others, alike within a template where there are few of them."""
    rng, covered, count = np.random.default_rng(1), 0, 300
    template = np.arange(count) * templates // count
    items = [{"item": str(n), "options": 4, "position": 0, "cluster": str(template[n])} for n in range(count)]
    for _ in range(60):
        planted = np.isin(np.arange(count), rng.permutation(count)[: round(share * count)])
        said = []
        for model in range(models):
            alike, own = (rng.random(templates) < 0.25)[template], rng.random(count) < 0.25
            guessed = np.where((rng.random(count) < 0.5) & (templates < count), alike, own)
            said += asked(f"m{model}", (planted | guessed).astype(float).tolist(), "no-image")
        row = measure("best-no-image", results(said, items)).table.row(0, named=True)
        low, high = (row[end] / (1 - row["guessing"]) for end in ("above_low", "above_high"))
        covered += max(0.0, low) <= share <= high
    print(share, models, templates, covered)
    assert covered >= 54


def test_the_protocol_of_the_base_can_be_chosen() -> None:
    """MMStar: the model 0-shot, its language model 2-shot, which was asked both ways."""
    texts = asked("text", [0, 0], "no-image") + asked("text", [1, 0], "no-image", shots="two")
    found = results(asked("eye", [1, 1]) + asked("eye", [1, 1], "no-image") + texts, models=MODELS)

    def one(base: str) -> tuple[Any, ...]:
        measured = measure_gain(found, base=base)
        row = measured.table.to_dicts()[0]
        return row["base_by"], row["leakage"], measured.notes

    assert one("") == ("no-image direct", 1.0, ())
    assert one("shots=two") == ("no-image direct two", 0.5, ())
    with pytest.raises(InputError, match="no score has this ask; known: direct"):
        one("shots=two,ask=cot")
    with pytest.raises(InputError, match="no axis 'shot'; did you mean \"shots\""):
        one("shot=two")
