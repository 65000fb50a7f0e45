"""Gain and leakage over score tables: paired, with their protocols, averaged both ways."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from eyetest.errors import InputError
from eyetest.measures import MEASURES, Measured, NotMeasurable, Results, Settings
from eyetest.measures.stats.intervals import percentiles, resampled_means
from eyetest.records import ModelEntry
from tests.measures.tables import results
from tests.runs.conftest import Eyetest
from tests.runs.conftest import eyetest as eyetest

MODELS = {"eye": ModelEntry(spec="scripted:a", base="text"), "orphan": ModelEntry(spec="scripted:a")}


def asked(model: str, modality: str, scores: Sequence[float | None], **more: Any) -> list[dict[str, Any]]:
    return [{"model": model, "modality": modality, "item": str(i), "score": s, **more} for i, s in enumerate(scores)]


def panel(
    image: Sequence[Any], blind: Sequence[Any], base: Sequence[Any] = (), modality: str = "no-image"
) -> Results:
    """The scores of a model with the image and without it, and those of its language model."""
    rows = asked("eye", "image", image) + asked("eye", modality, blind) + asked("text", modality, base)
    return results(rows, models=MODELS)


def measure(found: Results, **settings: Any) -> Measured:
    return MEASURES["gain"].measure(found, Settings(**settings))


@pytest.mark.parametrize("modality", ["no-image", "no-image-guess", "gray"])
def test_one_model_and_its_language_model_asked_in_any_way_without_the_image(modality: str) -> None:
    [row] = measure(panel([1, 1, 1, 0], [1, 0, 0, 0], [0, 1, 1, 0], modality)).table.to_dicts()
    assert (row["model"], row["gain"], row["leakage"], row["unclipped"], row["n"]) == ("eye", 0.5, 0.0, -0.25, 4)
    assert (row["with_image"], row["no_image"], row["base"]) == (0.75, 0.25, 0.5)
    assert (row["with_image_by"], row["no_image_by"], row["base_by"]) == (
        *("image direct", f"{modality} direct", f"{modality} direct"),
    )
    assert row["unclipped_low"] <= -0.25 <= row["unclipped_high"]
    assert row["leakage_low"] == 0.0


def test_only_items_with_both_scores_count() -> None:
    [row] = measure(panel([1, 1, None, 0], [0, None, 0, 0])).table.to_dicts()
    assert (row["gain"], row["with_image"], row["n"], row["leakage"]) == (0.5, 0.5, 2, None)


def test_the_interval_is_that_of_paired_resamples() -> None:
    rng = np.random.default_rng(3)
    sighted, blind = (rng.random(50) < 0.7).astype(float), (rng.random(50) < 0.4).astype(float)
    items = [{"item": str(i), "cluster": str(i // 2)} for i in range(50)]
    found = results(asked("m", "image", list(sighted)) + asked("m", "no-image", list(blind)), items)
    row = measure(found).table.to_dicts()[0]
    order = sorted(range(50), key=str)
    pairs = (sighted - blind)[order]
    drawn = resampled_means(pairs, [str(i // 2) for i in order], 2_000, (0, 0))[:, 0]
    assert (row["gain_low"], row["gain_high"]) == percentiles(drawn, clusters=25)
    assert measure(found).table.to_dicts() == [row]
    assert [row[f"gain_{end}"] for end in ("low", "high")] != [
        measure(found, seed=1, level=0.9).table.to_dicts()[0][f"gain_{end}"] for end in ("low", "high")
    ]


def test_each_protocol_is_measured_with_its_own_and_a_base_of_another_is_named() -> None:
    found = results(
        asked("eye", "image", [1, 1], ask="cot")
        + asked("eye", "no-image", [1, 0], ask="cot")
        + asked("eye", "image", [1, 0])
        + asked("eye", "no-image", [0, 0])
        + asked("text", "no-image", [0, 0], shots="two"),
        models=MODELS,
    )
    direct, cot = sorted(measure(found).table.to_dicts()[:2], key=lambda row: row["gain"] + (row["no_image"] or 0))
    assert (direct["with_image_by"], direct["gain"], direct["base_by"]) == (
        "image direct",
        0.5,
        "no-image direct two",
    )
    assert (cot["with_image_by"], cot["no_image_by"], cot["unclipped"]) == ("image cot", "no-image cot", 0.5)


def test_the_protocol_of_the_base_can_be_chosen() -> None:
    """MMStar: the model 0-shot, its language model 2-shot, which was asked both ways."""
    texts = asked("text", "no-image", [0, 0]) + asked("text", "no-image", [1, 0], shots="two")
    found = results(asked("eye", "image", [1, 1]) + asked("eye", "no-image", [1, 1]) + texts, models=MODELS)

    def one(base: str) -> tuple[Any, ...]:
        measured = MEASURES["gain"].measure(found, Settings(own={"base": base}))
        row = measured.table.to_dicts()[0]
        return row["base_by"], row["leakage"], measured.notes

    assert one("") == ("no-image direct", 1.0, ())
    assert one("shots=two") == ("no-image direct two", 0.5, ())
    assert one("shots=two,ask=cot") == (
        None,
        None,
        ("Leakage of eye: not measured (base model text was not asked no-image, no-image-guess or gray two cot)",),
    )
    with pytest.raises(InputError, match="no axis 'shot'; did you mean \"shots\""):
        one("shot=two")


def test_averages_over_models_and_over_benchmarks() -> None:
    shape = {("eye", "x"): (1, 0), ("eye", "y"): (1, 1), ("orphan", "x"): (0, 0), ("orphan", "y"): (1, 0)}
    found = []
    for (model, benchmark), (sighted, blind) in shape.items():
        found += asked(model, "image", [sighted] * 4, benchmark=benchmark)
        found += asked(model, "no-image", [blind] * 4, benchmark=benchmark)
    base = asked("text", "no-image", [0] * 4, benchmark="x") + asked("text", "no-image", [1] * 4, benchmark="y")
    table = measure(results(found + base, models=MODELS)).table.to_dicts()
    reported = {(row["benchmark"], row["model"]): (row["gain"], row["leakage"]) for row in table}
    assert reported[("x", "eye")] == (1.0, 0.0)
    assert reported[("y", "eye")] == (0.0, 0.0)
    assert reported[("mean of 2", "eye")] == (0.5, 0.0)
    assert reported[("x", "mean of 2 rows")] == (0.5, 0.0)
    assert reported[("mean of 2", "mean of 4 rows")] == (0.5, 0.0)


def test_what_does_not_apply_says_why() -> None:
    with pytest.raises(NotMeasurable, match="both image and no-image"):
        measure(results(asked("m", "image", [1])))
    pair = asked("eye", "image", [1]) + asked("eye", "no-image", [1])
    assert "base model text was not asked no-image" in measure(results(pair, models=MODELS)).notes[0]
    assert measure(results(pair)).notes[0].startswith("Leakage: not measured (no base language model named)")


def test_where_no_item_differs_there_is_no_interval() -> None:
    [row] = measure(panel([1, 0] * 9, [1, 0] * 9)).table.to_dicts()
    assert [row[name] for name in ("gain", "gain_low", "gain_high")] == [0.0, None, None]
    [row] = measure(panel([1] * 4, [0, 0, 0, 1], [1] * 4)).table.to_dicts()
    assert (row["leakage_low"], row["leakage_high"]) == (0.0, 0.0), "a leak below 0 is cut off, but it varies"


def test_of_several_ways_the_higher_score_counts_and_that_is_said() -> None:
    """A model that refuses unless it is asked to guess would seem to gain more than it does."""
    both = {"no-image": [0, 0, 0, 0, 1], "no-image-guess": [1, 1, 0, 0, 1]}
    found = results(
        asked("eye", "image", [1, 1, 1, 1, 1])
        + [row for modality, scores in both.items() for row in asked("eye", modality, [float(s) for s in scores])]
        + [row for modality in both for row in asked("text", modality, [0, 0, 0, 0, float(modality == "no-image")])]
        + asked("orphan", "image", [1, 1, 0, 0, 0])
        + asked("orphan", "no-image", [1, 0, 0, 0, 0]),
        models=MODELS,
    )
    measured = measure(found)
    eye, orphan = measured.table.to_dicts()[:2]
    assert (eye["gain"], eye["no_image_by"]) == (pytest.approx(0.4), "no-image-guess direct")
    assert (eye["base"], eye["base_by"]) == (0.0, "no-image-guess direct"), (
        "its language model is held to the same words"
    )
    assert orphan["no_image_by"] == "no-image direct"


def test_a_language_model_that_was_asked_otherwise_is_noted() -> None:
    """One insists on an image and gets a grey one; the other cannot take any."""
    found = results(
        asked("eye", "image", [1, 1]) + asked("eye", "gray", [1, 0]) + asked("text", "no-image", [0, 0]),
        models=MODELS,
    )
    measured = measure(found)
    [row] = measured.table.to_dicts()
    assert (row["unclipped"], row["no_image_by"], row["base_by"]) == (0.5, "gray direct", "no-image direct")
    assert "leakage of eye: asked gray, its language model text no-image" in measured.notes


def test_leakage_over_other_items_than_gain_says_over_how_many() -> None:
    [row] = measure(panel([1, 1, None, None], [1, 0, 1, 1], [0, 0, 0, 0])).table.to_dicts()
    assert (row["n"], row["leakage_n"], row["unclipped"]) == (2, 4, 0.75)
    assert "leakage_n" not in measure(panel([1], [1], [0])).table.columns


def test_gain_on_mmmu(shared: Path, tmp_path: Path, eyetest: Eyetest) -> None:
    path = shared / "data/vlm_matrices/normal_mmmu.csv"
    eyetest(
        *("import", path, "--to", tmp_path / "run", "--matrix", "model"),
        *("--header", r"(?P<modality><no_\w+>)?(?P<item>.+)"),
        *("--map-values", "modality=<no_image>>no-image,<no_question>>no-question,<no_info>>nothing"),
    ).fine()
    rows = json.loads(eyetest("measure", "gain", tmp_path / "run", "--output", "json").fine())["rows"]
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
        rows = [row for at, hits in enumerate(drawn) for row in asked(f"m{at}", "no-image", hits.tolist())]
        found = MEASURES["best-no-image"].measure(results(rows, items), Settings()).table
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
            said += asked(f"m{model}", "no-image", (planted | guessed).astype(float).tolist())
        row = MEASURES["best-no-image"].measure(results(said, items), Settings()).table.row(0, named=True)
        low, high = (row[end] / (1 - row["guessing"]) for end in ("above_low", "above_high"))
        covered += max(0.0, low) <= share <= high
    print(share, models, templates, covered)
    assert covered >= 54
