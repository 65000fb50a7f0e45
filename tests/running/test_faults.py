"""A server that fails in every way: each call ends answered or failed with a reason. Budgets end a run cleanly."""

import re
from collections import Counter
from email.utils import formatdate
from pathlib import Path
from time import time

import pytest

from eyetest.runs import Run
from tests.endpoint import FAULTS, Attempt, Endpoint, Reply, completion, failure, fault, faults
from tests.running.benches import answers, make_bench, number_asked, stored
from tests.running.processes import Nursery

QUICK: dict[str, object] = {"backoff": 0.01, "first_byte": 3, "timeout": 60}
"""A busy machine answers within these seconds; calls that hang take as long for each attempt."""


def ask(endpoint: Endpoint, *more: object, to: str = "r", **entry: object) -> tuple[object, ...]:
    return ("run", "b", "--models", endpoint.models(**QUICK | entry), "--to", to, *more)


def test_five_percent_of_every_fault(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 300, image_count=20)
    nursery.run(*ask(endpoint, to="clean")).fine()
    clean = answers(tmp_path / "clean")
    endpoint.forget()
    endpoint.rule = faults(0.05, (*FAULTS, "raw"))
    done = nursery.run(*ask(endpoint, attempts=12)).fine()
    rows = stored(tmp_path / "r")
    assert len(rows) == len(clean) == 300
    for row in rows:
        assert (row.outcome, row.error, row.detail) == ("answered", "", ""), "twelve attempts are enough for all"
    assert answers(tmp_path / "r") == clean
    assert all(number == 1 for number in endpoint.answered.values())
    assert endpoint.sent.total() == sum(row.attempts for row in rows), "no attempt is hidden"
    told = Counter(dict(re.findall(r"(rate-limit|server|timeout|connection|garbage|empty) (\d+)", done.stdout)))
    assert told.keys(), done.stdout


def test_one_empty_answer_after_two_other_faults_is_asked_again(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery
) -> None:
    """Three empty answers are enough, but these were one empty answer and two attempts that said nothing of it."""
    make_bench(tmp_path / "b", 2)
    script = [fault("500"), fault("cut"), fault("empty"), None]
    endpoint.rule = lambda attempt: script[attempt.number - 1]
    nursery.run(*ask(endpoint)).fine()
    assert [(row.outcome, row.attempts) for row in stored(tmp_path / "r")] == [("answered", 4)] * 2


def test_what_cannot_be_answered_ends_failed_with_a_reason(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery
) -> None:
    """Every seventh question meets one fault for ever; the others are answered as if nothing had been."""
    make_bench(tmp_path / "b", 70)
    kinds = (*FAULTS, "raw")

    def rule(attempt: Attempt) -> Reply | None:
        number = number_asked(attempt.question)
        return fault(kinds[number // 7 % len(kinds)]) if number % 7 == 0 else None

    endpoint.rule = rule
    done = nursery.run(*ask(endpoint, attempts=4)).fine()
    assert "10 calls failed" in done.stderr
    rows = stored(tmp_path / "r")
    assert Counter(row.outcome for row in rows) == {"answered": 60, "failed": 10}
    failed = [row for row in rows if row.outcome == "failed"]
    assert {row.error for row in failed} == {"rate-limit", "server", "timeout", "connection", "garbage", "empty"}
    for row in failed:
        assert row.text is None
        assert row.detail
        assert row.attempts == (3 if row.error == "empty" else 4)
    again = nursery.run(*ask(endpoint)).fine()
    assert re.search(r"failed before +10 \(--retry-failed", again.stderr), again.stderr
    assert endpoint.sent.total() == 60 + sum(row.attempts for row in failed), "failed calls are left alone"

    endpoint.rule = lambda attempt: None
    nursery.run(*ask(endpoint, "--retry-failed")).fine()
    assert set(endpoint.answered.values()) == {1}
    outcomes = Run(tmp_path / "r").responses().column("outcome").to_pylist()
    assert outcomes == ["answered"] * 70
    assert set(Run(tmp_path / "r").errors()["error"]) == {""}


@pytest.mark.parametrize(
    ("status", "kind"), [(400, "bad-request"), (413, "too-large"), (422, "bad-request"), (405, "not-found")]
)
def test_a_question_that_is_refused_fails_at_once(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery, status: int, kind: str
) -> None:
    make_bench(tmp_path / "b", 6)
    words = "the image is too <large>\nfor \x1b[31mus"
    endpoint.rule = lambda attempt: failure(status, words) if "number 3?" in attempt.question else None
    nursery.run(*ask(endpoint)).fine()
    assert set(endpoint.sent.values()) == {1}
    (failed,) = [row for row in stored(tmp_path / "r") if row.outcome == "failed"]
    assert (failed.error, failed.attempts) == (kind, 1)
    assert failed.detail == f"{status}: the image is too <large> for \x1b[31mus"
    shown = nursery.run("show", "r").stdout
    assert f"1 × {kind}: {status}: the image is too <large>" in shown
    assert "\x1b[31mus" not in shown


@pytest.mark.parametrize(("status", "kind"), [(401, "auth"), (403, "auth"), (404, "not-found")])
def test_locked_out_gives_the_model_up_until_it_is_repaired(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery, status: int, kind: str
) -> None:
    make_bench(tmp_path / "b", 40)

    def rule(attempt: Attempt) -> Reply | None:
        right = attempt.headers.get("Authorization") == "Bearer right-key-0123456789"
        return None if right else failure(status, "who are you?")

    endpoint.rule = rule
    endpoint.latency = 0.01
    done = nursery.run(*ask(endpoint, "--concurrency", 4))
    assert done.code == 2
    errors = [line for line in done.stderr.splitlines() if line.startswith("note: m ")]
    assert errors == [f"note: m was given up: {status}: who are you?"]
    assert "Traceback" not in done.stderr
    first = stored(tmp_path / "r")
    assert 1 <= len(first) <= endpoint.sent.total() <= 8, "little more than what was in flight"
    assert {(row.outcome, row.error, row.text) for row in first} == {("failed", kind, None)}

    nursery.run(*ask(endpoint), env={"EYETEST_API_KEY": "right-key-0123456789"}).fine()
    assert len(answers(tmp_path / "r")) == 40
    assert set(Run(tmp_path / "r").errors()["error"]) == {""}


def test_a_model_that_wants_an_hour_is_given_up_and_the_other_finishes(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery
) -> None:
    """Calls that wait behind the long pause must go home, or the command stands there for the hour."""
    make_bench(tmp_path / "b", 60)
    slow = failure(429, "come back later", Retry_After="3600")
    endpoint.rule = lambda attempt: slow if attempt.body["model"] == "slow" else None
    models = ("--model", f"openai:slow@{endpoint.url}", "--model", f"openai:quick@{endpoint.url}")
    command = ("run", "b", "--to", "r", *models)
    process = nursery.start(*command)
    ended = process.ends_within(300)
    if not ended:
        process.kill()
    assert ended, "the run hangs behind a pause that nobody waits for"
    assert process.code == 2
    assert Counter(row.outcome for row in stored(tmp_path / "r"))["answered"] == 60
    assert "slow was given up: it asks for a pause of 3,600 s: 429: come back later" in process.stderr
    endpoint.rule = lambda attempt: None
    nursery.run(*command).fine()
    assert len(answers(tmp_path / "r")) == 120, "what the pause cut short is asked"


@pytest.mark.parametrize("how", ["seconds", "date", "milliseconds"])
def test_retry_after_is_honoured(tmp_path: Path, endpoint: Endpoint, nursery: Nursery, how: str) -> None:
    make_bench(tmp_path / "b", 3)
    came: dict[str, list[float]] = {}

    def rule(attempt: Attempt) -> Reply | None:
        came.setdefault(attempt.key, []).append(time())
        if attempt.number > 1:
            return None
        headers = {
            "seconds": {"Retry-After": "0.6"},
            "milliseconds": {"retry-after-ms": "600", "Retry-After": "0"},
            "date": {"Retry-After": formatdate(int(time()) + 2, usegmt=True)},
        }[how]
        return Reply(429, {"error": "slow down"}, headers)

    endpoint.rule = rule
    nursery.run(*ask(endpoint)).fine()
    for first, second in came.values():
        assert second - first >= 0.59
    assert len(came) == 3


def test_a_server_that_pushes_back_sees_fewer_at_once(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    """It takes six at once, and says so with 429 and 503; the client has to find that out and stay near it."""
    make_bench(tmp_path / "b", 240)
    endpoint.latency = 0.02
    refused = Counter[str]()
    flying: list[int] = []

    def rule(attempt: Attempt) -> Reply | None:
        flying.append(endpoint.in_flight)
        if endpoint.in_flight > 6:
            refused[attempt.key] += 1
            return failure(429 if int(attempt.key, 16) % 2 else 503, "too much")
        return None

    endpoint.rule = rule
    nursery.run(*ask(endpoint, "--concurrency", 64, attempts=30)).fine()
    assert len(answers(tmp_path / "r")) == 240
    late = flying[len(flying) // 2 :]
    assert endpoint.peak <= 32, "it backs off before it reaches what it may"
    assert sum(late) / len(late) <= 9
    assert refused.total() < 240, "refusals are the exception"


def test_blocked_and_truncated_are_outcomes(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 4)
    replies = [
        Reply(body=completion("A half", finish_reason="length")),
        Reply(body=completion("", finish_reason="content_filter")),
        Reply(400, {"error": {"message": "filtered", "code": "content_filter"}}),
        Reply(body=completion(None, message={"content": None, "refusal": "I will not"})),
    ]
    endpoint.rule = lambda attempt: replies[number_asked(attempt.question)]
    nursery.run(*ask(endpoint)).fine()
    found = sorted((row.outcome, row.text or "") for row in stored(tmp_path / "r"))
    assert found == [("answered", "I will not"), ("blocked", ""), ("blocked", ""), ("truncated", "A half")]
    assert set(endpoint.sent.values()) == {1}
    nursery.run(*ask(endpoint, "--retry-failed")).fine()
    assert endpoint.sent.total() == 4, "none of them is a failure"


def test_a_image_that_went_missing_fails_its_own_calls_only(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery
) -> None:
    bench = make_bench(tmp_path / "b", 8, image_count=4)
    victim = bench["q1"].images[0]
    next((tmp_path / "b").rglob(f"{victim.sha256}.*")).unlink()
    nursery.run(*ask(endpoint)).fine()
    outcomes = Counter((row.outcome, row.error) for row in stored(tmp_path / "r"))
    assert outcomes == {("answered", ""): 6, ("failed", "image"): 2}
    assert endpoint.sent.total() == 6


def test_a_redirect_is_not_followed_with_the_key(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 2)
    with Endpoint() as elsewhere:
        to = f"{elsewhere.url}/chat/completions"
        endpoint.rule = lambda attempt: Reply(307, b"moved", {"Location": to})
        done = nursery.run(*ask(endpoint), env={"EYETEST_API_KEY": "sk-0123456789abcdef"})
        assert elsewhere.sent.total() == 0
    assert "Traceback" not in done.stderr
    assert {row.outcome for row in stored(tmp_path / "r")} == {"failed"}


@pytest.mark.parametrize("most", [1, 10, 37, 90])
def test_a_budget_of_calls_is_exact(tmp_path: Path, endpoint: Endpoint, nursery: Nursery, most: int) -> None:
    make_bench(tmp_path / "b", 120)
    endpoint.latency = 0.005
    done = nursery.run(*ask(endpoint), "--budget", f"calls={most}").fine()
    assert f"the limit of {most} calls is reached; {120 - most} calls left" in done.stderr
    assert endpoint.sent.total() == most
    assert len(answers(tmp_path / "r")) == most
    nursery.run(*ask(endpoint)).fine()
    assert set(endpoint.sent.values()) == {1}
    assert len(answers(tmp_path / "r")) == 120


def test_a_budget_of_money(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 100, image_count=0)
    models = tmp_path / "models.yaml"
    models.write_text(f"m:\n  spec: openai:m@{endpoint.url}\n  price: {{input: 1000, output: 2000}}\n")
    command = ("run", "b", "--models", models, "--to", "r", "--max-tokens", 5, "--concurrency", 4)
    each = (11 * 1000 + 3 * 2000) / 1e6
    done = nursery.run(*command, "--budget", f"cost={50 * each}").fine()
    assert "the limit of 0.85 in money is reached" in done.stderr
    asked = endpoint.sent.total()
    assert 50 <= asked < 50 + 4, "only calls in flight pass the limit"
    assert len(answers(tmp_path / "r")) == asked
    assert f"cost {asked * each:,.2f}" in done.stdout
