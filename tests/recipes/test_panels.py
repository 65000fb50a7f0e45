"""Models of panels, their recorded answers, and panels that go on from their own answers."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from eyetest.errors import InputError
from eyetest.filters import Evidence, Seat
from eyetest.recipes.loading import load_recipe
from eyetest.recipes.panels import asked_of_all, recorded, residual, seat, seated_on_answers, small_panel_notes
from eyetest.records import Cut, ModelEntry, Panel, Recipe, Stage
from eyetest.runs import Run
from tests.filters.answers import judge
from tests.filters.simulated import Drawn, draw_panel, received_early
from tests.measures.tables import results
from tests.recipes.benches import write_yaml
from tests.running.benches import make_dialogues
from tests.support.command import call
from tests.support.refusals import refusal

pytestmark = pytest.mark.journey

MODELS = {name: ModelEntry(spec="scripted:", base="base-of-b" if name == "b" else None) for name in "abcde"}


def recipe(**panel: Any) -> Recipe:
    return Recipe(panels={"inspectors": msgspec.convert({"size": 3, "modality": "no-image", **panel}, Panel)})


def seated(found: Recipe, *named: str, models: str = "abcde", hold_out: str = "") -> tuple[str, str]:
    """Who decides and who is held out, as letters."""
    known = {name: MODELS[name] for name in models}
    panels = seat(found, known, {"inspectors": named} if named else {}, tuple(hold_out))
    one = panels["inspectors"]
    return "".join(s.model for s in one.seats), "".join(s.model for s in one.held_out)


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("", "panel inspectors has 3 seats, not 5: name its models with --panel inspectors="),
        ("abx", "panel inspectors: no model x; there are a, b, c, d, e"),
        ("aab", "panel inspectors: a has 2 seats; a model has one"),
    ],
)
def test_a_panel_that_does_not_fit(named: str, message: str) -> None:
    assert refusal(seated, recipe(), *named).startswith(message)


def test_a_smaller_panel_sits_with_a_note() -> None:
    assert seated(recipe(), *"ab") == ("ab", "")
    stage = Stage(filter="blind-hits", panel="inspectors", keep={"hits": Cut(op="<=", value=2)})
    small = msgspec.structs.replace(recipe(), stages=(stage,))
    panels = seat(small, MODELS, {"inspectors": ("a", "b")})
    assert small_panel_notes(small, panels) == [
        "panel inspectors: 2 of the recipe's 3 models; thresholds and bands count as shares; "
        "blind-hits keeps hits <= 1.33"
    ]
    assert seated(recipe(), *"abcde") == ("abcde", ""), "more are taken where they are named"
    assert small_panel_notes(small, seat(small, MODELS, {"inspectors": "abc"})) == []


def test_who_is_held_out() -> None:
    assert seated(recipe(held_out=2)) == ("abc", "de")
    assert seated(recipe(held_out=2), "a", "b", "c") == ("abc", ""), "three are a panel without anybody held out"
    assert seated(recipe(), hold_out="ad") == ("bce", "ad")
    assert seated(recipe(held_out=2), hold_out="ad") == ("bce", "ad"), "the user's word goes first"


# Recorded answers.


def output(*rows: dict[str, Any]) -> Any:
    return results([{"modality": "no-image", "score": 1, **row} for row in rows])


def protocols(found: Any, **panel: Any) -> list[tuple[Any, ...]]:
    one = seat(recipe(**panel), MODELS, {"inspectors": "a"})["inspectors"]
    return sorted(recorded(found, one).select("item", "model", "ask", "sample").rows())


def test_the_panels_own_protocol_counts() -> None:
    found = output(
        {"item": "1", "model": "a", "ask": "cot"},
        {"item": "1", "model": "a", "ask": "direct"},
        {"item": "1", "model": "a", "modality": "image"},
        {"item": "1", "model": "b"},
    )
    assert protocols(found) == [("1", "a", "direct", 0)]
    assert protocols(found, ask="cot") == [("1", "a", "cot", 0)]


def test_another_protocol_if_there_is_only_one() -> None:
    found = output({"item": "1", "model": "a", "ask": "cot"}, {"item": "2", "model": "a", "ask": "cot"})
    assert protocols(found) == [("1", "a", "cot", 0), ("2", "a", "cot", 0)]
    both = output({"item": "1", "model": "a", "ask": "cot"}, {"item": "2", "model": "a", "ask": "ocr"})
    with pytest.raises(InputError, match="panel inspectors: a was asked in 2 ways"):
        protocols(both)


def test_another_modality_has_to_be_named() -> None:
    found = output({"item": "1", "model": "a", "modality": "gray"})
    with pytest.raises(InputError, match="a never answered with modality no-image; recorded are gray: --set insp"):
        protocols(found)
    assert protocols(found, modality="gray") == [("1", "a", "direct", 0)]
    with pytest.raises(InputError, match="panel inspectors: no model answered with modality no-image; recorded are"):
        seated_on_answers(recipe(), found, {}, ())


def test_a_panel_that_goes_on_from_its_own_answers_is_asked_everything(workdir: Path) -> None:
    """A call that a stopping rule spares would be missing from the next turn."""
    make_dialogues(workdir / "b", dialogues=3, turns=3)
    keep = {"hits": {"op": "<=", "value": 0}}
    recipe = {
        "panels": {"readers": {"size": 2, "modality": "no-image", "history": "own"}},
        "stages": [{"filter": "blind-hits", "panel": "readers", "keep": keep}],
    }
    write_yaml(workdir / "own.yaml", recipe)
    write_yaml(workdir / "models.yaml", {name: {"spec": f"scripted:right=0.9,seed={name}"} for name in "12"})
    call("refine", "b", "--recipe", "own.yaml", "--models", "models.yaml", "--to", "refined").fine()
    rows = Run(workdir / "refined/run").plan().to_pylist()
    assert len(rows) == 20
    assert all(row["request"] and row["history"] == "own" for row in rows)
    assert len(Run(workdir / "refined/run").responses()) == 20


STAGES = {name: load_recipe(name).stages[0] for name in ("mmstar", "mmmu-pro")}
SIZES = {"mmstar": (8, 1), "mmmu-pro": (4, 10)}
TOLD = ("inspectors", "panel", "before")


def mean_of_all(drawn: Drawn, received: np.ndarray, kept: np.ndarray) -> float:
    """What was reported before: each item's answers averaged, whichever were asked for."""
    counts = received[kept].sum(axis=(1, 2))
    return float(((drawn.right & received)[kept].sum(axis=(1, 2)) / counts).mean())


@pytest.mark.parametrize("recipe", STAGES)
def test_a_panel_that_stopped_early_is_measured_on_what_every_item_was_asked(recipe: str) -> None:
    stage, (inspectors, samples) = STAGES[recipe], SIZES[recipe]
    drawn = draw_panel(np.random.default_rng(4), items=3_000, inspectors=inspectors, samples=samples)
    received = received_early(stage, drawn.right)
    evidence: Evidence = drawn.evidence(received)
    seats, items = [Seat(name) for name in evidence.seats], drawn.items()
    verdicts = judge(stage, items, evidence)
    kept = np.array([one.verdict == "keep" for one in verdicts])
    left = [item for item, stays in zip(items, kept, strict=True) if stays]
    always = received.all(axis=0)
    for when, members, mask in (("before", items, np.ones_like(kept)), ("after", left, kept)):
        found = residual(TOLD, evidence, asked_of_all(evidence, seats, items), members)
        truth = drawn.right[mask].mean(axis=(1, 2)).mean()
        same = drawn.right[mask][:, always].mean()
        assert found.accuracy.value == pytest.approx(same), "the same answers of every item"
        assert found.answers == always.sum() < found.asked == inspectors * samples
        assert found.part == f"the first {found.answers} of {found.asked} answers an item"
        if when == "before":
            noise = 0.5 / 3_000**0.5
            assert found.accuracy.value == pytest.approx(truth, abs=noise)
            assert abs(mean_of_all(drawn, received, mask) - truth) > noise, (
                "what every answer that is there would say"
            )
