"""Recorded answers of real models to MathVista: MMStar's rule over text runs, LIME's bands over image runs."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from eyetest.filters.hits import BAND
from eyetest.recipes.loading import load_recipe
from tests.recipes.benches import by_item, counts, kept, verdicts, write_yaml
from tests.support.command import call

pytestmark = pytest.mark.journey

BLIND = {
    "panels": {"inspectors": {"size": 8, "modality": "no-image"}},
    "stages": [{"filter": "blind-hits", "panel": "inspectors", "keep": {"hits": {"op": "<=", "value": 2}}}],
}
MAP = "item=item_id,given=correct_if_given,model=model+setting+augment"
MODALITIES = "modality=condition:text>no-image,caption>caption,image>image"


@pytest.fixture
def predictions(shared: Path) -> pl.DataFrame:
    return pl.read_parquet(shared / "data/mathvista/predictions.parquet")


@pytest.fixture
def here(shared: Path, workdir: Path) -> Path:
    """The benchmark, and a recipe."""
    call("import", shared / "data/mathvista", "--to", "b").fine()
    write_yaml(workdir / "recipe.yaml", BLIND)
    return workdir


def refine(
    answers: Path,
    *more: object,
    fields: str = MAP,
    recipe: str = "recipe.yaml",
    modalities: str = MODALITIES,
) -> float:
    """Bring answers in and refine; how long the refining took."""
    bring = ("import", answers, "--to", "r", "--bench", "b", "--map", fields, "--map-values", modalities)
    call(*bring, "--fill", "sample=0").fine()
    began = time.perf_counter()
    call("refine", "b", "--recipe", recipe, "--answers", "r", "--to", "d", *more).fine()
    return time.perf_counter() - began


def test_mmstars_rule_with_the_published_flags(here: Path, shared: Path) -> None:
    refine(shared / "data/mathvista/predictions.parquet")
    hits = Counter(verdicts(here / "d").get_column("hits"))
    assert [hits[number] for number in range(9)] == [416, 123, 96, 94, 75, 73, 61, 49, 13]
    assert counts(here / "d")["blind-hits"] == (1000, 635, 365, 0, 0)
    assert len(kept(here / "d")) == 635


def test_a_hit_that_names_no_option_is_none(here: Path, predictions: pl.DataFrame) -> None:
    """The published flags map what names no option to the nearest one; without those, 281 instead of 365 go."""
    named = pl.col("correct_if_given") & pl.col("extraction_valid").fill_null(True)
    text = predictions.filter(pl.col("condition") == "text")
    text.with_columns(named.alias("correct_if_given")).write_parquet(here / "valid.parquet")
    refine(here / "valid.parquet", modalities="modality=condition:text>no-image")
    assert counts(here / "d")["blind-hits"] == (1000, 719, 281, 0, 0)


def test_limes_bands_over_eight_judges(here: Path, predictions: pl.DataFrame, record_property: Any) -> None:
    """LIME has nine judges; of eight, 5 to 8 are easy, 3 and 4 middle, 0 to 2 hard."""
    lime = load_recipe("lime")
    graded = msgspec.to_builtins(lime.stages[0])
    recipe = {"panels": {"contestants": {"size": 9}}, "stages": [graded]}
    write_yaml(here / "lime.yaml", recipe)
    seen = predictions.filter(pl.col("condition") == "image")
    complete = seen.group_by("model", "setting").len().filter(pl.col("len") == 1000).sort("model")
    judges = [f"{model} {setting}" for model, setting in complete.select("model", "setting").iter_rows()]
    assert len(judges) == 8
    seen.write_parquet(here / "seen.parquet")
    panel = f"contestants={','.join(judges)}"
    shown = "modality=condition:image>image"
    seconds = refine(here / "seen.parquet", "--panel", panel, recipe="lime.yaml", modalities=shown)
    record_property("seconds", seconds)
    frame = verdicts(here / "d")
    assert len(frame) == 1000
    cuts = set(frame.select("hits", "verdict").iter_rows())
    assert cuts <= {*((hits, "keep") for hits in range(5)), *((hits, "drop") for hits in range(5, 9))}
    of_bands = Counter(msgspec.json.decode(evidence)[BAND] for evidence in frame.get_column("evidence"))
    expected = seen.join(complete, on=("model", "setting")).group_by("item_id").agg(pl.col("correct_if_given").sum())
    right = Counter(expected.get_column("correct_if_given"))
    assert of_bands["easy"] == sum(right[n] for n in range(5, 9)) == list(by_item(here / "d").values()).count("drop")
    assert of_bands["middle"] == right[3] + right[4]
    assert of_bands["hard"] == right[0] + right[1] + right[2]
    print(f"bands {dict(of_bands)} in {seconds:.1f} s")


@pytest.mark.slow
def test_our_own_reading_of_the_raw_answers(here: Path, predictions: pl.DataFrame) -> None:
    """Refusals stay refusals and programs that were not run name no option: fewer hits, fewer items go."""
    text = predictions.filter(pl.col("condition") == "text").drop("correct_if_given")
    text.write_parquet(here / "raw.parquet")
    fields = "item=item_id,text=raw_output,model=model+setting+augment"
    seconds = refine(here / "raw.parquet", fields=fields)
    into, keep, drop, fix, review = counts(here / "d")["blind-hits"]
    print(f"{drop} dropped in {seconds:.1f} s, reading included")
    assert (into, fix, review) == (1000, 0, 0)
    assert keep + drop == 1000
    assert 200 < drop < 281
