"""Screens on a world with simulated models: what they find of what was planted, and what they take for a flaw."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from eyetest_world import grade, rankings

from eyetest.filters import FILTERS, Evidence, FilterInput, Seat
from eyetest.measures import MEASURES, Results
from eyetest.measures.results import Settings
from eyetest.records import Stage
from eyetest.results.gather import results_of
from eyetest.runs import Run
from eyetest.scoring import Scorer
from tests.support.command import call, call_narrowly
from world_tests.world.conftest import World, make
from world_tests.world.simulated import BLIND_TRIALS, READERS, SEERS, write_answers

pytestmark = pytest.mark.journey

RECIPE = """
panels:
  inspectors: {size: 4, modality: no-image-guess, samples: 10, held_out: 1}
stages:
  - {filter: probe, probe: duplicate-items, name: asked twice}
  - %s
  - select: {per: axis, count: 20, short: keep-all}
"""
BLIND = {
    "chance-aware": "{filter: chance-aware, panel: inspectors, rate: 0.05}",
    "mmmu-pro": "{filter: blind-hits, panel: inspectors, answers: {op: '>', value: 5}, "
    "keep: {hits: {op: '<', value: 3}}}",
}


@pytest.fixture(scope="module")
def simulated(default_world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder in which the models' answers to the default world are a run."""
    folder = tmp_path_factory.mktemp("simulated")
    write_answers(default_world, folder / "answers.csv")
    patch = pytest.MonkeyPatch()
    patch.setenv("EYETEST_CACHE", str(folder / "cache"))
    from eyetest.results.joining import bring_answers
    from eyetest.runs.importing import AnswerFile

    bring_answers(AnswerFile(path=folder / "answers.csv"), folder / "run", default_world.benchmark)
    yield folder / "run"
    patch.undo()


@pytest.fixture(scope="module")
def results(simulated: Path) -> Results:
    return results_of([Run(simulated)], Scorer("eyetest"), bench=None)


@pytest.mark.parametrize("recipe", BLIND)
def test_what_can_be_answered_blind_is_found(
    recipe: str, default_world: World, simulated: Path, tmp_path: Path, record_property: Any
) -> None:
    (tmp_path / "mine.yaml").write_text(RECIPE % BLIND[recipe])
    panel = ",".join(model.name for model in READERS)
    call(
        *("refine", default_world.benchmark.path, "--recipe", tmp_path / "mine.yaml", "--answers", simulated),
        *("--panel", f"inspectors={panel}", "--to", tmp_path / "refined"),
    ).fine()
    told = json.loads(call("world", "grade", default_world.path, tmp_path / "refined", "--output", "json").fine())
    found = {one["flaw"]: one for one in told["flaws"]}
    for flaw in ("answer-in-question", "answerable-from-facts", "leaked-to-llms"):
        recall, precision = found[flaw]["recall"]["value"], found[flaw]["precision"]["value"]
        record_property(flaw, str((recall, precision)))
        print(f"{recipe}, {flaw}: recall {recall:.3f}, precision {precision:.3f}")
        assert recall >= 0.9
        assert precision >= 0.85
        assert found[flaw]["precision"]["low"] < precision < found[flaw]["precision"]["high"] <= 1
    assert (found["exact-duplicate"]["recall"]["value"], found["exact-duplicate"]["precision"]["value"]) == (1, 1)
    for flaw in ("wrong-gold", "impossible", "two-right-options", "trivially-easy"):
        assert found[flaw]["recall"]["value"] < 0.2, "nobody looked for these"
        assert found[flaw]["precision"]["value"] is None
    assert {one["stage"] for one in told["stages"]} == {
        *("duplicate-items", "blind-hits" if recipe == "mmmu-pro" else recipe)
    }
    assert "answer-in-question" in call_narrowly("world", "grade", default_world.path, tmp_path / "refined").fine()


def test_leaks_to_vision_models_are_found_beside_their_language_models(
    default_world: World, results: Results, record_property: Any
) -> None:
    """Twelve models, to nine of which something leaked, and their five language models."""
    blind = results.scores.filter(pl.col("modality") == "no-image-guess").collect()
    seats = [Seat(model.name, model.base or None) for model in (*READERS, *SEERS)]
    evidence = Evidence(blind, [seat.model for seat in seats], BLIND_TRIALS)
    stage = Stage(filter="leaks", panel="all", rate=0.05)
    items = list(default_world.items.values())
    verdicts = list(FILTERS["leaks"].judge(FilterInput(stage, items, evidence, seats, len(seats))))
    found = {one.flaw: one for one in grade(list(default_world.truths.values()), verdicts).flaws}["leaked-to-lvlms"]
    print(f"leaked to vision models: recall {found.recall.value:.3f}, precision {found.precision.value:.3f}")
    record_property("leaked-to-lvlms", str((found.recall.value, found.precision.value)))
    assert (found.recall.value or 0) >= 0.9
    assert (found.precision.value or 0) >= 0.9


def test_wrong_golds_stand_out_among_what_models_choose(
    default_world: World, results: Results, tmp_path: Path, record_property: Any
) -> None:
    seen = Results(results.scores.filter(pl.col("modality") == "image"), results.items, results.models)
    table = MEASURES["wrong-golds"].measure(seen, Settings()).table
    table.select("item", pl.col("ratio").alias("score")).write_csv(tmp_path / "scores.csv")
    told = json.loads(
        call("world", "grade", default_world.path, "--scores", tmp_path / "scores.csv", "--output", "json").fine()
    )
    found = told["auroc"]["wrong-gold"]
    print(f"wrong golds: AUROC {found['value']:.3f} [{found['low']:.3f}, {found['high']:.3f}]")
    record_property("wrong-gold", str(found))
    assert found["value"] >= 0.9
    assert found["low"] < found["value"] <= found["high"] <= 1


def test_without_the_flaws_models_are_ranked_as_they_see(
    default_world: World, results: Results, tmp_path: Path, record_property: Any
) -> None:
    """What leaked made poor models look good. Kept is what has no flaw, as by a perfect refinement: a third."""
    fresh = make(tmp_path / "fresh", "none", items=270, seed=99)
    write_answers(fresh, tmp_path / "fresh.csv")
    rows = pl.read_csv(tmp_path / "fresh.csv").filter(pl.col("modality") == "image")
    golds = pl.DataFrame({"item": list(fresh.truths), "gold": [truth.gold for truth in fresh.truths.values()]})
    right = rows.join(golds, on="item").with_columns((pl.col("text") == pl.col("gold")).cast(float).alias("score"))
    kept = [truth.item for truth in default_world.truths.values() if not truth.flaws]
    scores = results.scores.filter(pl.col("modality") == "image").select("item", "model", "score").collect()
    found = rankings(scores, right.select("item", "model", "score"), kept, resamples=200)
    print(found)
    record_property("taus", str([one.value for one in (found.corrupted, found.refined, found.random)]))
    assert found.models == len(SEERS)
    assert len(kept) < len(default_world.items) / 2
    assert (found.refined.value or 0) > (found.random.value or 1)
    assert (found.refined.value or 0) > (found.corrupted.value or 0)
    assert found.above_random > 0.9
