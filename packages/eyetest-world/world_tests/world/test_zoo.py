"""Real small networks in a world about which everything is known: do the methods find what was planted?

These tests ask the whole zoo and take minutes; the demo is the short version of them.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec
import polars as pl
import pytest
from eyetest_world import Truth, calibrations, grade, load_rates, new_world, rankings, read_truth
from eyetest_world.toy_models.cards import cards, models_file
from scipy.stats import spearmanr

import eyetest as et
from eyetest.recipes.loading import read_verdicts
from eyetest.records import Recipe

pytestmark = pytest.mark.slow

MOLES = [card.name for card in cards().values() if not card.sees]
BIRDS = [card.name for card in cards().values() if card.sees]
BLIND = {"modality": "no-image-guess", "samples": 5, "sampling": {"temperature": 1.0}}


class Asked:
    """A world, and what the zoo said to it: blind five times each, sighted once."""

    def __init__(self, to: Path, seed: int, *, birds_blind: bool) -> None:
        self.to = to
        self.bench = new_world(to / "world", load_rates("default"), seed=seed)
        self.truths: dict[str, Truth] = {one.item: one for one in read_truth(to / "world")}
        models = to / "models.yaml"
        models.write_text(models_file())
        blind = [*MOLES, *(BIRDS if birds_blind else ())]
        self.models = {name: f"embedded:{name}" for name in MOLES + BIRDS}
        chosen = {name: self.models[name] for name in blind}
        self.run = et.run(
            self.bench, models=chosen, condition="no-image-guess", samples=5, temperature=1.0, to=to / "run"
        )
        birds = {name: self.models[name] for name in BIRDS}
        et.run(self.bench, models=birds, condition="image", to=to / "run")
        et.score(self.run)

    @property
    def scores(self) -> pl.DataFrame:
        return pl.read_parquet(self.to / "run/scores/eyetest.parquet")

    def accuracy(self, model: str, modality: str, items: list[str]) -> float:
        rows = self.scores.filter(
            (pl.col("model") == model) & (pl.col("modality") == modality) & pl.col("item").is_in(items)
        )
        return float(rows["score"].mean())  # type: ignore[arg-type]

    def refined(self, name: str, panel: list[str], stage: dict[str, object], **how: object) -> Path:
        recipe = msgspec.convert(
            {"about": name, "panels": {"panel": {"size": len(panel), **BLIND, **how}}, "stages": [stage]}, Recipe
        )
        et.refine(
            self.bench,
            recipe=recipe,
            models=self.to / "models.yaml",
            answers=[self.run],
            panel={"panel": panel},
            to=self.to / name,
        )
        return self.to / name

    def found(self, refined: Path, flaw: str) -> tuple[float, float]:
        graded = grade(list(self.truths.values()), read_verdicts(refined))
        one = next(found for found in graded.flaws if found.flaw == flaw)
        assert one.recall.value is not None
        assert one.precision.value is not None
        return one.recall.value, one.precision.value

    @property
    def doubts(self) -> dict[str, float]:
        frame = et.measure("wrong-golds", self.run, where="modality=image").frame
        return dict(frame.select("item", "ratio").iter_rows())


CHANCE_AWARE: dict[str, object] = {"filter": "chance-aware", "panel": "panel", "rate": 0.05}
MAJORITY: dict[str, object] = {
    "filter": "blind-hits",
    "panel": "panel",
    "answers": {"op": ">", "value": 2},
    "keep": {"hits": {"op": "<", "value": 3}},
}
LEAKS: dict[str, object] = {"filter": "leaks", "panel": "panel", "rate": 0.05}


@pytest.fixture(scope="module")
def default(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    return Asked(tmp_path_factory.mktemp("default"), 7, birds_blind=True)


@pytest.fixture(scope="module")
def skill(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """Scores on fresh items without flaws."""
    to = tmp_path_factory.mktemp("fresh")
    bench = new_world(to / "world", load_rates("none"), items=1000, seed=1007)
    run = et.run(bench, models={name: f"embedded:{name}" for name in BIRDS}, condition="image", to=to / "run")
    et.score(run)
    return pl.read_parquet(to / "run/scores/eyetest.parquet").select("item", "model", "score")


def test_vision_models_differ_in_skill_and_language_models_have_none(
    default: Asked, record_property: Callable[[str, object], None]
) -> None:
    clean = [item for item, truth in default.truths.items() if not truth.flaws]
    chance = sum(1 / default.truths[item].options for item in clean) / len(clean)
    skills = {name: default.accuracy(name, "image", clean) for name in BIRDS}
    record_property("skills", {name: round(value, 3) for name, value in skills.items()})
    assert min(skills.values()) > 0.45
    assert max(skills.values()) < 0.95
    assert max(skills.values()) - min(skills.values()) > 0.2
    facts = [item for item, truth in default.truths.items() if truth.fact]
    for name in MOLES:
        assert abs(default.accuracy(name, "no-image-guess", clean) - chance) < 0.03
        assert default.accuracy(name, "no-image-guess", facts) > 0.9


def test_leakage_ranks_models_by_what_leaked_and_gain_by_skill_once_it_is_out(
    default: Asked, skill: pl.DataFrame, record_property: Callable[[str, object], None]
) -> None:
    everything = list(default.truths)
    leaks = _fallen(default.refined("leaks", MOLES + BIRDS, LEAKS))
    known = _fallen(default.refined("chance", MOLES, CHANCE_AWARE))
    kept = [item for item in everything if item not in leaks | known]
    true = [float(skill.filter(pl.col("model") == name)["score"].mean()) for name in BIRDS]  # type: ignore[arg-type]

    def gains(items: list[str]) -> list[float]:
        return [
            default.accuracy(name, "image", items) - default.accuracy(name, "no-image-guess", items) for name in BIRDS
        ]

    blind = {name: default.accuracy(name, "no-image-guess", everything) for name in MOLES + BIRDS}
    leaked = [max(0.0, blind[name] - blind[cards()[name].base]) for name in BIRDS]
    by_leak = float(spearmanr([cards()[name].leaked for name in BIRDS], leaked).statistic)
    before, after = (float(spearmanr(true, gains(items)).statistic) for items in (everything, kept))
    record_property("spearman", {"leakage": by_leak, "gain, spoilt": before, "gain, refined": after})
    assert by_leak >= 0.9
    assert after >= 0.9
    assert after > before


def test_leaks_are_found_on_the_default_world(default: Asked, record_property: Callable[[str, object], None]) -> None:
    text = default.found(default.refined("chance", MOLES, CHANCE_AWARE), "leaked-to-llms")
    majority = default.found(default.refined("majority", MOLES, MAJORITY), "leaked-to-llms")
    images = default.found(default.refined("leaks", MOLES + BIRDS, LEAKS), "leaked-to-lvlms")
    record_property("recall, precision", {"text": text, "majority": majority, "images": images})
    assert text[0] >= 0.9
    assert majority[0] >= 0.9
    assert images[0] >= 0.9
    assert images[1] >= 0.9


def test_the_refined_world_ranks_better_with_fewer_items(
    default: Asked, skill: pl.DataFrame, record_property: Callable[[str, object], None]
) -> None:
    doubted = {item for item, ratio in default.doubts.items() if ratio > 1}
    twins = {item for item, truth in default.truths.items() if truth.twin}
    fallen = _fallen(default.refined("chance", MOLES, CHANCE_AWARE)) | doubted | twins
    fallen |= _fallen(default.refined("leaks", MOLES + BIRDS, LEAKS))
    kept = sorted(set(default.truths) - fallen)
    sighted = default.scores.filter(pl.col("modality") == "image").select("item", "model", "score")
    found = rankings(sighted, skill, kept)
    record_property(
        "tau", [[round(one.value or 0, 3) for one in (found.corrupted, found.refined, found.random)], len(kept)]
    )
    assert len(kept) <= len(default.truths) / 2
    assert (found.refined.value or 0) >= (found.corrupted.value or 0)
    assert found.above_random > 0.5


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_other_worlds_are_screened_as_well_with_nothing_trained_anew(
    seed: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    asked = Asked(tmp_path, seed, birds_blind=False)
    told = {}
    for name, stage in (("chance", CHANCE_AWARE), ("majority", MAJORITY)):
        refined = asked.refined(name, MOLES, stage)
        for flaw in ("answer-in-question", "answerable-from-facts"):
            told[f"{name}, {flaw}"] = asked.found(refined, flaw)
    doubted = calibrations(list(asked.truths.values()), asked.doubts)["wrong-gold"].value
    record_property("found", {"wrong golds, AUROC": doubted, **told})
    assert all(recall >= 0.9 and precision >= 0.85 for recall, precision in told.values())
    assert doubted is not None
    assert doubted >= 0.9


def _fallen(refined: Path) -> set[str]:
    verdicts = pl.read_parquet(refined / "verdicts.parquet")
    return set(verdicts.filter(pl.col("verdict") != "keep")["item"])
