"""Likelihoods through servers, held to sums that a toy language model gives directly."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.models import CallError, Images
from eyetest.prompts import build
from eyetest.records import Condition, ImagePart, Item, Manifest, ModelEntry, Prompt, Response
from eyetest.records.item import Message, Part, Words
from eyetest.running import Asking, Limits, Session
from tests.endpoint import Attempt, Endpoint, Reply, fault
from tests.models.asked import Asker
from tests.models.toy_servers import IMPOSSIBLE, ToyHosted, ToyLlama, ToyServer, ToySglang, ToyVllm
from tests.running.benches import image_file, make_bench, manifest, stored
from tests.running.processes import Nursery


class OldVllm(ToyVllm):
    is_new = False


class SpacedVllm(ToyVllm):
    gap = " "
    is_sentencepiece = True


class SpacedSglang(ToySglang):
    gap = " "


class SpacedLlama(ToyLlama):
    gap = " "


DIALECTS = (ToyVllm, SpacedVllm, OldVllm, ToySglang, SpacedSglang, ToyLlama, SpacedLlama)
TWOS = ("two", "two birds", "two birds, or three", "twofold", "twofold or so")
CANDIDATES = (*TWOS, f"a {IMPOSSIBLE} bird", "4", "two")
QUESTION = "What is to be seen?"


@pytest.fixture(params=DIALECTS, ids=lambda kind: kind.__name__)
def server(request: pytest.FixtureRequest) -> Iterator[ToyServer]:
    with request.param() as server:
        yield server


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    """A benchmark for its two images."""
    folder = tmp_path_factory.mktemp("shown") / "b"
    with BenchmarkWriter(folder, Manifest(name="b")) as writer:
        images = tuple(writer.images.put(image_file(number)) for number in range(2))
        writer.add(Item(id="x", question="?", images=images, references=("x",)))
    return Benchmark(folder)


class ToyAsker(Asker):
    """What a server's model is asked about the images of a benchmark."""

    def __init__(self, server: Endpoint, shown: Benchmark, **entry: Any) -> None:
        super().__init__(shown.images, spec=f"openai:toy@{server.url}", **entry)
        self._images = shown["x"].images

    def ask(self, candidates: Sequence[str], images: int = 1, **more: Any) -> Response | CallError:
        imaged: tuple[Part, ...] = tuple(ImagePart(image) for image in self._images[:images])
        prompt = Prompt((Message("user", (*imaged, Words(QUESTION))),), candidates=tuple(candidates), **more)
        try:
            return self.answer(prompt, max_tokens=512)
        except CallError as error:
            return error


def message(bench: Benchmark, item: str, images: int | None, text: str = QUESTION) -> list[dict[str, Any]]:
    """The user's message as a server gets it, with so many of an item's images."""
    shown = [ImagePart(image) for image in bench[item].images[:images]]
    urls = [Images(bench.images).data_url(part).decode().strip('"') for part in shown]
    parts: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return [{"role": "user", "content": [*parts, {"type": "text", "text": text}]}]


def check(reply: Response | CallError, expected: Sequence[tuple[float, int]]) -> None:
    assert isinstance(reply, Response), reply
    assert reply.candidate_tokens == tuple(count for _, count in expected)
    for given, (log, _) in zip(reply.candidates, expected, strict=True):
        assert given == (None if log == -math.inf else pytest.approx(log, abs=1e-9))


@pytest.mark.parametrize("images", [0, 1, 2])
def test_every_way_gives_the_sums_of_one_pass_a_candidate(server: ToyServer, shown: Benchmark, images: int) -> None:
    reported = message(shown, "x", images)
    with ToyAsker(server, shown) as asker:
        whole = asker.ask(CANDIDATES, images)
        check(whole, [server.direct(reported, text) for text in CANDIDATES])
        letters = ("B", "A", "10")
        reply = asker.ask(letters, images, first_token=True)
        check(reply, [server.direct(reported, text, first_token=True) for text in letters])
        begun = "They are:"
        reply = asker.ask(CANDIDATES, images, prefill=begun)
        check(reply, [server.direct(reported, text, prefill=begun) for text in CANDIDATES])
    assert isinstance(whole, Response)
    assert whole.candidates[5] is None
    assert whole.tokens_in


def test_letters_that_are_cut_into_bytes(server: ToyServer, shown: Benchmark) -> None:
    texts = ("naïve", "a 鳥 or two")
    with ToyAsker(server, shown) as asker:
        reply = asker.ask(texts)
    if isinstance(server, ToyLlama):
        assert isinstance(reply, CallError)
        assert "part of a letter" in str(reply)
        assert not reply.passing
    else:
        check(reply, [server.direct(message(shown, "x", 1), text) for text in texts])


def test_the_tree_asks_about_a_beginning_once_and_about_the_prompt_first(shown: Benchmark) -> None:
    texts = ("two", "two birds", "two birds, or three", "four", "twofold")
    with ToyVllm() as server, ToyAsker(server, shown) as asker:
        check(asker.ask(texts), [server.direct(message(shown, "x", 1), text) for text in texts])
        asked = [one.body for one in server.attempts if "image_url" in str(one.body)]
    assert [body["messages"][-1]["role"] for body in asked].index("assistant") == 1
    tree = [body for body in asked if "logprob_token_ids" in body]
    said = [body["messages"][-1]["content"] for body in tree[1:]]
    assert sorted(said) == ["two", "two birds", "two birds,", "two birds, or", "twof"]
    others = [body for body in asked if "logprob_token_ids" not in body]
    assert [body["messages"][-1]["content"] for body in others] == ["twofold"]  # read otherwise, where it is cut
    assert all(body["max_tokens"] == 1 and body["temperature"] == 0 for body in asked)


def test_the_likeliest_tokens_are_enough_for_letters_alone(shown: Benchmark) -> None:
    with ToyHosted() as server, ToyAsker(server, shown) as asker:
        reply = asker.ask(("B", "A", "D"), first_token=True)
        refused = asker.ask(("B", "A", "D"))
    assert isinstance(reply, Response)
    assert reply.candidates == (-2.0, -1.0, None)
    assert reply.candidate_tokens == (1, 1, 1)
    assert isinstance(refused, CallError)
    assert "only the likeliest first tokens" in str(refused)
    assert not refused.passing


@pytest.mark.parametrize(("finish", "kind"), [("content_filter", "blocked"), ("flux", "bad-request")])
def test_tokens_beside_a_reply_that_is_no_answer_are_not_weighed(shown: Benchmark, finish: str, kind: str) -> None:
    with ToyHosted() as server, ToyAsker(server, shown) as asker:
        assert isinstance(asker.ask(("B", "A"), first_token=True), Response)
        server.finish = finish
        reply = asker.ask(("A", "B", "D"), first_token=True)
    assert isinstance(reply, CallError)
    assert reply.kind == kind


BROKEN: dict[str, object] = {
    "no JSON": b"<html>",
    "nothing": b"",
    "an empty object": {},
    "a list": [],
    "null": {"tokens": None, "choices": None, "meta_info": None, "prompt": None},
    "other types": {"tokens": ["a"], "token_strs": [1], "choices": [{"logprobs": 3}], "meta_info": [], "prompt": 5},
    "empty lists": {"tokens": [], "token_strs": [], "choices": [], "meta_info": {"prompt_tokens": 1}, "prompt": ""},
    "tokens that were not asked for": {
        "tokens": [[1], [2]],
        "choices": [{"logprobs": {"content": [{"top_logprobs": [{"token": "token_id:x", "logprob": 0}]}]}}],
        "prompt_token_ids": [1],
        "meta_info": {"prompt_tokens": 1, "input_token_logprobs": [[None, 1, None]]},
        "completion_probabilities": [{"id": -1, "logprob": 0}],
    },
}


@pytest.mark.parametrize("kind", [ToyVllm, OldVllm, ToySglang, ToyLlama])
def test_malformed_replies_are_failures_that_may_pass(kind: type[ToyServer], shown: Benchmark) -> None:
    texts = ("two", "two or four")
    with kind() as server, ToyAsker(server, shown) as asker:
        assert isinstance(asker.ask(("one", "three")), Response)
        for number, path in enumerate(path for path in server.routes if path != "/props"):
            for what, body in BROKEN.items():
                server.rule = lambda attempt: Reply(body=body) if attempt.path == path else None  # noqa: B023
                reply = asker.ask((f"{what} {number}", *texts))
                if path == "/v1/chat/completions" and not isinstance(server, ToyVllm):
                    assert isinstance(reply, Response)
                else:
                    assert isinstance(reply, CallError), (path, what)
                    assert reply.kind in ("garbage", "bad-request"), (path, what, reply)
        server.rule = lambda attempt: None
        check(asker.ask(texts), [server.direct(message(shown, "x", 1), text) for text in texts])


def session(server: Endpoint, bench: Benchmark, *conditions: Condition) -> Session:
    models = {"m": ModelEntry(spec=f"openai:toy@{server.url}")}
    limits = Limits(concurrency=8, attempts=6, backoff=0.01)
    return Session(bench, models, Asking(conditions=conditions, limits=limits))


def expected(server: ToyServer, bench: Benchmark, condition: Condition) -> list[tuple[float, ...]]:
    """The sums that a run has to hold, in the order of the items."""
    sums = []
    for item in bench:
        prompt = build(item, condition)
        reported = message(bench, item.id, None, prompt.messages[0].text)
        sums.append(tuple(server.direct(reported, text)[0] for text in prompt.candidates))
    return sums


@pytest.mark.parametrize("kind", [ToyVllm, ToySglang, ToyLlama])
def test_a_server_that_dies_within_a_walk_and_comes_back(kind: type[ToyServer], tmp_path: Path) -> None:
    bench, condition = make_bench(tmp_path / "b", 8), Condition(method="likelihood")
    with kind() as server:
        deaths = 0

        def rule(attempt: Attempt) -> Reply | None:
            nonlocal deaths
            is_dead = 25 < len(server.attempts) < 50
            deaths += is_dead
            return fault("cut") if is_dead else None

        server.rule = rule
        progress = session(server, bench, condition).run(tmp_path / "r")
        rows = stored(tmp_path / "r")
        sums = expected(server, bench, condition)
    assert deaths
    assert progress.done == len(rows) == len({row.request for row in rows}) == 8
    assert {row.outcome for row in rows} == {"answered"}
    assert max(row.attempts for row in rows) > 1
    assert sorted(row.candidates for row in rows) == [pytest.approx(one, abs=1e-9) for one in sorted(sums)]


def test_who_shows_a_image_first_goes_ahead_alone(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "b", 6, image_count=2)
    with ToyVllm() as server:
        server.latency = 0.01
        shown: dict[str, str] = {}
        too_early: list[str] = []

        def rule(attempt: Attempt) -> None:
            for url in attempt.images if attempt.path != "/tokenize" else ():
                first = shown.setdefault(url, attempt.key)
                if attempt.key != first and not server.answered[first]:
                    too_early.append(url)

        server.rule = rule
        session(server, bench, Condition(method="likelihood")).run(tmp_path / "r")
    assert len(shown) == 2
    assert server.peak > 3
    assert not too_early


def test_what_a_server_can_do_is_asked_once_and_noted(tmp_path: Path) -> None:
    bench, condition = make_bench(tmp_path / "b", 4), Condition(method="likelihood")
    with ToyLlama() as server:
        session(server, bench, condition, Condition(method="first-token")).run(tmp_path / "r")
        (step,) = manifest(tmp_path / "r")["steps"]
        assert step["ways"] == {"m": "llama.cpp, each candidate written by a grammar of its tokens"}
        assert sum(attempt.path == "/props" for attempt in server.attempts) == 1
        server.forget()
        session(server, bench, Condition()).run(tmp_path / "r")
        assert "ways" not in manifest(tmp_path / "r")["steps"][1]
        assert {attempt.path for attempt in server.attempts} == {"/v1/chat/completions"}
        assert len(server.attempts) == 4


def test_who_gives_no_likelihoods_is_asked_for_the_rest(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", 5)
    methods = ("--condition", "likelihood,first-token,generate")
    done = nursery.run("run", "b", "--model", f"openai:m@{endpoint.url}", "--to", "r", *methods).fine()
    lines = [line for line in (done.stdout + done.stderr).splitlines() if "gives no likelihoods" in line]
    assert len(lines) == 1
    assert "10: m: its server gives no likelihoods of given texts" in lines[0]
    rows = stored(tmp_path / "r")
    assert len(rows) == 5
    assert {row.outcome for row in rows} == {"answered"}
    (step,) = manifest(tmp_path / "r")["steps"]
    assert step["not_applicable"] == {"m: its server gives no likelihoods of given texts": 10}
    assert "ways" not in step
