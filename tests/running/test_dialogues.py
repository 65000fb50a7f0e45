"""Dialogues that go on from a model's own answers: turn by turn, stopped anywhere, gone on with where they were."""

import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest.benchmarks import Benchmark
from eyetest.models import parse_models
from eyetest.records import Condition, Item, Turn
from eyetest.running import Asking, Limits, Session
from eyetest.runs import Run
from tests.endpoint import Attempt, Endpoint, draw, failure
from tests.running.benches import answers, make_dialogues, manifest, stored
from tests.running.processes import Nursery, killed_while_asking
from tests.scoring.test_table import make_bench

OWN = (Condition(history="own"),)


def turn_of(attempt: Attempt) -> str:
    """The first line of what was asked last: ``Turn 2 of 0?``."""
    return attempt.question.splitlines()[0]


def told(attempt: Attempt) -> list[str]:
    """The answers that were told, in the order of the turns."""
    return [message["content"] for message in attempt.body["messages"] if message["role"] == "assistant"]


def chosen(attempt: Attempt) -> str:
    """The option that the endpoint's answer names, in words; it offers A to D."""
    letter = "ABCD"[int(attempt.key, 16) % 4]
    line = next(line for line in attempt.question.splitlines() if line.startswith(f"{letter}. "))
    return line.removeprefix(f"{letter}. ")


def plan(run: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = Run(run).plan().to_pylist()
    return rows


def ask(bench: Benchmark, to: Path, endpoint: Endpoint, **asking: Any) -> Any:
    entries = parse_models([f"openai:m@{endpoint.url}"])
    limits = asking.pop("limits", Limits(backoff=0.001, attempts=2))
    return Session(bench, entries, Asking(**({"conditions": OWN, "limits": limits} | asking))).run(to)


def test_each_turn_is_told_what_was_said_before(tmp_path: Path, endpoint: Endpoint) -> None:
    bench = make_dialogues(tmp_path / "b", dialogues=5, turns=4)
    progress = ask(bench, tmp_path / "r", endpoint)
    assert (progress.to_ask, progress.done, progress.left) == (21, 21, 0)
    by_turn = {turn_of(attempt): attempt for attempt in endpoint.attempts}
    assert len(by_turn) == len(endpoint.attempts) == 21
    wrong = 0
    for dialogue in range(5):
        said = [chosen(by_turn[f"Turn {turn} of {dialogue}?"]) for turn in range(1, 5)]
        for turn in range(1, 5):
            assert told(by_turn[f"Turn {turn} of {dialogue}?"]) == said[: turn - 1]
        wrong += sum(not answer.startswith("gold") for answer in said[:-1])
    assert wrong > 5, "an endpoint that is always right would show nothing"
    assert {row["history"] for row in plan(tmp_path / "r")} == {"own"}
    assert {row["request"] for row in plan(tmp_path / "r")} == {
        response.request for response in stored(tmp_path / "r")
    }


def test_samples_go_on_from_their_own_answers(tmp_path: Path, endpoint: Endpoint) -> None:
    bench = make_dialogues(tmp_path / "b", dialogues=1, turns=2)
    ask(bench, tmp_path / "r", endpoint, samples=6, sampling={"temperature": 1})
    by_seed = {(turn_of(a), a.body["seed"]): a for a in endpoint.attempts if "Turn" in turn_of(a)}
    assert len(by_seed) == 12
    said = [chosen(by_seed["Turn 1 of 0?", seed]) for seed in range(6)]
    assert [told(by_seed["Turn 2 of 0?", seed]) for seed in range(6)] == [[answer] for answer in said]
    assert len(set(said)) > 1


def test_what_tells_no_history_is_asked_once_for_both(tmp_path: Path, endpoint: Endpoint) -> None:
    bench = make_dialogues(tmp_path / "b", dialogues=2, turns=2)
    endpoint.answer = lambda attempt: "B" if " of 0?" in turn_of(attempt) else "A"
    ask(bench, tmp_path / "r", endpoint, conditions=(Condition(), *OWN))
    rows = {(row["item"], row["history"]): row["request"] for row in plan(tmp_path / "r")}
    assert len(rows) == 10
    same = {item for item, history in rows if rows[item, "gold"] == rows[item, "own"]}
    assert same == {"alone", "d0t1", "d1t1", "d0t2"}, "who was right so far is told the gold either way"
    assert len(endpoint.attempts) == 6


def test_a_turn_that_failed_ends_its_dialogue(tmp_path: Path, endpoint: Endpoint) -> None:
    bench = make_dialogues(tmp_path / "b", dialogues=2, turns=4)
    endpoint.rule = lambda attempt: failure(400, "no") if turn_of(attempt) == "Turn 2 of 1?" else None
    progress = ask(bench, tmp_path / "r", endpoint)
    assert (progress.outcomes["failed"], progress.unanswered, progress.left) == (1, 2, 0)
    assert "Turn 3 of 1?" not in {turn_of(attempt) for attempt in endpoint.attempts}
    assert manifest(tmp_path / "r")["steps"][-1]["not_applicable"] == {"no answer to an earlier turn": 2}
    open_ = {row["item"] for row in plan(tmp_path / "r") if not row["request"]}
    assert open_ == {"d1t3", "d1t4"}

    endpoint.forget()
    again = ask(bench, tmp_path / "r", endpoint)
    assert (again.to_ask, again.unanswered, len(endpoint.attempts)) == (0, 2, 0)

    endpoint.rule = lambda attempt: None
    repaired = ask(bench, tmp_path / "r", endpoint, retry_failed=True)
    assert (repaired.done, repaired.unanswered, repaired.left) == (3, 0, 0)
    assert all(row["request"] for row in plan(tmp_path / "r"))


def test_a_turn_that_nobody_is_asked_is_told_with_its_gold(tmp_path: Path, endpoint: Endpoint) -> None:
    bench = make_dialogues(tmp_path / "b", dialogues=2, turns=4, left_out=("d0t2", "d1t1"))
    ask(bench, tmp_path / "r", endpoint)
    by_turn = {turn_of(attempt): attempt for attempt in endpoint.attempts}
    said = [chosen(by_turn[f"Turn {turn} of 0?"]) for turn in (1, 3)]
    assert told(by_turn["Turn 4 of 0?"]) == [said[0], "gold 2", said[1]]
    assert told(by_turn["Turn 2 of 1?"]) == ["gold 1"]
    assert told(by_turn["Turn 3 of 1?"]) == ["gold 1", chosen(by_turn["Turn 2 of 1?"])]


def test_items_that_cannot_be_asked_so(tmp_path: Path, endpoint: Endpoint) -> None:
    items = []
    for name, turn in (("one", 1), ("other", 1), ("later", 2), ("untagged", 0)):
        tags = {"dialogue": "d", "turn": turn} if turn else {}
        history = (Turn("Is it?", "yes"),) if turn != 1 else ()
        items.append(Item(id=name, question=f"{name}?", history=history, references=("no",), tags=tags))
    ask(make_bench(tmp_path / "b", items), tmp_path / "r", endpoint)
    reasons = {"an earlier turn is there twice": 1, "no dialogue": 1}
    assert manifest(tmp_path / "r")["steps"][-1]["not_applicable"] == reasons
    assert len(plan(tmp_path / "r")) == 2


@pytest.mark.parametrize("named", [{"items": ("d1t3",)}, {"limit": 2}])
def test_chosen_items_bring_the_turns_before_them(tmp_path: Path, endpoint: Endpoint, named: dict[str, Any]) -> None:
    """The first items of the benchmark are the one that is alone, and the last turn of the first dialogue."""
    bench = make_dialogues(tmp_path / "b", dialogues=2, turns=3)
    asking = Asking(conditions=(Condition(), *OWN), **named)
    session = Session(bench, parse_models([f"openai:m@{endpoint.url}"]), asking)
    session.run(tmp_path / "r")
    rows = Counter((row["item"], row["history"]) for row in plan(tmp_path / "r"))
    last, *others = ("d1t3",) if "items" in named else ("d0t3", "alone")
    earlier = [last[:3] + number for number in "12"]
    chosen_rows = [(item, history) for item in (last, *others) for history in ("gold", "own")]
    assert rows == Counter([*chosen_rows, *((item, "own") for item in earlier)])


def test_killed_dialogues_go_on_at_their_turn(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_dialogues(tmp_path / "b", dialogues=12, turns=4)
    endpoint.latency = 0.01
    command = ("run", "b", "--model", f"openai:m@{endpoint.url}", "--condition", "own-history", "--concurrency", 3)
    lost: Counter[str] = Counter()
    moments = []
    for number in range(5):
        sent = killed_while_asking(nursery, endpoint, (*command, "--to", "killed"), 8, 0.02 * draw(number))
        kept = {(response.text or "").split()[-1] for response in stored(tmp_path / "killed")}
        lost.update(sent.keys() - kept)
        moments.append(len(kept))
    assert 12 < moments[-1] < 49, "the kills have to fall into several turns"
    nursery.run(*command, "--to", "killed").fine()
    assert all(times == 1 + lost[key] for key, times in endpoint.sent.items()), (
        "nothing that was stored is asked again"
    )

    nursery.run(*command, "--to", "whole").fine()
    assert answers(tmp_path / "killed") == answers(tmp_path / "whole")
    assert plan(tmp_path / "killed") == plan(tmp_path / "whole")
    shown = json.loads(nursery.run("show", "killed", "--output", "json").stdout)
    assert [(group["planned"], group["answered"]) for group in shown["groups"]] == [(49, 49)]


def test_status_and_explain_tell_of_turns(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_dialogues(tmp_path / "b", dialogues=2, turns=3)
    said = {"Turn 1 of 0?": "C", "Turn 2 of 0?": "no idea"}
    endpoint.answer = lambda attempt: said.get(turn_of(attempt), "A")
    endpoint.rule = lambda attempt: failure(400, "no") if turn_of(attempt) == "Turn 1 of 1?" else None
    command = ("run", "b", "--model", f"m=openai:m@{endpoint.url}", "--to", "r")
    done = nursery.run(*command, "--condition", "own-history")
    assert "2 not asked (no answer to an earlier turn)" in done.stdout
    status = nursery.run("show", "r")
    assert "2 could not be asked: no answer to an earlier turn" in status.stderr
    shown = nursery.run("show", "r", "d0t3").stdout
    assert "m · no-image, direct, history own, sample 0" in shown
    assert "odd 1" in shown
    assert "no idea" in shown
    assert "2 calls have no answer yet" not in shown
    refused = nursery.run("show", "b", "d0t3", "--condition", "own-history").refused()
    assert "own answers are known only in a run" in refused


@settings(max_examples=12, deadline=None)
@given(stops=st.lists(st.integers(1, 9), max_size=4), dead=st.sampled_from(["", ",dead=0.2"]))
def test_stopped_anywhere_it_ends_as_if_it_had_not(stops: list[int], dead: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bench = make_dialogues(folder / "b", dialogues=3, turns=3)
        entries = parse_models([f"m=scripted:right=0.5{dead}"])
        for calls in (*stops, None):
            Session(bench, entries, Asking(conditions=OWN, limits=Limits(calls=calls))).run(folder / "stopped")
        Session(bench, entries, Asking(conditions=OWN)).run(folder / "whole")
        assert answers(folder / "stopped") == answers(folder / "whole")
        assert plan(folder / "stopped") == plan(folder / "whole")
        ends = [manifest(folder / run)["steps"][-1] for run in ("stopped", "whole")]
        assert [end["planned"] for end in ends] == [10, 10]
        assert ends[0].get("not_applicable") == ends[1].get("not_applicable")
