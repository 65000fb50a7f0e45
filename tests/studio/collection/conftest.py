"""Six items, two models, with and without the image: small enough to count by hand.

Who chose what (gold A for q0 to q3, B for q4 and q5)::

            q0  q1  q2       q3  q4      q5
    a image A   A   B        A   B       B
    a blind A   B   refuses  C   B       failed
    b image A   B   B        ?   A       B
    b blind B   A   C        A   A       A
"""

from collections.abc import Mapping
from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Asked, Choice, Item, Manifest
from eyetest.records.tables import Modality
from eyetest.studio.collection import Collection
from tests.conftest import png
from tests.scoring.test_table import make_answers

REFUSAL = "I'm sorry, but I can't help with that."
RIDDLE = "Mysterious runes everywhere."
_BY_MODEL: Mapping[tuple[str, Modality], tuple[str | None, ...]] = {
    ("a", "image"): ("A", "A", "B", "A", "B", "B"),
    ("a", "no-image"): ("A", "B", REFUSAL, "C", "B", None),
    ("b", "image"): ("A", "B", "B", RIDDLE, "A", "B"),
    ("b", "no-image"): ("B", "A", "C", "A", "A", "A"),
}
SAID = [
    (Asked(item=f"q{number}", model=model, modality=modality), reply)
    for (model, modality), replies in _BY_MODEL.items()
    for number, reply in enumerate(replies)
]
"""What was replied to each item; None where the call failed."""
OPTIONS = ("Red kite", "Blue whale", "Green frog")


def items(writer: BenchmarkWriter) -> list[Item]:
    """The items; q0 and q1 share an image, q5 has none."""
    images = [writer.images.put(png(colour)) for colour in ("red", "red", "green", "blue", "white")]
    return [
        Item(
            id=f"q{number}",
            question=f"Which animal is number {number}?",
            images=() if number == 5 else (images[number],),
            choices=tuple(Choice(text, place == (0 if number < 4 else 1)) for place, text in enumerate(OPTIONS)),
            tags={"task": "birds" if number < 2 else "beasts", "year": 2020 + number},
        )
        for number in range(6)
    ]


def make_bench(path: Path, name: str = "zoo", most: int = 6) -> Benchmark:
    with BenchmarkWriter(path, Manifest(name=name)) as writer:
        for item in items(writer)[:most]:
            writer.add(item)
    return Benchmark(path)


@pytest.fixture(scope="session")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("zoo")
    make_answers(folder / "run", SAID, make_bench(folder / "bench"))
    return folder


@pytest.fixture(scope="session")
def collection(zoo: Path) -> Collection:
    return Collection([zoo / "run"])
