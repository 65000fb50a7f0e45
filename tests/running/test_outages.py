"""What may end a model, and what only makes it wait: servers that go away, come back, and mislead."""

import asyncio
import gzip
import re
import socket
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from eyetest.models import Call, CallError, Surroundings, make_models, parse_models
from eyetest.records import ModelEntry, Response
from eyetest.running import Asking, Limits, Plan, Progress, Runner, Session, execute
from eyetest.running.limits import line
from eyetest.runs import Run
from tests.endpoint import Attempt, Endpoint, Reply, completion, failure, fault
from tests.running.benches import answers, make_bench, number_asked, stored
from tests.running.processes import Nursery, until

QUICK: dict[str, object] = {"backoff": 0.01, "first_byte": 0.4, "timeout": 3, "attempts": 3}


def ask(endpoint: Endpoint, *more: object, **entry: object) -> tuple[object, ...]:
    return ("run", "b", "--models", endpoint.models(**QUICK | entry), "--to", "r", *more)


def number(attempt: Attempt) -> int:
    return number_asked(attempt.question)


def on(numbers: set[int], reply: Reply) -> Callable[[Attempt], Reply | None]:
    return lambda attempt: reply if number(attempt) in numbers else None


ECHO = "Which billing address is on the invoice? insufficient_quota, content_filter, model not found, wrong api key"
SINGLE = {
    "422 that quotes the question": Reply(422, {"detail": [{"msg": "too long", "input": ECHO, "type": "too_long"}]}),
    "400 that quotes the question": failure(400, f"cannot parse: {ECHO}"),
    "413 that quotes the question": Reply(413, ECHO.encode()),
    "500 that quotes the question": failure(500, f"while reading {ECHO}"),
    "403 of a gateway": failure(403, "this prompt is not allowed here"),
    "404 of a router": failure(404, "no endpoints found that support image input"),
    "401 now and then": failure(401, "token is being renewed"),
    "402": failure(402, "this request requires more credits, or fewer max_tokens"),
    "302 to a login page": Reply(302, b"", {"Location": "/login"}),
    "400 unknown model": Reply(400, {"error": {"message": "x is not a valid model ID", "code": 400}}),
    "429 with an hour": failure(429, "slow down", Retry_After="3600"),
    "deep": Reply(body=b"[" * 100_000),
    "deep error": Reply(500, b"[" * 100_000),
    "a bomb": Reply(body=gzip.compress(b" " * 50_000_000), headers={"Content-Encoding": "gzip"}),
    "not packed at all": Reply(body=b"plain", headers={"Content-Encoding": "gzip"}),
    "an error without end": Reply(503, b"x" * 3_000_000),
    "many lists": Reply(body=b'{"choices":[' + b"[]," * 2_000_000 + b"0]}"),
}


@pytest.mark.parametrize("kind", SINGLE)
def test_one_odd_reply_among_answers_is_one_failure(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery, kind: str
) -> None:
    make_bench(tmp_path / "b", 60)
    endpoint.latency = 0.005
    seen: list[int] = []

    def rule(attempt: Attempt) -> Reply | None:
        seen.append(number(attempt))
        return SINGLE[kind] if number(attempt) == 40 and endpoint.answered else None

    endpoint.rule = rule
    done = nursery.run(*ask(endpoint, "--concurrency", 2)).fine()
    assert "given up" not in done.stderr
    assert "Traceback" not in done.stderr
    outcomes = Counter(row.outcome for row in stored(tmp_path / "r"))
    assert outcomes == {"answered": 59, "failed": 1}
    (failed,) = [row for row in stored(tmp_path / "r") if row.outcome == "failed"]
    assert failed.detail


@pytest.mark.parametrize("status", [400, 403])
def test_filtered_replies_are_outcomes_however_many(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery, status: int
) -> None:
    make_bench(tmp_path / "b", 160)
    bodies: list[dict[str, Any]] = [
        {"error": {"message": "filtered", "code": "content_filter"}},
        {"error": {"message": "no", "innererror": {"code": "ResponsibleAIPolicyViolation"}}},
        {"error": {"message": "no", "code": status, "metadata": {"reasons": ["x"], "flagged_input": "y"}}},
        {"code": "DataInspectionFailed", "message": "inappropriate"},
    ]
    endpoint.rule = lambda a: Reply(status, bodies[number(a) % 4]) if number(a) < 150 else None
    nursery.run(*ask(endpoint)).fine()
    assert Counter(row.outcome for row in stored(tmp_path / "r")) == {"blocked": 150, "answered": 10}


AWAY: dict[str, Callable[[Attempt], Reply]] = {
    "cut": lambda a: fault("cut"),
    "bad gateway": lambda a: Reply(502, b"<html>bad gateway"),
    "starting": lambda a: failure(503, "loading model"),
    "broken": lambda a: failure(500, "engine dead"),
    "quota": lambda a: Reply(429, {"error": {"message": "no money", "code": "insufficient_quota"}}),
    "key revoked": lambda a: failure(401, "no such key"),
    "login page": lambda a: Reply(body=b"<html>please log in"),
    "proxy's 404": lambda a: Reply(404, b"404 page not found"),
}


@pytest.mark.parametrize("how", AWAY)
@pytest.mark.parametrize("at_once", [1, 16])
def test_a_server_that_goes_away_and_comes_back_costs_nothing(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery, how: str, at_once: int
) -> None:
    """From the twentieth question on it is away for longer than attempts last; all is answered in the end."""
    make_bench(tmp_path / "b", 60)
    times: list[float] = []

    def rule(attempt: Attempt) -> Reply | None:
        times.append(monotonic())
        return AWAY[how](attempt) if len(times) > 20 and times[-1] < times[20] + 0.7 else None

    endpoint.rule = rule
    nursery.run(*ask(endpoint, "--concurrency", at_once)).fine()
    assert len(answers(tmp_path / "r")) == 60
    assert not [row for row in stored(tmp_path / "r") if row.outcome == "failed"]


@pytest.mark.parametrize("how", AWAY)
def test_a_server_that_stays_away_stops_the_run_and_loses_nothing(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery, how: str
) -> None:
    make_bench(tmp_path / "b", 60)
    count = 0

    def rule(attempt: Attempt) -> Reply | None:
        nonlocal count
        count += 1
        return AWAY[how](attempt) if count > 20 else None

    endpoint.rule = rule
    done = nursery.run(*ask(endpoint, patience=1))
    assert done.code == 2
    assert done.stderr.count("m was given up: ") == 1
    assert "run the same again to continue" in done.stderr
    assert count < 400, "nobody asks 60 questions of a server that is not there"
    endpoint.rule = lambda attempt: None
    nursery.run(*ask(endpoint)).fine()
    assert set(Run(tmp_path / "r").errors()["error"]) == {""}
    assert len(answers(tmp_path / "r")) == 60


def test_a_port_that_closes_for_a_while(tmp_path: Path, nursery: Nursery) -> None:
    """The server is gone altogether, connections are refused, and it comes back at the same port."""
    make_bench(tmp_path / "b", 300)
    with Endpoint() as first:
        port = first.port
        first.latency = 0.01
        first.rule = lambda attempt: None
        command = nursery.start(*ask(first, "--concurrency", 4, backoff=0.2))
        until(lambda: first.answered.total() > 30, "some answers")
    until(lambda: _is_closed(port))
    with Endpoint(port) as second:
        command.wait()
        assert command.code == 0, command.stderr
        assert second.answered.total() > 0
    assert len(answers(tmp_path / "r")) == 300
    assert "failed" not in Counter(row.outcome for row in stored(tmp_path / "r"))


def _is_closed(port: int) -> bool:
    with socket.socket() as door:
        return door.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:9/v1", "http://no-such-host.invalid/v1", "https://127.0.0.1:{port}/v1"],
    ids=["refused", "unknown name", "no TLS there"],
)
def test_a_wrong_address_ends_with_one_line(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery, address: str
) -> None:
    make_bench(tmp_path / "b", 200)
    url = address.format(port=endpoint.port)
    done = nursery.run(*ask(endpoint, spec=f"openai:m@{url}", patience=1))
    assert done.code == 2
    errors = [line for line in done.stderr.splitlines() if "given up" in line]
    assert len(errors) == 1, done.stderr
    assert re.search(r"m was given up: cannot reach \S+: .+ \(waited \d+ s\)", errors[0])
    assert stored(tmp_path / "r") == []


def test_waiting_is_told(tmp_path: Path, endpoint: Endpoint) -> None:
    bench = make_bench(tmp_path / "b", 12)
    progress, told = Progress(), []

    def rule(attempt: Attempt) -> Reply | None:
        told.append(line(progress))
        return failure(502, "restarting") if 4 < len(told) < 26 else None

    endpoint.rule = rule
    asking = Asking(limits=Limits(concurrency=1, attempts=2, backoff=0.001))
    Session(bench, {"m": ModelEntry(spec=f"openai:m@{endpoint.url}")}, asking).run(tmp_path / "r", progress=progress)
    assert progress.outcomes == {"answered": 12}
    assert any(re.search(r"waiting for m: 502: restarting \(waited \d+ s, up to 600 s\)", words) for words in told)
    assert "waiting" not in line(progress)


def test_questions_that_break_the_server_do_not_stand_in_the_way_for_ever(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery
) -> None:
    """Thirty neighbours that give 500 look like a server that is down; the next session begins with the others."""
    make_bench(tmp_path / "b", 60, image_count=0)
    endpoint.rule = on(set(range(10, 40)), failure(500, "cannot decode the image"))
    command = ask(endpoint, "--concurrency", 1, patience=1)
    for _ in range(4):
        done = nursery.run(*command)
    assert len(answers(tmp_path / "r")) == 30, done.stderr


def test_an_answer_to_an_earlier_question_does_not_speak_for_a_server_that_has_gone_since(tmp_path: Path) -> None:
    """One question takes long, is answered while all others are turned away, and proves nothing about now."""
    bench = make_bench(tmp_path / "b", 12)
    (model,) = make_models(parse_models(["m=scripted:"]), Surroundings())
    scripted, began = model.answer, monotonic()

    async def answer(call: Call) -> Response:
        if call.item.id == "q0":
            await asyncio.sleep(0.3)
        elif monotonic() < began + 0.9:
            raise CallError("server", "500: engine dead", passing=True, blame="either")
        return await scripted(call)

    model.answer = answer  # type: ignore[method-assign]
    responses: list[Response] = []

    async def ask_all() -> None:
        async with Runner([model], responses.append, Limits(attempts=3, backoff=0.01)) as runner:
            await execute(plan := Plan(bench, [model], Asking()), runner, plan.estimate()[1])

    asyncio.run(ask_all())
    assert [response.outcome for response in responses] == ["answered"] * 12


REVOKED = {
    "401": failure(401, "the API key was revoked"),
    "403": failure(403, "the account is deactivated"),
    "402": failure(402, "Insufficient Balance"),
    "out of quota": Reply(429, {"error": {"message": "no money", "code": "insufficient_quota"}}),
    "401 with status 200": Reply(200, {"error": {"message": "invalid api key", "code": 401}}),
}


@pytest.mark.parametrize(("how", "items"), [*((how, 6) for how in REVOKED), ("401", 60), ("402", 60)])
def test_a_key_that_is_revoked_in_mid_run_ends_it_in_one_line(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery, how: str, items: int
) -> None:
    """With the default patience of ten minutes: also where few calls are left."""
    make_bench(tmp_path / "b", items, image_count=0)
    endpoint.rule = lambda attempt: REVOKED[how] if endpoint.answered.total() >= 3 else None
    done = nursery.run("run", "b", "--models", endpoint.models(), "--to", "r", "--concurrency", 2)
    assert done.code == 2
    (line,) = (line for line in done.stderr.splitlines() if "m was given up: " in line)
    assert "(waited" not in line, "it waited for the end of an outage"
    assert len(answers(tmp_path / "r")) == 3
    endpoint.rule = lambda attempt: None
    nursery.run("run", "b", "--models", endpoint.models(), "--to", "r").fine()
    assert len(answers(tmp_path / "r")) == items
    assert set(Run(tmp_path / "r").errors()["error"]) == {""}
    assert max(endpoint.answered.values()) == 1, "nothing is asked two times"


def test_a_finish_reason_that_nobody_has_named_is_no_answer_until_it_is_named(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery
) -> None:
    make_bench(tmp_path / "b", 6, image_count=0)
    endpoint.rule = lambda attempt: Reply(body=completion("A", finish_reason="flux"))
    done = nursery.run(*ask(endpoint))
    assert done.code == 2
    assert "6 calls failed" in done.stderr
    shown = nursery.run("show", "r").stdout
    assert "finishes: {flux: answered}" in " ".join(shown.split())
    nursery.run(*ask(endpoint, finishes={"flux": "answered"})).fine()
    assert endpoint.sent.total() == 6, "the stored replies count, none is asked again"
    assert set(Run(tmp_path / "r").errors()["error"]) == {""}
    assert " 6 " in nursery.run("measure", "accuracy", "r").stdout
