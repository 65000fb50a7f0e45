"""Pictures of another task, pictures with a part out of place, and answers that stand in pictures."""

import random
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from scipy import special

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.errors import MissingExtraError
from eyetest.ocr.base import ReadLine, ReadWord
from eyetest.probes import written_answer
from eyetest.probes.audit import run_audit
from eyetest.probes.odd_in_task import tail_chances
from eyetest.probes.picture_against_task import foreign_pictures, surest
from eyetest.probes.picture_tasks import tasks_told
from eyetest.probes.subject import Subject
from eyetest.records import Choice, Finding, Item, Manifest
from tests.probes.test_pictures import encoded

KINDS = ("bars", "discs", "lines")
COLOURS = ("#b03030", "#2f6fab", "#2a7f3f")
WORDS = ("harbour", "meadow", "castle", "forest")
FOREIGN, CAPTIONED = (0, 31, 62, 93, 124), (10, 41, 72, 103, 134)


def scene(kind: str, rng: random.Random, caption: str = "") -> bytes:
    picture = Image.new("RGB", (128, 128), rng.choice(["#ffffff", "#f4efe0", "#eef4fa"]))
    draw, colour = ImageDraw.Draw(picture), rng.choice(COLOURS)
    for number in range(rng.randint(3, 5)):
        x, y = 10 + number * 22, rng.randint(10, 60)
        if kind == "bars":
            draw.rectangle((x, y, x + 12, 90), fill=colour)
        elif kind == "discs":
            draw.ellipse((x, y, x + 20, y + 20), fill=colour)
        else:
            draw.line((5, y, 120, rng.randint(10, 60)), fill=colour, width=2)
    if caption:
        draw.rectangle((0, 104, 127, 127), fill="white", outline="black")
        draw.text((8, 106), caption, fill="black", font=ImageFont.load_default(size=16))
    return encoded(picture)


def drawn(
    path: Path, *, foreign: Sequence[int] = (), captioned: Sequence[int] = (), sorted_by: str = "task"
) -> Subject:
    """150 items of three tasks, some with a picture of the next task, some with their gold below it."""
    rng = random.Random(4)
    with BenchmarkWriter(path, Manifest(name="drawn")) as writer:
        for number in range(150):
            kind, gold = number % 3, rng.randrange(4)
            picture = scene(KINDS[(kind + (number in foreign)) % 3], rng, WORDS[gold] if number in captioned else "")
            tag = KINDS[kind] if sorted_by == "task" else rng.choice(KINDS)
            writer.add(
                Item(
                    id=str(number),
                    question="Where was it?",
                    images=(writer.images.put(picture),),
                    choices=tuple(Choice(word, index == gold) for index, word in enumerate(WORDS)),
                    tags={sorted_by: tag},
                )
            )
    return Subject(Benchmark(path))


def probed(subject: Subject, name: str) -> list[Finding]:
    return list(run_audit(subject, [name]).findings)


def test_pictures_of_another_task_are_found_and_no_others(tmp_path: Path) -> None:
    (finding,) = probed(drawn(tmp_path / "b", foreign=FOREIGN), "picture-against-task")
    assert (finding.severity, finding.verdict) == ("suspect", "review")
    assert set(finding.items) == {str(number) for number in FOREIGN}
    assert finding.evidence["0"].startswith('its task is "bars"')
    assert 'looks like "discs"' in finding.evidence["0"]


def test_a_part_that_others_of_the_task_do_not_have_is_found(tmp_path: Path) -> None:
    (finding,) = probed(drawn(tmp_path / "b", captioned=CAPTIONED), "odd-in-task")
    assert finding.severity == "suspect"
    assert set(finding.items) == {str(number) for number in CAPTIONED}
    assert all("at the bottom" in told for told in finding.evidence.values())


def test_an_odd_picture_is_no_companion_of_itself(tmp_path: Path) -> None:
    """Several questions on one picture are one picture, and all of them are listed."""
    items = list(drawn(tmp_path / "b", captioned=CAPTIONED).benchmark)
    again = [msgspec.structs.replace(item, id=f"{item.id}-{n}") for item in items[:20] for n in range(3)]
    subject = Subject(Benchmark(tmp_path / "b"))
    subject.__dict__["items"] = [*items, *again]
    (finding,) = probed(subject, "odd-in-task")
    assert set(finding.items) == {str(number) for number in CAPTIONED} | {f"10-{n}" for n in range(3)}


def test_sound_pictures_raise_nothing(tmp_path: Path) -> None:
    subject = drawn(tmp_path / "b")
    findings = [finding for name in ("picture-against-task", "odd-in-task") for finding in probed(subject, name)]
    assert [(finding.severity, finding.items) for finding in findings] == [("sound", ()), ("sound", ())]


def test_a_tag_that_pictures_do_not_tell_is_no_task(tmp_path: Path) -> None:
    subject = drawn(tmp_path / "b", foreign=FOREIGN, sorted_by="day")
    assert tasks_told(subject) is None
    (finding,) = probed(subject, "picture-against-task")
    assert (finding.severity, finding.kind) == ("untested", "no-tasks")
    (finding,) = probed(subject, "odd-in-task")
    assert finding.numbers["tasks"] == 1


def test_without_pictures_all_three_say_that_nothing_was_tested(tmp_path: Path) -> None:
    with BenchmarkWriter(tmp_path / "b", Manifest(name="b")) as writer:
        choices = (Choice("yes", True), Choice("no", False))
        for number in range(40):
            writer.add(Item(id=str(number), question=f"{number}?", choices=choices))
    subject = Subject(Benchmark(tmp_path / "b"))
    for name in ("picture-against-task", "odd-in-task", "written-answer"):
        assert [finding.severity for finding in probed(subject, name)] == ["untested"]


def test_the_share_of_foreign_pictures_is_found_beside_tasks_that_are_often_confused() -> None:
    """Of six tasks two pairs look the same, trees are less sure than right; a tenth of the tags is drawn by lot."""
    rng = np.random.default_rng(5)
    look, sureness = rng.integers(0, 6, 3000), rng.uniform(1, 12, 3000)
    lean = np.zeros((3000, 6))
    lean[np.arange(3000), np.array([1, 0, 3, 2, 4, 5])[look]] = 0.9
    lean[np.arange(3000), look] = 1
    said = special.softmax(lean * sureness[:, None] / 3, axis=1)
    task = np.array([rng.choice(6, p=row) for row in special.softmax(lean * sureness[:, None], axis=1)])
    assert foreign_pictures(said, task).p > 0.05
    swapped = rng.random(3000) < 0.1
    task[swapped] = rng.integers(0, 6, swapped.sum())
    foreign = foreign_pictures(said, task)
    assert 0.07 < foreign.share < 0.13
    assert foreign.p < 1e-3
    listed = surest(foreign.chances, 0.2)
    assert len(listed) > 50
    assert np.mean(~swapped[listed]) <= 0.25


def test_the_tail_of_oddness_holds_where_nothing_is_odd() -> None:
    """The smallest of a thousand chances is below a twentieth of a thousandth in about one case of twenty."""
    rng = np.random.default_rng(6)
    smallest = [tail_chances(rng.normal(5, 1, (1000, 16)).max(axis=1)).min() for _ in range(200)]
    assert np.mean(np.array(smallest) < 0.05 / 1000) <= 0.05


class FromBelow:
    """Stands in for an engine: reads a caption where there is one."""

    name, summary, rank = "from-below", "", 0

    def __init__(self, texts: dict[bytes, str]) -> None:
        self.texts = texts

    def missing(self) -> str:
        return ""

    def scripts(self) -> frozenset[str]:
        return frozenset({"latin"})

    def read(self, picture: Image.Image) -> list[ReadLine]:
        text = self.texts.get(picture.tobytes(), "")
        return [ReadLine((ReadWord(text, 0, 0, 1, 1),))] if text else []


def read_by(subject: Subject, options: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """What the probe says where an engine reads one option in the pictures of some items."""
    texts = {}
    for item in subject.items:
        if item.id in options:
            with subject.benchmark.images.path(item.images[0]).open("rb") as file:
                texts[Image.open(file).convert("RGB").tobytes()] = item.choices[options[item.id]].text
    monkeypatch.setattr(written_answer, "choose_engine", lambda: FromBelow(texts))
    return probed(subject, "written-answer")


def test_answers_in_pictures_are_found_and_wrong_options_say_what_luck_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = drawn(tmp_path / "b")
    read = {item.id: item for item in written_answer._sample(subject)}
    golds = {name: item.gold[0] for name, item in list(read.items())[:8]}
    (finding,) = read_by(subject, golds, monkeypatch)
    assert (finding.severity, set(finding.items), finding.numbers["by_luck"]) == ("suspect", set(golds), 0)
    wrong = {name: (item.gold[0] + 1) % 4 for name, item in list(read.items())[8:32]}
    (finding,) = read_by(subject, golds | wrong, monkeypatch)
    assert (finding.severity, finding.items, round(finding.numbers["by_luck"])) == ("sound", (), 8)


def test_a_task_of_reading_is_noted_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject = drawn(tmp_path / "b")
    bars = {item.id: item.gold[0] for item in subject.items if item.tags["task"] == "bars"}
    findings = {finding.kind: finding for finding in read_by(subject, bars, monkeypatch)}
    assert findings["reading-task"].verdict == "keep"
    assert set(findings["reading-task"].items) <= set(bars)
    assert findings["reading-task"].numbers["tasks"] == ["bars"]
    assert findings["answer-in-picture"].items == ()


def test_without_an_engine_nothing_is_read_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise MissingExtraError("no OCR engine is installed: apt-get install one")

    monkeypatch.setattr(written_answer, "choose_engine", none)
    (finding,) = probed(drawn(tmp_path / "b"), "written-answer")
    assert (finding.severity, finding.kind) == ("untested", "no-ocr")
    assert "apt-get" in finding.detail
