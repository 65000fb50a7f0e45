"""Checks of doctor: what works, what is missing, what is wrong, and never a key."""

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.endpoint import Attempt, Endpoint, completion, failure
from tests.recipes.benches import write_yaml
from tests.support.command import call

KEY = "sk-verysecretindeed0123456789abcdef"
WITH_TRANSFORMERS = pytest.mark.skipif(find_spec("transformers") is None, reason="transformers are not installed")


class ListingEndpoint(Endpoint):
    """One that says which models it has."""

    routes = ("/v1/chat/completions", "/v1/models")

    def respond(self, attempt: Attempt) -> object:
        if attempt.path == "/v1/models":
            return {"object": "list", "data": [{"id": "seer"}]}
        return completion("two")


@pytest.fixture(scope="module")
def server() -> Iterator[ListingEndpoint]:
    with ListingEndpoint() as endpoint:
        yield endpoint


@pytest.fixture
def here(workdir: Path, monkeypatch: pytest.MonkeyPatch, server: ListingEndpoint) -> Path:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("EYETEST_API_KEY", raising=False)
    server.rule = lambda attempt: None
    server.forget()
    return workdir


def checks(*words: object) -> list[dict[str, str]]:
    done = call("doctor", *words, "--output", "json")
    found: list[dict[str, str]] = json.loads(done.out)["checks"]
    assert done.code == (1 if any(check["state"] == "wrong" for check in found) else 0)
    return found[[check["name"] for check in found].index("space") + 1 :]


def test_an_endpoint_is_looked_at_for_nothing(here: Path, server: ListingEndpoint) -> None:
    write_yaml(here / "m.yaml", {"mine": f"openai:seer@{server.url}", "there": "scripted:right=1"})
    lines = checks("--models", "m.yaml")
    assert [(line["name"], line["state"]) for line in lines] == [("mine", "note"), ("mine", "ok"), ("there", "ok")]
    assert lines[0]["found"].startswith("key: EYETEST_API_KEY is not set")
    assert {attempt.path for attempt in server.attempts} == {"/v1/models"}


def test_keys_are_named_and_never_shown(here: Path, server: ListingEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    write_yaml(here / "m.yaml", {"mine": {"spec": f"openai:seer@{server.url}", "key_env": "MY_KEY"}})
    (line,) = checks("--models", "m.yaml")
    assert "without permission" in line["found"]
    monkeypatch.setenv("EYETEST_ALLOW_ENV", "MY_KEY")
    (line,) = checks("--models", "m.yaml")
    assert (line["state"], line["found"], line["fix"]) == ("wrong", "key: MY_KEY is not set", "export MY_KEY=…")
    monkeypatch.setenv("MY_KEY", KEY)
    server.rule = lambda attempt: failure(401, f"{attempt.headers['Authorization']} is wrong")
    done = call("doctor", "--models", "m.yaml")
    assert done.code == 1
    assert "key: MY_KEY is set" in done.out
    assert "the key is refused" in done.out
    assert KEY not in done.out + done.err
    assert str(len(KEY)) not in done.out.partition("models\n")[2].replace(str(server.port), "")


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("openai:other@{url}", "does not list 'other'"),
        ("openai:seer@http://127.0.0.1:9/v1", "cannot reach 127.0.0.1:9"),
        ("replay:nowhere.csv", "nowhere.csv"),
        pytest.param("transformers:nowhere", "nowhere", marks=WITH_TRANSFORMERS),
    ],
)
def test_what_does_not_work_is_wrong(here: Path, server: ListingEndpoint, spec: str, problem: str) -> None:
    last = checks("--model", "m=" + spec.format(url=server.url))[-2:]
    assert any(line["state"] == "wrong" and problem in line["found"] for line in last)
