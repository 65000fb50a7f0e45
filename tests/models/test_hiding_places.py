"""A secret may be put in many places by mistake; wherever it is, nothing that is written or said holds it."""

import base64
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from eyetest.errors import InputError
from eyetest.models import Surroundings, make_models, parse_models
from eyetest.records import ModelEntry
from eyetest.redaction import plain_address, plain_settings
from tests.endpoint import Endpoint, Reply, completion, failure
from tests.running.benches import everything, make_bench, manifest, stored
from tests.running.processes import Nursery

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
ECHOES = (
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
    endpoint.rule = lambda a: ECHOES[int(a.key, 16) % 3](a)
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
    from eyetest.running import Asking
    from eyetest.running.planning import Plan

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
