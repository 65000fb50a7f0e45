"""A key is shown to one server and appears nowhere else, whatever that server does; nor does any other secret."""

import base64
import copy
import json
import pickle
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from eyetest.errors import InputError
from eyetest.models import Surroundings, make_models, named_models, parse_models
from eyetest.models.openai import OpenAIModel
from eyetest.models.openai.connection import Secret, key_for
from eyetest.records import ModelEntry
from eyetest.redaction import plain_address, plain_settings, redact, redact_answer
from eyetest.running import Asking
from eyetest.running.planning import Plan
from tests.endpoint import Attempt, Endpoint, Reply, completion, failure
from tests.running.benches import everything, make_bench, manifest, stored
from tests.running.processes import Nursery
from tests.support.command import call
from tests.support.refusals import refusal

KEY = "sk-proj-Zq8/Rw3+xV_7bN2kLm9pQ4tY6uE1aS5d"
BEGIN, END = KEY[:12], KEY[-12:]


def key_of(attempt: Attempt) -> str:
    return attempt.headers["Authorization"].removeprefix("Bearer ")


def escaped(reply: Reply) -> Reply:
    """As PHP and others write JSON: a slash is escaped, and so is what is not a letter."""
    text = json.dumps(reply.body).replace("/", "\\/")
    return Reply(reply.status, text.encode(), {"Content-Type": "application/json"})


def in_numbers(reply: Reply) -> Reply:
    text = json.dumps(reply.body).replace("-", "\\u002d").replace("+", "\\u002B").replace("_", "\\u005f")
    return Reply(reply.status, text.encode(), {"Content-Type": "application/json"})


ECHOES: dict[str, Callable[[Attempt], Reply]] = {
    "error 400": lambda a: failure(400, f"bad key {key_of(a)} in request"),
    "error 401": lambda a: failure(401, f"Incorrect API key provided: {key_of(a)}."),
    "masked": lambda a: failure(401, f"Incorrect API key provided: {key_of(a)[:12]}***. Find yours"),
    "masked at both ends": lambda a: failure(401, f"Incorrect: {key_of(a)[:12]}******{key_of(a)[-12:]}"),
    "answer": lambda a: Reply(body=completion(f"A. Your key is {key_of(a)}")),
    "thinking": lambda a: Reply(body=completion("A", message={"content": "A", "reasoning": key_of(a)})),
    "finish": lambda a: Reply(body=completion("A", finish_reason=key_of(a))),
    "garbage": lambda a: Reply(body=f'{{"oops": "{key_of(a)}"'.encode()),
    "200 with an error": lambda a: Reply(body={"error": {"message": f"no {key_of(a)}"}}),
    "answer, slashes escaped": lambda a: escaped(Reply(body=completion(f"A {key_of(a)}"))),
    "answer, escaped by number": lambda a: in_numbers(Reply(body=completion(f"A {key_of(a)}"))),
    "error, escaped by number": lambda a: in_numbers(failure(401, f"bad key {key_of(a)}")),
    "a header": lambda a: Reply(400, {"error": "no"}, {"X-Your-Key": key_of(a), "Retry-After": key_of(a)}),
    "cut across the limit": lambda a: failure(400, "x" * 590 + key_of(a)),
}


@pytest.mark.parametrize(
    ("echo", "how"),
    [
        *((echo, "EYETEST_API_KEY") for echo in ECHOES),
        *((echo, "key_env") for echo in ("error 401", "answer")),
    ],
)
def test_no_key_is_ever_written(tmp_path: Path, endpoint: Endpoint, nursery: Nursery, echo: str, how: str) -> None:
    make_bench(tmp_path / "b", 3)
    endpoint.rule = ECHOES[echo]
    variable, entry = (how, {}) if how == "EYETEST_API_KEY" else ("MY_KEY", {"key_env": "MY_KEY"})
    models = endpoint.models(backoff=0.01, attempts=2, **entry)
    command = ("run", "b", "--models", models, "--to", "r")
    shows = (("show", "r"), ("show", "r", "--output", "json"))
    given = {variable: KEY, "OPENAI_API_KEY": "sk-not-for-you-0123456789", "EYETEST_ALLOW_ENV": "MY_KEY"}
    said = outputs(nursery, command, *shows, (*command, "--retry-failed", "--dry-run"), **given)
    assert {key_of(attempt) for attempt in endpoint.attempts} == {KEY}
    assert stored(tmp_path / "r")
    found = everything(tmp_path / "r") + said
    for spelling in (KEY, BEGIN, END, json.dumps(KEY)[1:-1].replace("/", "\\/"), "sk-not-for-you"):
        assert spelling not in found, spelling
    if echo == "answer":
        assert {row.text for row in stored(tmp_path / "r")} == {"A. Your key is [key]"}


@pytest.mark.parametrize("way", ["plain", "named", "yaml"])
def test_an_address_with_a_key_in_it_is_refused_and_not_repeated(tmp_path: Path, way: str) -> None:
    make_bench(tmp_path / "b", 1)
    queries = ("api_key=", "x=1&token=", "API-KEY=", "password=", "sig=1&access_token=")
    for start in ("user:", "", *(f"host/v1?{query}" for query in queries)):
        url = f"http://{start}hunter2-secret" + ("" if "?" in start else "@host/v1")
        (tmp_path / "m.yaml").write_text(json.dumps({"m": {"spec": f"openai:m@{url}"}}))
        words = {
            "plain": ("--model", f"openai:m@{url}"),
            "named": ("--model", f"m=openai:m@{url}"),
            "yaml": ("--models", tmp_path / "m.yaml"),
        }
        refused = call("run", tmp_path / "b", "--to", tmp_path / "r", *words[way]).refused()
        assert "hunter2" not in refused
        assert "key_env" in refused, "it says what to do instead"
        assert not (tmp_path / "r").exists()


def test_which_key_goes_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "openai-0123456789")
    monkeypatch.setenv("EYETEST_API_KEY", "eyetest-0123456789")
    monkeypatch.setenv("MY_KEY", "mine-0123456789")
    monkeypatch.setenv("EYETEST_ALLOW_ENV", "OTHER,MY_KEY")
    expected = {
        ("https://api.openai.com/v1", None): "openai-0123456789",
        ("https://API.OpenAI.com/v1", None): "openai-0123456789",
        ("https://api.openai.com.evil.example/v1", None): "eyetest-0123456789",
        ("https://evil.example/api.openai.com", None): "eyetest-0123456789",
        ("http://127.0.0.1:8000/v1", None): "eyetest-0123456789",
        ("http://127.0.0.1:8000/v1", "MY_KEY"): "mine-0123456789",
        ("https://api.openai.com/v1", "MY_KEY"): "mine-0123456789",
    }
    for (url, variable), key in expected.items():
        assert key_for(url, variable).header() == {"Authorization": f"Bearer {key}"}, url
    monkeypatch.delenv("EYETEST_API_KEY")
    assert key_for("http://127.0.0.1:8000/v1", None).header() == {}
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(InputError, match="MY_KEY"):
        key_for("http://h/v1", "MY_KEY")


@pytest.mark.parametrize(
    ("variable", "url", "is_allowed"),
    [
        ("EYETEST_MINE_KEY", "http://127.0.0.1:8000/v1", True),
        ("ANTHROPIC_API_KEY", "https://api.anthropic.com/v1", True),
        ("ANTHROPIC_API_KEY", "http://api.anthropic.com/v1", False),
        ("OPENAI_API_KEY", "https://evil.example/v1", False),
        ("OPENAI_API_KEY", "https://api.anthropic.com/v1", False),
        ("AWS_SECRET_ACCESS_KEY", "https://evil.example/v1", False),
        ("GITHUB_TOKEN", "http://127.0.0.1:8000/v1", False),
        ("HOME", "https://api.openai.com/v1", False),
    ],
)
def test_a_file_names_only_variables_that_the_user_allowed(
    monkeypatch: pytest.MonkeyPatch, variable: str, url: str, is_allowed: bool
) -> None:
    monkeypatch.delenv("EYETEST_ALLOW_ENV", raising=False)
    monkeypatch.setenv(variable, KEY)
    entry = named_models({"m": {"spec": f"openai:m@{url}", "key_env": variable}}, "m.yaml")["m"]
    if is_allowed:
        secret = OpenAIModel("m", entry, Surroundings()).key_sent
        assert secret == f"the key in {variable} is sent to {urlsplit(url).hostname}"
        return
    with pytest.raises(InputError, match="without permission"):
        OpenAIModel("m", entry, Surroundings())
    monkeypatch.setenv("EYETEST_ALLOW_ENV", variable)
    assert OpenAIModel("m", entry, Surroundings()).key_sent


def test_where_a_key_goes_is_printed_before_the_first_call(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery
) -> None:
    make_bench(tmp_path / "b", 2)
    (tmp_path / "m.yaml").write_text(f"m:\n  spec: openai:m@{endpoint.url}\n  key_env: MY_KEY\n")
    command = ("run", "b", "--models", "m.yaml", "--to", "r")
    refused = nursery.run(*command, env={"MY_KEY": KEY})
    assert (refused.code, endpoint.attempts) == (2, [])
    assert "--allow-env MY_KEY" in refused.stderr
    for way in (("--condition", "generate"), ("--condition", "likelihood")):
        done = nursery.run("--allow-env", "MY_KEY", *command, *way, env={"MY_KEY": KEY})
        assert done.stderr.count("the key in MY_KEY is sent to 127.0.0.1") == 1
        assert KEY not in done.stderr


@pytest.mark.parametrize(
    "bad", ["two\nlines-0123456789", "tab\there-0123456789", "ümlaut-0123456789", "\x1b[31mred-key"]
)
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(
    monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    monkeypatch.setenv("EYETEST_API_KEY", bad)
    line = refusal(key_for, "http://h/v1", None)
    assert bad not in line
    assert "EYETEST_API_KEY" in line


def test_a_secret_cannot_be_shown_or_stored_by_accident() -> None:
    secret = Secret(KEY)
    for shown in (repr(secret), str(secret), f"{secret}", f"{[secret]}"):
        assert KEY not in shown
    for store in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            store(secret)
    try:
        raise ValueError(secret)
    except ValueError:
        assert KEY not in traceback.format_exc()


def test_a_dummy_key_does_not_garble_answers(
    tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Local servers take any word as a key, and people give them one. The answer has to arrive as it is."""
    assert Secret("").header() == {}
    Secret("none")
    for redacted in (redact, redact_answer):
        assert redacted("none of these") == "none of these", "EMPTY, none and x are no secrets"
    make_bench(tmp_path / "b", 1)
    for key in ("EMPTY", "none", "x", "ollama", "lm-studio", "not-needed", "content", "choices"):
        monkeypatch.setenv("EYETEST_API_KEY", key)
        call("run", tmp_path / "b", "--models", endpoint.models(attempts=1), "--to", tmp_path / key).fine()
        assert [row.outcome for row in stored(tmp_path / key)] == ["answered"]
    said = "content of option B: ollama, lm-studio, not-needed"
    assert redact_answer(said) == said
    assert "content" not in redact("bad key content")


SECRET = "zT4-Qp9w/Xy7+Lm2kR8v_B3n"
SPELLINGS = (
    SECRET,
    quote(SECRET),
    quote(SECRET, safe=""),
    json.dumps(SECRET)[1:-1].replace("/", "\\/"),
    base64.b64encode(SECRET.encode()).decode(),
    SECRET[:12],
    SECRET[-12:],
    SECRET.lower(),
)
QUERIES = ("sig", "code", "k", "pwd", "pass", "credential", "jwt", "session", "sas", "x", "subscription", "id")
IN_ADDRESS = {
    "queries": "?" + "&".join(f"{name}={quote(SECRET, safe='')}" for name in QUERIES),
    "query without a name": f"?{quote(SECRET, safe='')}",
    "fragment": f"#{quote(SECRET, safe='')}",
    "both": f"?api-version=2&s={quote(SECRET, safe='')}#frag",
}
IN_SETTINGS: dict[str, dict[str, Any]] = {
    "extra_headers": {"extra_headers": {"Authorization": f"Bearer {SECRET}"}},
    "extra_body": {"extra_body": {"api_key": SECRET}},
    "a setting of any name": {"user": SECRET},
    "deep in a setting": {"chat_template_kwargs": {"x": [SECRET]}},
    "the name of a setting": {SECRET: 1},
    "a known setting": {"temperature": SECRET},
    "a known word": {"reasoning_effort": SECRET},
    "stop": {"stop": [SECRET]},
}
REPLIES = (
    lambda a: Reply(body=completion(f"A {SECRET}")),
    lambda a: failure(400, f"bad {SECRET} and {base64.b64encode(SECRET.encode()).decode()}"),
    lambda a: Reply(400, f"<a href='http://u:{quote(SECRET, safe='')}@h/x?y={SECRET}'>".encode()),
)


def assert_hidden(text: str) -> None:
    for spelling in SPELLINGS:
        assert spelling not in text, spelling


def outputs(nursery: Nursery, *commands: tuple[object, ...], **env: str) -> str:
    said = []
    for arguments in commands:
        done = nursery.run(*arguments, env=env)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.code in (0, 2)
        said.append(done.stdout + done.stderr)
    return "".join(said)


def files(folder: Path) -> str:
    answers = folder / "a.jsonl"
    return everything(folder / "r") + (answers.read_text() if answers.is_file() else "")


@pytest.mark.parametrize("place", IN_ADDRESS)
def test_nothing_of_an_address_but_where_it_leads(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery, place: str
) -> None:
    make_bench(tmp_path / "b", 6)
    endpoint.rule = lambda a: REPLIES[int(a.key, 16) % 3](a)
    models = endpoint.models(spec=f"openai:m@{endpoint.url}{IN_ADDRESS[place]}", attempts=2, backoff=0.01)
    said = outputs(nursery, ("run", "b", "--models", models, "--to", "r"))
    assert len(stored(tmp_path / "r")) == 6
    assert_hidden(said + files(tmp_path))
    assert manifest(tmp_path / "r")["models"]["m"]["spec"] == f"openai:m@{endpoint.url}"


@pytest.mark.parametrize("place", IN_SETTINGS)
def test_nothing_of_settings_but_what_is_known(
    tmp_path: Path, endpoint: Endpoint, nursery: Nursery, place: str
) -> None:
    make_bench(tmp_path / "b", 3)
    entry = {"spec": f"openai:m@{endpoint.url}", "sampling": IN_SETTINGS[place] | {"top_p": 0.5}}
    (tmp_path / "m.yaml").write_text(json.dumps({"m": entry}))
    said = outputs(nursery, ("run", "b", "--models", "m.yaml", "--to", "r"))
    assert len(stored(tmp_path / "r")) == 3
    assert all(SECRET in json.dumps(attempt.body) for attempt in endpoint.attempts), "it is sent as it was given"
    assert_hidden(said + files(tmp_path))
    assert manifest(tmp_path / "r")["models"]["m"]["sampling"]["top_p"] == 0.5


MISTYPED = [
    f"openai:m@HTTPS://user:{SECRET}@host/v1",
    f"openai:https://user:{SECRET}@host/v1",
    f"openai:m@ftp://user:{SECRET}@host",
    f"openai:m@host?key={SECRET}",
    f"openai:m@http://host:{SECRET}/v1",
    f"openai:m@http://host/v1?key={SECRET}",
    f"openai:m@http://host/{SECRET}/chat/completions",
    f"openai:m@http://user:{SECRET}@host/v1",
    f"opnai:m@http://host/v1?x={SECRET}",
    f"m=opnai:m@http://host/v1?x={SECRET}",
    f"https://user:{SECRET}@host/v1",
    f"user:{SECRET}@host",
    f"{SECRET}:m",
    SECRET,
    f"replay:https://host/{SECRET}",
    f"scripted:key={SECRET}",
]


@pytest.mark.parametrize("spec", MISTYPED)
@pytest.mark.parametrize("way", ["word", "yaml", "broken yaml"])
def test_what_is_mistyped_is_not_repeated(tmp_path: Path, spec: str, way: str) -> None:
    path = tmp_path / "m.yaml"
    text = json.dumps({"m": {"spec": spec}})
    path.write_text(text[:-2] if way == "broken yaml" else text)
    with pytest.raises((InputError, OSError)) as caught:
        make_models(parse_models([spec]) if way == "word" else parse_models([], path), Surroundings())
    assert_hidden(str(caught.value))
    assert len(str(caught.value).splitlines()) == 1


def test_the_password_of_a_proxy(tmp_path: Path, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 3)
    coded = quote(SECRET, safe="")
    with Endpoint() as proxy:
        for address in (f"http://me:{coded}@127.0.0.1:{proxy.port}", f"http://me:{coded}@127.0.0.1:9"):
            env = {"http_proxy": address, "https_proxy": address, "no_proxy": ""}
            for url in ("http://models.example/v1", "https://models.example/v1"):
                models = proxy.models(spec=f"openai:m@{url}", attempts=1, patience=0)
                said = outputs(nursery, ("run", "b", "--models", models, "--to", "r"), **env)
                assert_hidden(said + files(tmp_path))


@pytest.mark.parametrize("key_env", [SECRET, "AKIAIOSFODNN7EXAMPLE", "hunter2"])
@pytest.mark.parametrize("kind", ["openai:m@http://127.0.0.1:9/v1", "scripted:"])
def test_a_key_in_place_of_its_variable(tmp_path: Path, nursery: Nursery, key_env: str, kind: str) -> None:
    make_bench(tmp_path / "b", 1)
    (tmp_path / "m.yaml").write_text(json.dumps({"m": {"spec": kind, "key_env": key_env}}))
    done = nursery.run("run", "b", "--models", "m.yaml", "--to", "r")
    left = everything(tmp_path / "r") if (tmp_path / "r").exists() else ""
    assert key_env not in done.stdout + done.stderr + left


def test_request_ids_are_those_of_before(tmp_path: Path) -> None:
    """Ids that a version of before gave to these calls; a change would ask and pay for everything again."""
    bench = make_bench(tmp_path / "b", 2, image_count=0)
    sampling = {"top_p": 0.5, "extra_headers": {"X": "y"}, "user": "u", "logprobs": True, "top_logprobs": 2}
    entry = ModelEntry(spec="openai:qwen@http://host:1/v1?deployment=x", sampling=sampling)
    plan = Plan(bench, make_models({"m": entry}, Surroundings()), Asking())
    ids = [call.id for item in plan.items() for call in plan.calls(item, plan.models)]  # type: ignore[union-attr]
    assert ids == ["c3ff5c89db163e1406c3cb2f9b5abe9e", "976e07edb19c20e685fe87459f18d9d5"]


@pytest.mark.parametrize(
    ("address", "plain"),
    [
        ("http://h:8000/v1", "http://h:8000/v1"),
        ("HTTPS://User:pw@H/v1/", "https://h/v1"),
        ("http://[::1]:80/v1?x=1#y", "http://[::1]:80/v1"),
        ("https://x.azure.com/openai/deployments/monkey/v1", "https://x.azure.com/openai/deployments/…/v1"),
        ("https://h/a1/b2/c3/v1beta", "https://h/…/v1beta"),
        ("http://h:notaport/v1", "http://…"),
    ],
)
def test_plain_addresses(address: str, plain: str) -> None:
    assert plain_address(address) == plain


def test_plain_settings_are_kept_as_they_are() -> None:
    plain = {
        "temperature": 0.7,
        "max_tokens": 64,
        "seed": None,
        "stream": False,
        "reasoning_effort": "low",
        "chat_template_kwargs": {"enable_thinking": False},
        "response_format": {"type": "json_object"},
    }
    assert plain_settings(plain) == plain
