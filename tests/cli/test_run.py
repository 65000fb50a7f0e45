"""``eyetest run`` and ``eyetest status`` as a person uses them: stop, go on, ask for more."""

import json
import re
import signal
import threading
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from eyetest.runs import Run
from tests.endpoint import Endpoint
from tests.running.benches import answers, hashes, keys_in, make_bench, manifest, number_asked, stored
from tests.running.processes import Nursery, until


def ask(endpoint: Endpoint, *more: object) -> tuple[object, ...]:
    return ("run", "b", "--models", endpoint.models(backoff=0.01), "--to", "r", *more)


def numbers_asked(endpoint: Endpoint) -> list[int]:
    return [number_asked(attempt.question) for attempt in endpoint.attempts]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_once_lets_calls_in_flight_finish(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery, number: signal.Signals
) -> None:
    make_bench(tmp_path / "b", 60)
    endpoint.gate = threading.Event()
    process = nursery.start(*ask(endpoint, "--concurrency", 5))
    until(lambda: endpoint.in_flight == 5)
    process.send(number)
    assert not process.ends_within(0.3), "it waits for the calls in flight"
    assert endpoint.sent.total() == 5
    endpoint.gate.set()
    process.wait()
    assert process.code == 130, process.stderr
    assert endpoint.sent.total() == 5, "no new call is made"
    assert sorted(keys_in(stored(tmp_path / "r"))) == sorted(endpoint.sent)
    assert "stopped by you; 55 calls left; run the same again to continue" in process.stderr
    assert "Traceback" not in process.stderr
    nursery.run(*ask(endpoint)).fine()
    assert set(endpoint.sent.values()) == {1}
    assert len(answers(tmp_path / "r")) == 60


def test_ctrl_c_twice_stops_at_once_and_loses_nothing_stored(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery
) -> None:
    make_bench(tmp_path / "b", 60)
    process = nursery.start(*ask(endpoint, "--concurrency", 5, "--budget", "calls=20"))
    process.wait()
    before = answers(tmp_path / "r")
    assert before
    endpoint.gate = threading.Event()
    process = nursery.start(*ask(endpoint, "--concurrency", 5))
    until(lambda: endpoint.in_flight == 5)
    process.send(signal.SIGINT)
    assert not process.ends_within(0.2)
    process.send(signal.SIGINT)
    ended = process.ends_within(30)
    if not ended:
        process.kill()
    assert ended, "the second Ctrl-C gives the calls in flight up"
    assert process.code == 130, process.stderr
    assert "Traceback" not in process.stderr
    assert "never awaited" not in process.stderr
    assert answers(tmp_path / "r") == before
    endpoint.gate.set()
    nursery.run(*ask(endpoint)).fine()
    assert len(answers(tmp_path / "r")) == len(stored(tmp_path / "r")) == 60


def test_a_dry_run_touches_nothing(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 10)
    shown = nursery.run(*ask(endpoint, "--dry-run", "--condition", "image,no-image", "--samples", 2)).fine()
    assert re.search(r"to ask +40 calls", shown.stdout)
    assert not (tmp_path / "r").exists()
    assert endpoint.sent.total() == 0
    assert nursery.run("run", "b", "--model", "scripted:", "--dry-run").code == 0, "it needs no place for answers"

    nursery.run(*ask(endpoint, "--limit", 4)).fine()
    before = hashes(tmp_path / "r")
    shown = nursery.run(*ask(endpoint, "--dry-run"))
    assert re.search(r"to ask +6 calls", shown.stdout)
    assert re.search(r"answered before +4", shown.stdout)
    assert hashes(tmp_path / "r") == before
    assert endpoint.sent.total() == 4


def test_more_samples_ask_only_those_that_are_new(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 8)
    warm = ("--temperature", 1)
    nursery.run(*ask(endpoint, *warm, "--samples", 3)).fine()
    assert endpoint.sent.total() == 24
    assert Counter(attempt.body["seed"] for attempt in endpoint.attempts) == {0: 8, 1: 8, 2: 8}
    endpoint.forget()
    nursery.run(*ask(endpoint, *warm, "--samples", 5)).fine()
    assert Counter(attempt.body["seed"] for attempt in endpoint.attempts) == {3: 8, 4: 8}
    assert len(answers(tmp_path / "r")) == 40
    endpoint.forget()
    nursery.run(*ask(endpoint, *warm, "--samples", 2)).fine()
    assert endpoint.sent.total() == 0
    assert len(Run(tmp_path / "r").plan()) == 40, "what was planned once stays in the plan"


def test_another_modality_model_or_setting_asks_only_what_is_new(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery
) -> None:
    make_bench(tmp_path / "b", 5)
    nursery.run(*ask(endpoint)).fine()
    assert all(attempt.images for attempt in endpoint.attempts)
    endpoint.forget()
    nursery.run(*ask(endpoint, "--condition", "image,no-image")).fine()
    assert endpoint.sent.total() == 5
    assert not any(attempt.images for attempt in endpoint.attempts)
    groups = json.loads(nursery.run("show", "r", "--output", "json").stdout)["groups"]
    assert [(g["modality"], g["planned"], g["answered"]) for g in groups] == [("image", 5, 5), ("no-image", 5, 5)]
    nursery.run("run", "b", "--models", endpoint.models("other"), "--to", "r").fine()
    assert endpoint.sent.total() == 10, "the same endpoint under another name is another model"
    assert sorted(manifest(tmp_path / "r")["models"]) == ["m", "other"]
    assert Counter(Run(tmp_path / "r").plan().column("model").to_pylist()) == {"m": 10, "other": 5}
    for _ in range(2):
        nursery.run(*ask(endpoint, "--max-tokens", 9)).fine()
    assert endpoint.sent.total() == 15
    assert Counter(attempt.body["max_tokens"] for attempt in endpoint.attempts) == {512: 10, 9: 5}


def test_limit_and_item(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 12)
    nursery.run(*ask(endpoint, "--limit", 3)).fine()
    assert sorted(numbers_asked(endpoint)) == [0, 1, 2]
    endpoint.forget()
    nursery.run(*ask(endpoint, "--item", "q7", "--item", "q2", "--item", "q9")).fine()
    assert sorted(numbers_asked(endpoint)) == [7, 9]
    endpoint.forget()
    assert "leave one of the two out" in nursery.run(*ask(endpoint, "--item", "q11", "--limit", 1)).refused()
    assert not numbers_asked(endpoint)
    nursery.run(*ask(endpoint, "--limit", 1000)).fine()
    assert sorted(numbers_asked(endpoint)) == [3, 4, 5, 6, 8, 10, 11]
    assert "no item 'q99' in small" in nursery.run(*ask(endpoint, "--item", "q99")).refused()


def test_items_that_lead_to_the_same_request_are_asked_once(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery
) -> None:
    """Blind, with the question left out, many items say the same."""
    make_bench(tmp_path / "b", 10)
    done = nursery.run(*ask(endpoint, "--condition", "options-only")).fine()
    assert endpoint.sent.total() == 1
    assert re.search(r"sent once +9 more rows need no call", done.stderr)
    assert len(Run(tmp_path / "r").plan()) == 10
    (group,) = json.loads(nursery.run("show", "r", "--output", "json").stdout)["groups"]
    assert group["answered"] == 10


def test_requests_that_share_a_image_are_neighbours(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 40, image_count=8)
    command = ask(
        endpoint, "--concurrency", 1, "--condition", "image,no-question", "--samples", 2, "--temperature", 1
    )
    nursery.run(*command).fine()
    order = [attempt.images[0] for attempt in endpoint.attempts]
    changes = sum(one != other for one, other in pairwise(order))
    assert len(set(order)) == 8
    assert changes == 7, "each image is sent in one go"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--model", "scripted:"), "--to RUN is missing"),
        (("--to", "r"), "no model: name one with --model"),
        (("--to", "r", "--model", "scripted:", "--condition", "no-imgae"), 'did you mean "no-image"?'),
        (
            ("--to", "r", "--model", "one=scripted:", "--model", "two=scripted:", "--until", "one>tow"),
            "no model 'tow' in this run; did you mean \"two\"?",
        ),
        (("--to", "r", "--models", "m.yaml", "--until", "new>x"), 'no model "x"'),
        (("--to", "r", "--model", "new=scripted:", "--until", "new>old"), "old"),
        (
            ("--to", "r", "--models", "m.yaml", "--until", "new>old", "--condition", "image,no-image"),
            "in one way, once",
        ),
        (("--to", "r", "--model", "scripted:", "--samples", "0"), "--samples: found 0, expected 1 or more"),
        (("--to", "r", "--model", "scripted:", "--budget", "coins=3"), "--budget: no limit 'coins'; did you mean"),
        (("--to", "r", "--describe", "scripted:", "--limit", "3"), "--limit: not with --describe"),
        (("--to", "r", "--model", "scripted:", "--overwrite"), "--overwrite: a run is continued, never replaced"),
    ],
)
def test_bad_words_get_one_line_and_make_nothing(
    tmp_path: Path, nursery: Nursery, more: tuple[str, ...], message: str
) -> None:
    make_bench(tmp_path / "b", 2)
    (tmp_path / "m.yaml").write_text("{new: 'scripted:right=0.9', old: 'scripted:right=0.4'}")
    assert message in nursery.run("run", "b", *more).refused()
    assert not (tmp_path / "r").exists()
