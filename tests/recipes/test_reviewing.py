"""People in the middle of a recipe: it waits for them, takes their word, repairs what they repair, and goes on."""

import json
from pathlib import Path
from typing import Any

import pytest

from eyetest.recipes.reviews import left_to_people
from tests.endpoint import Endpoint
from tests.recipes.benches import by_item, counts, decide, kept, make_bench, outcome, verdicts, write_yaml
from tests.runs.written import content
from tests.support.command import call, measured

pytestmark = pytest.mark.journey

HITS = {"filter": "blind-hits", "panel": "inspectors", "keep": {"hits": {"op": "<", "value": 2}}}
TWO = {"inspectors": {"size": 2, "modality": "no-image"}}
REVIEWED: dict[str, Any] = {
    "panels": TWO,
    "stages": [HITS, {"review": {"reviewers": 2, "form": "Is it in the image?"}}, {"select": {"total": 3}}],
}
USUAL = ("refine", "b", "--recipe", "recipe.yaml", "--models", "models.yaml", "--to", "d")


@pytest.fixture
def here(workdir: Path) -> Path:
    make_bench(workdir / "b", 12)
    write_yaml(workdir / "models.yaml", {"a": "scripted:blind=0.5", "b": "scripted:blind=0.5,seed=1"})
    write_yaml(workdir / "recipe.yaml", REVIEWED)
    return workdir


def queue(folder: Path) -> list[dict[str, str]]:
    """The items that wait for people, each with its stage, reason and form."""
    record, waiting = left_to_people(folder)
    rows = verdicts(folder).filter(verdict="review").select("item", "stage", "reason").to_dicts()
    assert [row["item"] for row in rows] == waiting
    return [{**row, "form": record.recipe.reviewing.form} for row in rows]


def alike(items: list[str], **fields: str) -> list[dict[str, str]]:
    return [{"item": item, **fields} for item in items]


def test_it_waits_until_enough_people_have_decided(here: Path) -> None:
    output = call(*USUAL).fine()
    waiting = [row["item"] for row in queue(here / "d")]
    reached = [name for name, verdict in by_item(here / "d", "blind-hits").items() if verdict == "keep"]
    assert waiting == reached
    assert {row["form"] for row in queue(here / "d")} == {"Is it in the image?"}
    assert "nothing after review was done yet (--skip-review goes on without people)" in output
    assert list(counts(here / "d")) == ["blind-hits", "review"]
    assert not (here / "d/benchmark").exists()

    one_of_two = alike(waiting, reviewer="ann", decision="keep")
    decide(here / "d", *one_of_two)
    call(*USUAL).fine()
    assert set(verdicts(here / "d").filter(stage="review")["reason"]) == {"1 of 2 reviewers"}

    gone, *rest = waiting
    both = [*one_of_two, *alike(rest, reviewer="bob", decision="keep")]
    second = {"item": gone, "reviewer": "ann", "decision": "drop", "reason": "blurred"}
    decide(here / "d", *both, second, {"item": gone, "reviewer": "bob", "decision": "drop"})
    call(*USUAL).fine()
    assert queue(here / "d") == []
    assert counts(here / "d")["review"] == (len(reached), len(reached) - 1, 1, 0, 0)
    assert len({item.id for item in kept(here / "d")} & {*rest}) == 3
    reasons = dict(verdicts(here / "d").filter(stage="review").select("item", "reason").iter_rows())
    assert (reasons[gone], reasons[rest[0]]) == ("blurred", "2 of 2 reviewers")


def test_without_people(here: Path) -> None:
    call(*USUAL, "--skip-review").fine()
    assert set(verdicts(here / "d").filter(stage="review").get_column("reason")) == {"not reviewed"}
    assert len(kept(here / "d")) == 3
    call(*USUAL).fine()
    assert not (here / "d/benchmark").exists(), "what was not reviewed does not stay there as if it had been"


def test_what_a_reviewer_mended(here: Path) -> None:
    write_yaml(here / "recipe.yaml", {"panels": TWO, "stages": [HITS, {"review": {"reviewers": 1}}]})
    call(*USUAL).fine()
    first, second, *rest = [row["item"] for row in queue(here / "d")]
    edits = {"question": "Which one?", "answer": "D", "a": "=new option"}
    decide(
        here / "d",
        *alike(rest, reviewer="ann", decision="keep", edits=""),
        {"item": first, "reviewer": "ann", "decision": "fix", "edits": json.dumps(edits)},
        {"item": second, "reviewer": "ann", "decision": "fix", "edits": json.dumps({"question": "old"})},
        {"item": second, "reviewer": "ann", "decision": "fix", "edits": json.dumps({"question": "new"})},
    )
    call(*USUAL).fine()
    found = {item.id: item for item in kept(here / "d")}
    assert found[first].question == "Which one?"
    assert (found[first].choices[0].text, found[first].gold) == ("=new option", (3,))
    assert found[second].question == "new"
    assert by_item(here / "d", "review")[first] == "fix"
    assert counts(here / "d")["review"] == (len(rest) + 2, len(rest), 0, 2, 0)


def blind(folder: Path) -> dict[tuple[str, str], float]:
    found = json.loads((folder / "refine.json").read_text())["residual_blind"]
    return {(one["who"], one["when"]): one["accuracy"]["value"] for one in found}


def test_measures_of_the_run_count_with_the_golds_that_people_mended(here: Path, endpoint: Endpoint) -> None:
    """As the refinement does, on all that it says."""
    endpoint.answer = lambda attempt: "D"
    write_yaml(here / "models.yaml", {"eye": f"openai:m@{endpoint.url}"})
    strict = {"filter": "blind-hits", "panel": "eyes", "keep": {"hits": {"op": "<", "value": 1}}}
    recipe = {
        "panels": {"eyes": {"size": 1, "modality": "no-image"}},
        "stages": [strict, {"review": {"reviewers": 1}}],
    }
    write_yaml(here / "recipe.yaml", recipe)
    call(*USUAL).fine()
    waiting = [row["item"] for row in queue(here / "d")]
    (before,) = measured("accuracy", "d/run")
    assert (before["n"], before["accuracy"], len(waiting)) == (12, 0.25, 9)
    edits = json.dumps({"answer": "D"})
    decide(here / "d", *alike(waiting, reviewer="ann", decision="fix", edits=edits))
    asked = len(endpoint.attempts)
    call(*USUAL).fine()
    assert len(endpoint.attempts) == asked, "a gold that changed is no reason to ask"
    assert {item.gold for item in kept(here / "d")} == {(3,)}
    (after,) = measured("accuracy", "d/run")
    assert (after["accuracy"], after["n"]) == (1.0, 12)
    assert blind(here / "d") == {("panel", "before"): before["accuracy"], ("panel", "after"): 1.0}
    call("score", "d/run", "--bench", "b").fine()
    (old,) = measured("accuracy", "d/run")
    assert old["accuracy"] == before["accuracy"], "the benchmark that one names is the one that counts"
    call("score", "d/run").fine()
    (here / "d/review/decisions.csv").unlink()
    call(*USUAL).fine()
    assert measured("accuracy", "d/run") == [before], "what people take back is taken back"


def test_an_answer_counts_for_the_wording_that_it_was_given_to(here: Path, endpoint: Endpoint) -> None:
    endpoint.answer = lambda attempt: "D"
    write_yaml(here / "models.yaml", {"one": f"openai:m@{endpoint.url}", "two": f"openai:n@{endpoint.url}"})
    panels: dict[str, Any] = {"first": {"size": 1}, "second": {"size": 1}}
    few = {"op": "<", "value": 1}
    stages = [
        {"filter": "blind-hits", "name": "before", "panel": "first", "keep": {"hits": few}},
        {"review": {}},
        {"filter": "blind-hits", "name": "after", "panel": "second", "keep": {"hits": few}},
    ]
    write_yaml(here / "recipe.yaml", {"panels": panels, "stages": stages})
    command = (*USUAL, "--skip-review", "--panel", "first=one", "--panel", "second=two")
    call(*command).fine()
    whole = {row["model"]: row["n"] for row in measured("accuracy", "d/run")}
    edits = json.dumps({"question": "Which is zero?", "answer": "C"})
    decide(here / "d", {"item": "q0", "reviewer": "ann", "decision": "fix", "edits": edits})
    call(*command).fine()
    found = {row["model"]: row for row in measured("accuracy", "d/run", "--where", "item=q0")}
    assert {name: row["accuracy"] for name, row in found.items()} == {"two": 0.0}
    rest = {row["model"]: row["n"] for row in measured("accuracy", "d/run")}
    assert rest == {"one": whole["one"] - 1, "two": whole["two"]}
    assert "1 answer to a wording that people have changed since left out" in call("measure", "accuracy", "d/run").err
    assert "1 answers are to a wording that people have changed since" in call("score", "d/run").err
    call("score", "d/run", "--bench", "b").fine()
    (old,) = measured("accuracy", "d/run", "--where", "item=q0")
    assert (old["model"], old["accuracy"]) == ("one", 0.0)
    call("score", "d/run", "--bench", "d/benchmark").fine()
    (new,) = measured("accuracy", "d/run", "--where", "item=q0")
    assert (new["model"], new["accuracy"]) == ("two", 0.0)


def test_recorded_answers_say_nothing_about_an_item_that_people_changed(here: Path, endpoint: Endpoint) -> None:
    endpoint.answer = lambda attempt: "D"
    call("run", "b", "--model", f"eye=openai:m@{endpoint.url}", "--to", "run").fine()
    one = {"eyes": {"size": 1}}
    strict = {"filter": "blind-hits", "name": "later", "panel": "eyes", "keep": {"hits": {"op": "<", "value": 1}}}
    write_yaml(here / "recipe.yaml", {"panels": one, "stages": [{"review": {}}, strict]})
    command = ("refine", "b", "--recipe", "recipe.yaml", "--answers", "run", "--to", "d", "--skip-review")
    call(*command).fine()
    wrong = [name for name, verdict in by_item(here / "d", "later").items() if verdict == "keep"]
    reworded = json.dumps({"question": "Which is it?", "answer": "D"})
    decide(
        here / "d",
        {"item": wrong[0], "reviewer": "ann", "decision": "fix", "edits": json.dumps({"answer": "D"})},
        {"item": wrong[1], "reviewer": "ann", "decision": "fix", "edits": reworded},
    )
    call(*command).fine()
    later = by_item(here / "d", "later")
    assert (later[wrong[0]], later[wrong[1]]) == ("fix", "fix"), "no answer counts, so people had to say"
    assert [row["accuracy"] for row in measured("accuracy", "run")] == [pytest.approx(1 - len(wrong) / len(later))], (
        "the run belongs to another user"
    )


def test_what_a_screen_left_to_people_is_taken_from_them(here: Path) -> None:
    write_yaml(here / "models.yaml", {"a": "scripted:blind=0.9", "b": "scripted:blind=0.5,dead=0.5"})
    write_yaml(here / "recipe.yaml", {"panels": TWO, "stages": [HITS]})
    call(*USUAL).fine()
    one, two, *rest = [row["item"] for row in queue(here / "d")]
    assert not {one, two} & {item.id for item in kept(here / "d")}
    decide(
        here / "d",
        {"item": one, "decision": "keep", "reason": "looked"},
        {"item": two, "decision": "drop", "reason": ""},
    )
    call(*USUAL).fine()
    found = dict(verdicts(here / "d").select("item", "reason").iter_rows())
    assert found[one] == "1 answer missing, which could change the verdict; decided by a person: looked"
    assert by_item(here / "d")[one] == "keep"
    assert by_item(here / "d")[two] == "drop"
    assert [row["item"] for row in queue(here / "d")] == rest
    assert one in {item.id for item in kept(here / "d")}
    first = outcome(here / "d")
    call(*USUAL, "--ask-everything").fine()
    assert outcome(here / "d") == first


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("item,verdict\nq0,keep\n", "has no column decision"),
        ("item,decision\nunknown,keep\n", "line 2: no item 'unknown'"),
        ('item,decision,edits\nq0,fix,"{"\n', "line 2: edits are no JSON object"),
        ('item,decision,edits\nq0,fix,"{""answer"": ""Z""}"\n', "item 'q0': an answer is one of A, B, C, D, not 'Z'"),
    ],
)
def test_a_bad_table_is_refused_before_any_call(here: Path, table: str, message: str) -> None:
    (here / "d/review").mkdir(parents=True)
    (here / "d/review/decisions.csv").write_text(table)
    assert message in call(*USUAL).refused()
    assert not (here / "d/run").exists()


@pytest.mark.parametrize("more", [("--skip-review",), ()])
def test_a_command_that_fails_leaves_everything_as_it_was(here: Path, more: tuple[str, ...]) -> None:
    """The queue above all, into which people may have written for days; also the benchmark that is there already."""
    call(*USUAL).fine()
    decisions = alike([row["item"] for row in queue(here / "d")], decision="keep")
    if not more:
        decide(here / "d", *({**row, "reviewer": who} for row in decisions for who in ("ann", "bob")))
        call(*USUAL).fine()
        assert len(kept(here / "d")) == 3
    before = content(here / "d")
    too_many = {**REVIEWED, "stages": [*REVIEWED["stages"][:2], {"select": {"total": 12}}]}
    write_yaml(here / "recipe.yaml", too_many)
    done = call(*USUAL, *more)
    assert done.code == 2
    assert "cannot take 12 of all items" in done.err
    assert "(blind-hits: 12 in, " in done.err
    after = content(here / "d")
    asked = {name for name in after if name.startswith("run/")}
    assert {name: after[name] for name in before if name not in asked} == {
        name: data for name, data in before.items() if name not in asked
    }
