"""``similar`` and ``subset --like`` as users type them: tables, a page, endpoints, bad input."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Item, Manifest
from tests.endpoint import Attempt, Endpoint, Reply, failure
from tests.support.accessibility import check_accessible
from tests.support.browser import Browser
from tests.support.command import call

pytestmark = pytest.mark.journey
WORDS = ("tower", "river", "engine", "garden", "violin", "harbor", "glacier", "market")


def drawn(seed: int, size: int = 96) -> Image.Image:
    rng = np.random.default_rng(seed)
    image = Image.new("RGB", (96, 96), tuple(rng.integers(0, 255, 3)))
    for _ in range(7):
        x, y, w, h = rng.integers(0, 60, 4).tolist()
        ImageDraw.Draw(image).rectangle((x, y, x + w + 9, y + h + 9), fill=tuple(rng.integers(0, 255, 3)))
    return image.resize((size, size), Image.Resampling.LANCZOS)


def bench(path: Path, name: str, items: range, *, copied: bool = False) -> Benchmark:
    path.parent.mkdir(exist_ok=True)
    with BenchmarkWriter(path, Manifest(name=name)) as writer:
        for n in items:
            file = path.parent / f"{name}.{'jpeg' if copied else 'png'}"
            drawn(n, 130 if copied else 96).save(file, quality=90)
            image = writer.images.put(file.read_bytes())
            question = f"Where does the {WORDS[n % 8]} of {WORDS[n // 8 % 8]} number {n} stand?"
            choices = (Choice("left", True), Choice("right", False))
            tags = {"kind": WORDS[n % 3]}
            writer.add(Item(id=f"{name}{n}", question=question, images=(image,), choices=choices, tags=tags))
    return Benchmark(path)


@pytest.fixture
def here(workdir: Path) -> Path:
    bench(workdir / "a", "a", range(24))
    bench(workdir / "b", "b", range(18, 40), copied=True)
    return workdir


def test_copies_are_found_in_another_benchmark_and_shown_on_a_page(here: Path, browser: Browser) -> None:
    done = call("similar", "b", "a", "--encoder", "words", "--page", "map.html", "--output", "json")
    rows = json.loads(done.out)["rows"]
    found = {(row["item"], row["other"]) for row in rows if row["kind"] == "duplicate"}
    assert found == {(f"b{n}", f"a{n}") for n in range(18, 24)}
    assert {"score", "text", "image", "question", "other_question"} <= rows[0].keys()
    assert "6 duplicates" in call("similar", "b", "a", "--compare", "image").fine()
    assert "map.html is already there" in call("similar", "a", "--encoder", "words", "--page", "map.html").refused()
    page = browser.visitor()
    page.goto(here / "map.html")
    assert page.evaluate("document.querySelectorAll('.map a[href*=\"id=\"]').length") > 10
    assert page.evaluate("document.querySelectorAll('.map use').length") > 10
    assert page.evaluate("document.querySelectorAll('.group .item').length") == 24
    page.close()
    check_accessible(browser, here / "map.html")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("a", "--compare", "texts"), 'did you mean "text"?'),
        (("a", "--count", "0"), "expected 1 or more"),
        (("a", "--encoder", "wrds"), 'did you mean "words"?'),
        (("a", "--encoder", "openai:m@http://127.0.0.1:9/v1"), "cannot reach 127.0.0.1:9"),
        (("a", "--encoder", "words", "--page", "p.html", "--color", "knd"), 'did you mean "kind"?'),
    ],
)
def test_bad_input_gets_one_line(
    here: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], line: str
) -> None:
    monkeypatch.setattr("eyetest.running.limits.Limits.may_retry", lambda *_, **__: False)
    assert line in call("similar", *words).refused()
    assert not (here / "p.html").exists()


class Embeddings(Endpoint):
    """A server of embeddings: letters of a text, or the length of an image's URL; the first attempt fails."""

    routes = ("/v1/embeddings",)

    @staticmethod
    def vectors(attempt: Attempt) -> Reply:
        if attempt.number == 1:
            return failure(429, "too many requests", Retry_After="0.01")
        texts = attempt.body.get("input") or attempt.images
        rows = [{"index": n, "embedding": [len(t), t.count("o"), t.count("r"), 1]} for n, t in enumerate(texts)]
        return Reply(body={"data": rows[::-1]})


@pytest.fixture
def server() -> Iterator[Embeddings]:
    with Embeddings() as server:
        server.rule = server.vectors
        yield server


def test_any_endpoint_encodes_texts_and_images(here: Path, server: Embeddings) -> None:
    spec = f"openai:m@{server.url}"
    words = ("similar", "a", "--encoder", spec, "--encoder", f"image={spec}", "--output", "csv")
    table = call(*words).fine()
    sent = len(server.attempts)
    assert sent == 2 * (1 + 24)
    assert all(url.startswith("data:image/png;base64,") for a in server.attempts[2:] for url in a.images)
    assert (call(*words).fine(), len(server.attempts)) == (table, sent)
    names = sorted(path.name for path in (here / "a/embeddings").iterdir())
    assert [name.startswith("openai-m-") for name in names] == [True, True]
    assert "127.0.0.1" not in "".join(names)


def test_a_subset_like_users_queries(here: Path) -> None:
    topics = ("How high is the stone tower", "Which fish swim in the river")
    asked = [f"{topics[n % 2]} near village {n}?" for n in range(200)]
    rows = [{"id": str(n), "question": text, "options": ["x", "y"], "answer": "A"} for n, text in enumerate(asked)]
    (here / "both.jsonl").write_text("\n".join(map(json.dumps, rows)))
    queries = [{"id": str(n), "question": f"How high is a stone tower of {w}?"} for n, w in enumerate(WORDS)]
    (here / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    fit = ("subset", "both.jsonl", "--like", "queries.jsonl", "--share", "0.2", "--encoder", "words")
    call(*fit, "--to", "fit").fine()
    made = Benchmark(here / "fit/benchmark")
    assert [int(item.id) % 2 for item in made] == [0] * 40
    assert "texts alone are compared" in str(made.manifest.lineage[-1].note)
    assert "leave one of the two out" in call(*fit, "--to", "x", "--answers", "run").refused()
    assert not (here / "x").exists()
