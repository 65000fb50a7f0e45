"""``eyetest refine``: recipes over scripted models, stopped, continued, asked for more or less."""

import json
import re
import shutil
from contextlib import chdir
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eyetest.benchmarks import Benchmark
from eyetest.prompts.sets import load_prompts
from eyetest.records import Verdict, columns
from eyetest.runs import Run, read_responses
from tests.endpoint import Endpoint, failure
from tests.recipes.benches import (
    INSPECTORS,
    MAJORITY,
    by_item,
    counts,
    kept,
    make_bench,
    outcome,
    verdicts,
    write_yaml,
)
from tests.running.benches import hashes
from tests.scoring.test_table import animals
from tests.scoring.test_table import make_bench as write_bench
from tests.support.command import call

pytestmark = pytest.mark.journey


@pytest.fixture
def here(workdir: Path) -> Path:
    return lay_out(workdir)


USUAL = ("refine", "b", "--recipe", "recipe.yaml", "--models", "models.yaml")


def lay_out(folder: Path) -> Path:
    """A benchmark, inspectors and a recipe."""
    make_bench(folder / "b")
    write_yaml(folder / "models.yaml", INSPECTORS)
    write_yaml(folder / "recipe.yaml", MAJORITY)
    return folder


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two refinements, ``early`` and ``full``, the second of which asked everything; ``early.txt`` is its output."""
    place = lay_out(tmp_path_factory.mktemp("refined"))
    with chdir(place):
        (place / "early.txt").write_text(call(*USUAL, "--to", "early").fine())
        call(*USUAL, "--to", "full", "--ask-everything").fine()
    return place


@pytest.fixture
def refined(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of both in the folder where the test runs."""
    monkeypatch.chdir(shutil.copytree(finished, tmp_path / "here"))
    return tmp_path / "here"


def test_what_it_leaves_behind(refined: Path) -> None:
    said, folder = (refined / "early.txt").read_text(), refined / "early"
    frame = verdicts(folder)
    assert tuple(frame.columns) == columns(Verdict)
    assert frame.get_column("item").to_list() == [f"q{n}" for n in range(40)], "nothing disappears without a verdict"
    found = by_item(folder)
    assert [item.id for item in kept(folder)] == [name for name, verdict in found.items() if verdict == "keep"]
    total = counts(folder)["blind-hits"]
    assert total == (40, *(list(found.values()).count(kind) for kind in ("keep", "drop", "fix", "review")))
    responses = {response.request for response in read_responses(folder / "run")}
    for row in frame.iter_rows(named=True):
        assert set(row["responses"]) <= responses
        assert row["n"] <= len(row["responses"]) <= 40
        assert set(json.loads(row["evidence"])["seats"]) == set(INSPECTORS)
    made = Benchmark(folder / "benchmark").manifest.lineage[-1]
    assert (made.step, made.source.split()[0], made.note, made.seed) == ("refine", "small", "blind-hits", 0)
    assert "calls saved by stopping early" in said
    waiting = frame.filter(pl.col("verdict") == "review")
    assert waiting.get_column("reason").str.contains("missing, which could change the verdict").all()
    assert re.search(rf"{len(waiting)} items? for people \(eyetest review early\)", said)
    reported = json.loads(call(*USUAL, "--to", "early", "--output", "json").out)
    assert (reported["kept"], reported["paused"]) == (len(kept(folder)), "")
    assert [step["stage"] for step in reported["funnel"]] == ["blind-hits"]


def test_asking_everything_writes_the_same(refined: Path) -> None:
    """With refusals, and calls that fail for good, which leave some verdicts to people."""
    assert outcome(refined / "early") == outcome(refined / "full")
    early, full = (len(list(read_responses(refined / name / "run"))) for name in ("early", "full"))
    assert full == 40 * 40
    assert early < 0.75 * full
    assert set(by_item(refined / "early").values()) == {"keep", "drop", "review"}
    call(*USUAL, "--to", "early", "--ask-everything").fine()
    assert outcome(refined / "early") == outcome(refined / "full"), "asking the rest later writes the same"
    assert len(list(read_responses(refined / "early/run"))) == full


def test_an_unreachable_model_stops_it_before_the_next_stage(here: Path, endpoint: Endpoint) -> None:
    """Otherwise every item would go to people for lack of an answer, and the next panel would be paid for nothing."""
    endpoint.rule = lambda attempt: failure(401, "wrong key")
    models = {**INSPECTORS, "i3": f"openai:m@{endpoint.url}"}
    write_yaml(here / "models.yaml", models)
    done = call(*USUAL, "--to", "d")
    assert done.code == 2
    assert "i3 was given up: 401" in done.err
    assert not (here / "d/verdicts.parquet").exists()
    endpoint.rule = lambda attempt: None
    call(*USUAL, "--to", "d").fine()
    assert by_item(here / "d")


def test_a_budget_is_for_all_stages_together(here: Path, endpoint: Endpoint) -> None:
    """Two panels, of which neither alone passes the limit, and a judge."""
    endpoint.answer = lambda attempt: "NO"
    write_yaml(here / "models.yaml", {**INSPECTORS, **EYES, "judge": f"openai:judge@{endpoint.url}"})
    write_yaml(here / "recipe.yaml", LADDER)
    call(*USUAL, "--to", "whole", *LADDER_PANELS).fine()
    needed = len(list(read_responses(here / "whole/run")))
    assert len(endpoint.attempts) >= 3
    for limit in (130, needed - 1):
        to = f"d{limit}"
        done = call(*USUAL, "--to", to, *LADDER_PANELS, "--budget", f"calls={limit}")
        assert done.code == 2
        assert f"the limit of {limit} calls is reached" in done.err
        assert "the same command goes on from here" in done.err
        assert not (here / to / "verdicts.parquet").exists()
        assert len(list(read_responses(here / to / "run"))) == limit
        call(*USUAL, "--to", to, *LADDER_PANELS).fine()
        assert outcome(here / to) == outcome(here / "whole")


def test_a_dry_run_touches_nothing(refined: Path) -> None:
    assert "1,600 calls" in call(*USUAL, "--to", "d", "--dry-run").fine()
    assert not (refined / "d").exists()
    before = hashes(refined / "early")
    call(*USUAL, "--to", "early", "--dry-run").fine()
    assert hashes(refined / "early") == before


def test_held_out_inspectors_answer_but_have_no_say(refined: Path) -> None:
    here = refined
    write_yaml(here / "models.yaml", INSPECTORS | {"out": "scripted:blind=0.9,seed=9"})
    said = call(*USUAL, "--to", "d", "--hold-out", "out").fine()
    assert outcome(here / "d") == outcome(here / "early")
    about = json.loads((here / "d/refine.json").read_text())
    assert about["panels"]["inspectors"] == {"seats": list(INSPECTORS), "held_out": ["out"]}
    residual = {(one["who"], one["when"]): one for one in about["residual_blind"]}
    assert set(residual) == {("panel", "before"), ("panel", "after"), ("held out", "before"), ("held out", "after")}
    assert residual["held out", "after"]["accuracy"]["n"] == len(kept(here / "d"))
    assert residual["held out", "before"]["accuracy"]["value"] == pytest.approx(0.9, abs=0.05)
    assert re.search("held out +after", said)
    asked = Run(here / "d/run").plan().to_pylist()
    assert sum(row["model"] == "out" for row in asked) == 40 * 10


def test_recorded_answers_give_the_verdicts_of_live_ones(refined: Path) -> None:
    call("refine", "b", "--recipe", "recipe.yaml", "--answers", "full/run", "--to", "recorded").fine()
    assert by_item(refined / "recorded") == by_item(refined / "full")
    assert verdicts(refined / "recorded")["n"].to_list() != verdicts(refined / "full")["n"].to_list()
    assert kept(refined / "recorded") == kept(refined / "full")


LADDER: dict[str, Any] = {
    "panels": {
        "inspectors": {"size": 4, "modality": "no-image"},
        "contestants": {"size": 2, "modality": "image"},
        "judges": {"size": 1},
    },
    "stages": [
        {"filter": "blind-hits", "panel": "inspectors", "keep": {"hits": {"op": "<=", "value": 2}}},
        {
            "grade": "difficulty",
            "panel": "contestants",
            "bands": {"easy": [2, 2], "middle": [1, 1], "hard": [0, 0]},
            "drop": ["easy"],
        },
        {"filter": "zero-pass", "panel": "contestants", "judge": "judges"},
        {"select": {"per": "core", "count": 2, "balance": ["difficulty"], "short": "keep-all"}},
    ],
}
EYES = {"e1": "scripted:right=0.6,seed=11", "e2": "scripted:right=0.5,seed=12"}
LADDER_PANELS = ("--panel", "inspectors=i1,i2,i3,i4", "--panel", "contestants=e1,e2", "--panel", "judges=judge")


def test_a_whole_recipe(here: Path, endpoint: Endpoint) -> None:
    endpoint.answer = lambda attempt: "NO" if int(attempt.key, 16) % 2 else "I think so.\nYES"
    write_yaml(here / "models.yaml", {**INSPECTORS, **EYES, "judge": f"openai:judge@{endpoint.url}"})
    write_yaml(here / "recipe.yaml", LADDER)
    call(*USUAL, "--to", "d", *LADDER_PANELS).fine()
    total = counts(here / "d")
    stages = ["blind-hits", "difficulty", "zero-pass", "select"]
    assert list(total) == stages
    for before, after in pairwise(stages):
        assert total[before][1] == total[after][0], "what one stage keeps, the next one gets"
    judged = by_item(here / "d", "zero-pass")
    graded = verdicts(here / "d").filter(pl.col("stage") == "difficulty")
    hard = {row["item"] for row in graded.iter_rows(named=True) if row["hits"] == 0 and row["verdict"] == "keep"}
    assert {name for name, verdict in judged.items() if verdict != "keep"} <= hard
    assert len(endpoint.attempts) == len(hard & set(judged))
    assert {"drop", "review"} <= {judged[name] for name in hard & set(judged)}
    assert all(len(attempt.images) == 1 for attempt in endpoint.attempts)
    for item in kept(here / "d"):
        assert item.tags["difficulty"] in ("middle", "hard")
    left = {name for name, verdict in by_item(here / "d", "blind-hits").items() if verdict == "keep"}
    plan = Run(here / "d/run").plan().to_pylist()
    assert {row["item"] for row in plan if row["model"] == "e1"} == left, "a later panel sees only what is left"
    asked, stored = len(endpoint.attempts), len(list(read_responses(here / "d/run")))
    first = outcome(here / "d")
    call(*USUAL, "--to", "d", *LADDER_PANELS).fine()
    assert outcome(here / "d") == first
    assert len(endpoint.attempts) == asked, "a judge is asked once"
    assert len(list(read_responses(here / "d/run"))) == stored, "nothing is asked again"
    recorded = ("refine", "b", "--recipe", "recipe.yaml", "--answers", "d/run", "--to", "r", *LADDER_PANELS[:4])
    call(*recorded).fine()
    unsure = verdicts(here / "r").filter(stage="zero-pass", verdict="review")
    assert set(unsure["reason"]) == {"no model answers it, and the judge gave neither YES nor NO"}
    assert "--panel judges: recorded answers judge nothing" in call(*recorded, *LADDER_PANELS[4:]).refused()


def test_a_recipe_that_leaves_nothing(refined: Path) -> None:
    """The benchmark of an earlier recipe does not outlive its verdicts."""
    write_yaml(refined / "models.yaml", dict.fromkeys(INSPECTORS, "scripted:blind=1"))
    stages = [*MAJORITY["stages"], {"select": {"count": 2, "short": "keep-all"}}]
    write_yaml(refined / "recipe.yaml", MAJORITY | {"stages": stages})
    assert (refined / "early/benchmark").exists()
    assert "no item is left, so no benchmark was written" in call(*USUAL, "--to", "early").fine()
    assert set(by_item(refined / "early").values()) == {"drop"}
    assert counts(refined / "early")["select"] == (0, 0, 0, 0, 0)
    assert not (refined / "early/benchmark").exists()


@pytest.mark.parametrize(
    ("select", "message"),
    [
        (
            {"per": "cor", "count": 2},
            "the stage select needs the tag cor, which the benchmark has not; its tags are core, number; "
            "say which of them is meant with --map-tags cor=TAG",
        ),
        (
            {"per": "core", "count": 2, "balance": ["axis"]},
            "the stage select needs the tag axis, which the benchmark has not",
        ),
        ({"per": "core", "count": 21}, 'the stage select: cannot take 21 of core "p": 20 are left, 1 short'),
        ({"total": 41}, "the stage select: cannot take 41 of all items: 40 are left"),
    ],
)
def test_a_selection_that_cannot_be_met_is_refused_before_models_are_asked(
    here: Path, select: dict[str, Any], message: str
) -> None:
    write_yaml(here / "recipe.yaml", {**MAJORITY, "stages": [*MAJORITY["stages"], {"select": select}]})
    assert message in call(*USUAL, "--to", "d").refused()
    assert not (here / "d").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--recipe", "recipe.yaml"), "the recipe needs answers: --models FILE asks models, --answers RUN"),
        (("--recipe", "mmstar", "--models", "models.yaml"), "the stage select: cannot take 250 of core"),
        ((*USUAL[2:], "--set", "inspectors.size=3"), "panel inspectors has 3 seats, not 4"),
        (
            (*USUAL[2:], "--set", "blind-hit.keep.hits=2"),
            "no stage or panel 'blind-hit'; did you mean \"blind-hits\"?",
        ),
        ((*USUAL[2:], "--prompts", "mmstra"), "no prompts 'mmstra'; did you mean \"mmstar\"?"),
        (("--recipe", "recipe.yaml", "--models", "models.yaml", "--panel", "x=i1"), 'no panel "x"'),
        (("--recipe", "recipe.yaml", "--models", "models.yaml", "--hold-out", "i9"), "i9 is on no panel"),
        (("--recipe", "recipe.yaml", "--answers", "nowhere"), "nowhere is no run folder"),
        (("--recipe", "recipe.yaml", "--answers", "r", "--dry-run"), "--dry-run"),
        (("--recipe", "mmstar", "--answers", "r", "--panel", "x=i1"), 'no panel "x"'),
    ],
)
def test_what_it_refuses(here: Path, words: tuple[str, ...], message: str) -> None:
    if "r" in words:
        call("run", "b", "--model", "i1=scripted:", "--condition", "no-image", "--to", "r", "--limit", 2).fine()
    assert message in call("refine", "b", "--to", "d", *words).refused()
    assert not (here / "d").exists()


def test_fewer_models_own_prompts_and_other_counts(here: Path) -> None:
    """A recipe's values and prompts from the command line; a smaller panel works with a note; all is recorded."""
    less = ("--panel", "inspectors=i1,i2", "--set", "inspectors.samples=2", "--set", "blind-hits.answers=1")
    done = call(*USUAL, "--to", "d", *less, "--prompts", "mmmu-pro")
    assert done.code == 0, done
    label = load_prompts("mmmu-pro").label
    assert "inspectors: 2 of the recipe's 4 models; thresholds and bands count as shares" in done.err
    assert f"asked with the prompts {label}" in done.err
    recipe = json.loads((here / "d/refine.json").read_text())["recipe"]
    assert [recipe["panels"]["inspectors"][key] for key in ("samples", "prompts")] == [2, label]
    assert recipe["stages"][0]["answers"] == {"op": ">", "value": 1}
    plan = pl.read_parquet(here / "d/run/plan.parquet")
    assert {*plan["prompts"]} == {label}
    assert {*plan["sample"]} == {0, 1}
    again = call("refine", "b", "--recipe", "recipe.yaml", "--answers", "d/run", "--to", "e")
    assert f"panel inspectors: i1 was asked with the prompts {label}, not eyetest" in again.err


def test_it_writes_into_no_other_folder(refined: Path) -> None:
    (refined / "d").mkdir()
    (refined / "d/thesis.tex").write_text("x")
    assert '"thesis.tex", which is not part of a refinement' in call(*USUAL, "--to", "d").refused()
    assert "is a file" in call(*USUAL, "--to", "models.yaml").refused()
    make_bench(refined / "other", 5)
    other = call("refine", "other", *USUAL[2:], "--to", "early")
    assert "holds answers to another benchmark" in other.refused()


def test_leaks_are_found_in_recorded_answers_where_it_is_said_whose_base_is_whose(workdir: Path) -> None:
    """Eye knows the first ten of thirty items, and its language model the first two of them."""
    write_bench(workdir / "b", [animals(f"{n:02}", 1, question=f"Which is {n}?") for n in range(30)])
    options, rows = "ABCD"[: len(animals("x", 1).choices)], ["item,model,sample,text"]
    for n in range(30):
        for sample in range(10):
            guess = options[(3 * n + sample) % len(options)]
            rows += [
                f"{n:02},eye,{sample},{'B' if n < 10 else guess}",
                f"{n:02},text,{sample},{'B' if n < 2 else guess}",
            ]
    (workdir / "m.csv").write_text("\n".join(rows) + "\n")
    call("import", "m.csv", "--to", "r", "--fill", "modality=no-image", "--bench", "b").fine()
    (workdir / "recipe.yaml").write_text(
        "panels: {pairs: {size: 2, modality: no-image, samples: 10}}\nstages: [{filter: leaks, panel: pairs}]\n"
    )
    (workdir / "models.yaml").write_text("eye: {spec: 'scripted:', base: text}\n")
    for more, first in (((), 0), (("--models", "models.yaml"), 2)):
        call("refine", "b", "--recipe", "recipe.yaml", "--answers", "r", "--to", f"d{first}", *more).fine()
        table = pl.read_parquet(workdir / f"d{first}/verdicts.parquet").filter(pl.col("verdict") == "drop")
        assert sorted(table["item"]) == [f"{n:02}" for n in range(first, 10)]
