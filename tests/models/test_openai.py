"""What an endpoint is sent, to the byte, and how its replies are sorted."""

import base64
import gzip
import io
import math
from contextlib import suppress
from email.utils import formatdate
from pathlib import Path
from time import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.errors import InputError
from eyetest.models import CallError
from eyetest.models.openai.connection import parse_target
from eyetest.models.replies import read_completion, read_failure, retry_after
from eyetest.prompts import build
from eyetest.records import Choice, Condition, Item, Manifest, Response, Turn
from tests.endpoint import Attempt, Endpoint, Reply, completion, failure, fault
from tests.models.asked import Asker
from tests.running.benches import image_file, make_bench, stored
from tests.support.command import call as command


def bench(path: Path) -> Benchmark:
    with BenchmarkWriter(path, Manifest(name="b")) as writer:
        images = tuple(writer.images.put(image_file(number)) for number in range(3))
        choices = (Choice("like <image 2>", True), Choice("like <image 3>"))
        writer.add(Item(id="many", question="What is <image 1>?", images=images, choices=choices))
        writer.add(Item(id="odd", question='"ü" \\ \x00 😀 </script>', images=images[:1], references=("x",)))
        history = (Turn("First?", "one"),)
        writer.add(Item(id="talk", question="Then?", history=history, choices=(Choice("a", True), Choice("b"))))
    return Benchmark(path)


def ask(
    endpoint: Endpoint,
    benchmark: Benchmark,
    item: str,
    condition: Condition | None = None,
    entry: dict[str, Any] | None = None,
    patience: float = 20.0,
) -> Response:
    """One attempt of a model made for it."""
    spec = {"spec": f"openai:org/the-model@{endpoint.url}"} | (entry or {})
    with Asker(benchmark.images, patience, **spec) as asker:
        return asker.answer(build(benchmark[item], condition or Condition(), prefill=asker.model.entry.prefill))


def test_a_request_to_the_byte(tmp_path: Path, endpoint: Endpoint) -> None:
    """Images as stored, settings and nothing else, the query behind the path."""
    benchmark = bench(tmp_path / "b")
    sampling = {"top_p": 0.5, "chat_template_kwargs": {"enable_thinking": False}}
    spec = f"openai:org/the-model@{endpoint.url}?api-version=2"
    ask(endpoint, benchmark, "many", entry={"spec": spec, "sampling": sampling, "detail": "low"})
    ask(endpoint, benchmark, "odd")
    ask(endpoint, benchmark, "talk", Condition(shots="format"), {"prefill": True})
    many, odd, talk = endpoint.attempts
    assert many.headers["Content-Type"] == "application/json"
    assert len({image.format for image in benchmark["many"].images}) == 3
    content = many.body.pop("messages")[-1]["content"]
    assert many.body == {"model": "org/the-model", **sampling}
    assert [part["type"] for part in content] == ["text", *("image_url", "text") * 3]
    for part, image, number in zip(content[1::2], benchmark["many"].images, range(3), strict=True):
        head, _, data = part["image_url"]["url"].partition(",")
        assert (head, part["image_url"]["detail"]) == (f"data:image/{image.format};base64", "low")
        assert base64.b64decode(data, validate=True) == image_file(number)
    assert '"ü" \\ \x00 😀 </script>' in odd.question
    assert [message["role"] for message in talk.body["messages"][-4:]] == ["user", "assistant", "user", "assistant"]
    assert (talk.body["add_generation_prompt"], talk.body["continue_final_message"]) == (False, True)


def test_grey_images_have_the_size_of_those_they_stand_for(tmp_path: Path, endpoint: Endpoint) -> None:
    benchmark = bench(tmp_path / "b")
    ask(endpoint, benchmark, "many", Condition(modality="gray"))
    (attempt,) = endpoint.attempts
    images = benchmark["many"].images
    assert len({(image.width, image.height) for image in images}) == 3
    for url, image in zip(attempt.images, images, strict=True):
        head, _, data = url.partition(",")
        assert head == "data:image/png;base64"
        with Image.open(io.BytesIO(base64.b64decode(data, validate=True))) as grey:
            assert grey.size == (image.width, image.height)
            colours = grey.convert("RGB").getcolors()
        assert colours == [(image.width * image.height, (128, 128, 128))]


FATES: dict[str, tuple[Reply, str, bool]] = {
    "429": (fault("429"), "rate-limit", True),
    "500": (fault("500"), "server", True),
    "502": (Reply(502, b"<html>\n bad   gateway"), "server", True),
    "529": (failure(529, "x"), "overloaded", True),
    "hang": (fault("hang"), "timeout", True),
    "cut": (fault("cut"), "connection", True),
    "raw": (fault("raw"), "connection", True),
    "garbage": (fault("garbage"), "garbage", True),
    "empty": (fault("empty"), "empty", True),
    "blank": (Reply(body=completion(" \n\t")), "empty", True),
    "null": (Reply(body=completion(None)), "empty", True),
    "error with 200": (Reply(body={"error": {"message": "boom"}}), "server", True),
    "no choices": (Reply(body={"choices": []}), "garbage", True),
    "no message": (Reply(body={"choices": [{"message": None}]}), "garbage", True),
    "a number": (Reply(body={"choices": [{"message": {"content": 7}}]}), "garbage", True),
    "nothing": (Reply(body=b""), "garbage", True),
    "a page": (Reply(body=b"<html>busy</html>"), "garbage", True),
    "notice": (Reply(body=completion("Error: rate limit exceeded")), "rate-limit", True),
    "filtered": (Reply(body=completion("The response was filtered by the content filter.")), "content-filter", False),
    "400": (failure(400, "x"), "bad-request", False),
    "413": (failure(413, "x"), "too-large", False),
    "301": (Reply(301, b"", {"Location": "/elsewhere"}), "bad-request", False),
    "401": (failure(401, "x"), "auth", False),
    "404": (failure(404, "x"), "not-found", False),
}


@pytest.mark.parametrize("fate", FATES)
def test_each_failure_has_its_kind(tmp_path: Path, endpoint: Endpoint, fate: str) -> None:
    reply, kind, passing = FATES[fate]
    endpoint.rule = lambda attempt: reply
    with pytest.raises(CallError) as caught:
        ask(endpoint, bench(tmp_path / "b"), "talk", patience=0.3 if fate == "hang" else 20.0)
    assert (caught.value.kind, caught.value.passing) == (kind, passing)
    assert caught.value.hopeless == (fate in ("401", "404"))
    assert str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_model_or_version_than_asked_is_reported(workdir: Path, endpoint: Endpoint) -> None:
    make_bench(workdir / "b", 6)

    def reply(attempt: Attempt) -> Reply:
        version = {"system_fingerprint": f"fp_{len(endpoint.attempts) > 4}"} if changes else {}
        return Reply(body=completion("A") | {"model": served} | version)

    endpoint.rule = reply
    for served, changes, reported in (("seer", False, ""), ("blinker", False, "blinker"), ("seer", True, "fp_True")):
        endpoint.attempts.clear()
        to = f"r-{served}-{changes}"
        done = command("run", "b", "--model", f"mine=openai:seer@{endpoint.url}", "--to", to, "--concurrency", 1)
        done.fine()
        shown = (" ".join(command("show", to).err.split()), command("show", to, "--output", "json").out)
        for words in (done.err, *shown):
            assert ("the server answered as" in words) == bool(reported)
            assert reported in words
        assert {row.detail for row in stored(workdir / to)} >= {f"served by {served}" + (" (fp_False)" * changes)}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "said\n so"}}, "said so"),
        ({"error": "said so"}, "said so"),
        ({"detail": [{"msg": "said so"}]}, "said so"),
        ([{"error": {"message": "said so"}}], "said so"),
        ("said so", "said so"),
        ({"code": 7}, '{"code":7}'),
    ],
    ids=str,
)
def test_the_servers_words_are_found_and_cut(body: object, words: str) -> None:
    assert str(read_failure(400, {}, msgspec.json.encode(body))) == f"400: {words}"
    assert len(str(read_failure(400, {}, b"x" * 10**6))) < 700
    assert str(read_failure(500, {}, b"")) == "500: no explanation"


@given(st.integers(100, 599), st.binary(max_size=80), st.text(st.characters(codec="ascii"), max_size=20))
def test_no_reply_crashes_it(status: int, data: bytes, wait: str) -> None:
    error = read_failure(status, {"Retry-After": wait, "retry-after-ms": wait}, data)
    assert error.kind
    assert error.wait is None or error.wait >= 0
    with suppress(CallError):
        read_completion("0", data)


def test_retry_after() -> None:
    ahead = formatdate(time() + 3_000, usegmt=True)
    known = {
        "7": (7, 7),
        "0.25": (0.25, 0.25),
        "-3": (0, 0),
        "nan": (0, 0),
        ahead: (2_400, 3_000),
        formatdate(time() - 100, usegmt=True): (0, 0),
        "9" * 400: (600, math.inf),
    }
    for words, (least, most) in known.items():
        assert least <= (retry_after({"Retry-After": words}) or 0.0) <= most, words
    assert retry_after({"retry-after-ms": "1500", "Retry-After": "9"}) == 1.5
    assert [retry_after({"Retry-After": words}) for words in ("", "soon", "Fri, 99 Foo 2026")] == [None] * 3


@pytest.mark.parametrize(
    ("target", "model", "url"),
    [
        ("qwen@http://h:8000/v1", "qwen", "http://h:8000/v1"),
        ("org/Qwen2.5-VL@https://h/v1/", "org/Qwen2.5-VL", "https://h/v1"),
        ("a@b@http://h/v1", "a@b", "http://h/v1"),
        ("ft:gpt@http://[::1]:80/v1", "ft:gpt", "http://[::1]:80/v1"),
        ("gpt-4o", "gpt-4o", "https://api.openai.com/v1"),
        ("m@http://h/v1?api-version=2", "m", "http://h/v1?api-version=2"),
        ("turkey@http://tokens.example/keys/v1", "turkey", "http://tokens.example/keys/v1"),
        ("m@https://h:1/openai/deployments/monkey/v1", "m", "https://h:1/openai/deployments/monkey/v1"),
    ],
)
def test_targets(target: str, model: str, url: str) -> None:
    assert parse_target(target) == (model, url)
    for wrong in (
        "",
        "m@ftp://h/v1",
        "m@host:8000/v1",
        "http://h/v1",
        "@http://h/v1",
        "m@http://h/v1/chat/completions",
    ):
        with pytest.raises(InputError):
            parse_target(wrong)


@pytest.mark.parametrize("packed", [False, True])
def test_a_reply_without_end_is_not_read_to_its_end(
    tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    monkeypatch.setattr("eyetest.models.openai.connection._LARGEST_REPLY", 100_000)
    body = msgspec.json.encode(completion("x" * (10_000_000 if packed else 200_000)))
    reply = Reply(body=gzip.compress(body), headers={"Content-Encoding": "gzip"}) if packed else Reply(body=body)
    assert (len(gzip.compress(body)) < 50_000) or not packed
    endpoint.rule = lambda attempt: reply
    with pytest.raises(CallError) as caught:
        ask(endpoint, bench(tmp_path / "b"), "talk")
    assert caught.value.kind == "garbage"
