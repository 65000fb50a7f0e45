"""``eyetest run --describe``: images become text, for models that see none."""

import json
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Item, Manifest
from eyetest.runs import Run, read_responses
from tests.conftest import png
from tests.endpoint import Attempt, Endpoint, Reply, completion, failure
from tests.runs.conftest import Eyetest


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Items with no, one and two images; two share theirs; one has a description already."""
    monkeypatch.chdir(tmp_path)
    choices = (Choice("a zebra", True), Choice("a quagga"))
    with BenchmarkWriter(tmp_path / "b", Manifest(name="b")) as writer:
        red, blue = (writer.images.put(png(colour)) for colour in ("red", "blue"))
        writer.add(Item(id="one", question="Which animal?", images=(red,), choices=choices))
        writer.add(Item(id="same", question="Which beast?", images=(red,), choices=choices))
        writer.add(Item(id="two", question="What differs?", images=(red, blue), references=("the zebra",)))
        writer.add(Item(id="none", question="What is 1 + 1?", references=("2",)))
        writer.add(Item(id="known", question="Which?", images=(blue,), choices=choices, description="all blue"))
    return tmp_path


@pytest.fixture
def describer(endpoint: Endpoint) -> Endpoint:
    endpoint.answer = lambda attempt: f"  {len(attempt.images)} images: {attempt.key}\n"
    return endpoint


def command(endpoint: Endpoint, *more: object) -> tuple[object, ...]:
    return ("run", "b", "--describe", f"openai:eye@{endpoint.url}", "--to", "d", *more)


def descriptions(folder: Path) -> dict[str, str]:
    return {item.id: item.description for item in Benchmark(folder / "d/benchmark")}


def test_descriptions_land_in_the_benchmark(here: Path, describer: Endpoint, eyetest: Eyetest) -> None:
    said = eyetest(*command(describer)).fine()
    found = descriptions(here)
    assert found["one"].startswith("1 images: ")
    assert found["one"] == found["same"], "the same images are described once"
    assert found["two"].startswith("2 images: ")
    assert (found["none"], found["known"]) == ("", "all blue")
    assert len(describer.attempts) == 2
    assert "3 descriptions by eye → d/benchmark" in said
    old, new = Benchmark(here / "b"), Benchmark(here / "d/benchmark")
    assert [item.id for item in new] == [item.id for item in old]
    assert new.manifest.fingerprint != old.manifest.fingerprint
    assert (new.manifest.lineage[-1].step, new.manifest.lineage[-1].note) == ("describe", "described by eye")
    for item in new:
        for image in item.images:
            assert new.images.path(image).exists()


def test_the_describer_never_sees_the_question(here: Path, describer: Endpoint, eyetest: Eyetest) -> None:
    eyetest(*command(describer)).fine()
    for attempt in describer.attempts:
        sent = json.dumps(attempt.body)
        assert not [word for word in ("zebra", "quagga", "animal", "beast", "differs", "Which") if word in sent]
        assert "Describe this image" in attempt.question
    assert [len(attempt.images) for attempt in describer.attempts].count(2) == 1
    assert "There are 2 images" in next(a.question for a in describer.attempts if len(a.images) == 2)


def test_again_asks_nothing(here: Path, describer: Endpoint, eyetest: Eyetest) -> None:
    eyetest(*command(describer)).fine()
    first = descriptions(here)
    eyetest(*command(describer)).fine()
    assert len(describer.attempts) == 2
    assert descriptions(here) == first
    assert [step.what for step in Run(here / "d/run").manifest.steps] == ["describe"]


def test_what_was_described_by_others_is_kept_unless_told(here: Path, describer: Endpoint, eyetest: Eyetest) -> None:
    eyetest(*command(describer)).fine()
    told = eyetest("run", "d/benchmark", "--describe", f"openai:eye@{describer.url}", "--to", "e").refused()
    assert "every item with an image has a description already; --overwrite describes them again" in told
    eyetest(*command(describer, "--overwrite")).fine()
    assert descriptions(here)["known"].startswith("1 images: ")
    assert len(describer.attempts) == 3


def test_a_failed_call_leaves_an_item_without(here: Path, describer: Endpoint, eyetest: Eyetest) -> None:
    def only_single(attempt: Attempt) -> Reply | None:
        return failure(400, "too many images") if len(attempt.images) > 1 else None

    describer.rule = only_single
    said = eyetest(*command(describer)).fine()
    assert "1 item without a description: the call failed or was refused" in said
    assert descriptions(here)["two"] == ""
    describer.rule = lambda attempt: None
    eyetest(*command(describer)).fine()
    assert descriptions(here)["two"] == "", "not by itself"
    eyetest(*command(describer, "--retry-failed")).fine()
    assert descriptions(here)["two"].startswith("2 images")
    assert len(describer.attempts) == 3


def test_a_blocked_or_empty_answer_is_no_description(here: Path, describer: Endpoint, eyetest: Eyetest) -> None:
    describer.rule = lambda attempt: Reply(body=completion(None, finish_reason="content_filter"))
    said = eyetest(*command(describer)).fine()
    assert "3 items without a description" in said
    assert set(descriptions(here).values()) == {"", "all blue"}


def test_a_describer_that_cannot_be_reached(here: Path, describer: Endpoint, eyetest: Eyetest) -> None:
    describer.rule = lambda attempt: failure(401, "wrong key")
    for more in ((), ("--concurrency", 1)):
        done = eyetest(*command(describer, *more))
        assert done.code == 2
        assert "eye was given up: 401" in done.err
    assert not (here / "d/benchmark").exists()
    describer.rule = lambda attempt: None
    eyetest(*command(describer)).fine()
    assert descriptions(here)["one"]


def test_readers_are_asked_about_the_words(here: Path, describer: Endpoint, eyetest: Eyetest) -> None:
    eyetest(*command(describer)).fine()
    known = descriptions(here)
    describer.forget()
    describer.answer = lambda attempt: "A"
    spec = f"openai:reader@{describer.url}"
    eyetest("run", "d/benchmark", "--model", spec, "--condition", "caption", "--to", "r").fine()
    by_item = {name: [a for a in describer.attempts if known[name] in a.question] for name in ("one", "two", "known")}
    assert all(by_item.values())
    assert all(not attempt.images for attempt in describer.attempts)
    assert len(list(read_responses(here / "r"))) >= 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--describe", "a,b"), "--describe: found 2 models, expected one"),
        (("--describe", "c"), 'no model "c"; known: a, b'),
        (("--describe", "a", "--model", "b"), "--model: not with --describe"),
    ],
)
def test_one_describer(here: Path, eyetest: Eyetest, words: tuple[str, ...], message: str) -> None:
    (here / "models.yaml").write_text("a: 'scripted:'\nb: 'scripted:'\n")
    command = ("run", "b", "--to", "d", "--models", "models.yaml")
    assert message in eyetest(*command, *words).refused()
    assert not (here / "d").exists()
    eyetest(*command, "--describe", "b").fine()


def test_a_benchmark_without_images(here: Path, eyetest: Eyetest) -> None:
    with BenchmarkWriter(here / "bare", Manifest(name="bare")) as writer:
        writer.add(Item(id="1", question="?", references=("x",)))
    told = eyetest("run", "bare", "--describe", "scripted:", "--to", "d").refused()
    assert "no item has an image" in told


def test_it_does_not_write_into_a_folder_of_somebody_else(here: Path, eyetest: Eyetest) -> None:
    (here / "d").mkdir()
    (here / "d/thesis.tex").write_text("x")
    told = eyetest("run", "b", "--describe", "scripted:", "--to", "d").refused()
    assert "thesis.tex" in told
