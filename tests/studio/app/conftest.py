"""The zoo of the collection's tests, and one whose every word tries to get out of the page."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.pages.serving import listen, server_of
from eyetest.records import Asked, Choice, Item, Manifest
from eyetest.studio.app.items import make_app
from eyetest.studio.app.server import Site
from eyetest.studio.collection import Collection
from tests.conftest import png
from tests.reports.conftest import browse
from tests.reports.pages import HOSTILE, Browse
from tests.scoring.test_table import make_answers
from tests.studio.collection.conftest import collection, zoo
from tests.studio.collection.test_opening import verdict, write_refinement

__all__ = ["browse", "collection", "zoo"]
DRAWN = "document.body.dataset.ready !== undefined"
"""What is true in a bundle once its scripts have drawn it."""
HOME = "http://127.0.0.1:8765"


@pytest.fixture(scope="session")
def client(collection: Collection) -> TestClient:
    """A person with a browser, at the pages of the zoo."""
    return TestClient(make_app(collection), HOME)


@contextmanager
def served(pages: Collection | Site, *proxies: str) -> Iterator[str]:
    """Where a browser finds the pages of a collection, or of an app behind proxies."""
    app = make_app(pages) if isinstance(pages, Collection) else pages
    taken, address = listen("127.0.0.1", 0)
    server = server_of(app, proxies)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
    thread.start()
    try:
        yield address
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="session")
def refined(zoo: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two stages' verdicts on the zoo: the first drops q0 and doubts q1, the second sees the rest and drops q2."""
    first = ("drop", "review", "keep", "keep", "keep", "keep")
    second = (None, "keep", "drop", "keep", "keep", "review")
    rows = [
        verdict(f"q{number}", stage, kind, "so")
        for stage, kinds in (("one", first), ("two", second))
        for number, kind in enumerate(kinds)
        if kind
    ]
    return write_refinement(tmp_path_factory.mktemp("judged") / "refined", Benchmark(zoo / "bench"), *rows)


@pytest.fixture(scope="session")
def judged(zoo: Path, refined: Path) -> Collection:
    """The zoo after these stages."""
    return Collection([zoo / "run", refined])


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """Items, tags, models and replies that are all attacks."""
    folder = tmp_path_factory.mktemp("hostile")
    with BenchmarkWriter(folder / "bench", Manifest(name=HOSTILE[0])) as writer:
        image = writer.images.put(png("red"))
        for number, words in enumerate(HOSTILE):
            writer.add(
                Item(
                    id=f"{number} {HOSTILE[1]}",
                    question=words,
                    images=(image,),
                    choices=(Choice(words, correct=True), Choice("$\\frac{1}{2}$ <b>")),
                    hint=words,
                    tags={"kind": HOSTILE[number % 2], "note": words},
                )
            )
    asked = [Asked(item=f"{number} {HOSTILE[1]}", model=HOSTILE[2]) for number in range(len(HOSTILE))]
    replies = zip(asked, (f"{words} A" for words in HOSTILE), strict=True)
    return Collection([make_answers(folder / "run", replies, Benchmark(folder / "bench")).path])


def try_out(open_page: Browse, copy: Path, script: str, at: str) -> tuple[Any, str]:
    """Run a script in a bundle, at a view of it; returns ``body.dataset.sample`` and the document."""
    page = (copy / "index.html").read_text()
    (copy / "sample.html").write_text(page.replace("</head>", '<script src="sample.js" defer></script></head>'))
    (copy / "sample.js").write_text(f"{{{script}}}")
    document, given, asked = open_page(
        (copy / "sample.html").as_uri() + at, f"{DRAWN} && document.body.dataset.sample"
    )
    assert (given, asked) == ([], [])
    left = re.search(r'data-sample="([^"]*)"', document)
    assert left
    return json.loads(unescape(left[1])), document
