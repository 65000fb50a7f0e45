"""Label Studio itself: two people annotate what eyetest exported, and their decisions come back one by one. Slow."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.recipes.reviews import ReviewSettings, find_review, open_review
from eyetest.records import Choice, Decision, Item, Manifest
from tests.running.benches import image_file
from tests.studio.exchange.material import HOSTILE
from tests.studio.exchange.studio import Studio, label_studio
from tests.studio.exchange.test_round_trips import region
from tests.support.command import call

ITEMS = ("=1+1", "naïve/数 2", "<b>3</b>", "4", "5", "6")
KEEP = [("decision", "keep"), ("label_error", "perception")]


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    started = time.monotonic()
    with label_studio(tmp_path_factory.mktemp("studio")) as owner:
        print(f"the server answers after {time.monotonic() - started:.0f} s")
        yield owner


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    """Six items with images, the first of them full of what is no text elsewhere."""
    with BenchmarkWriter(tmp_path / "bench", Manifest(name="hostile")) as writer:
        for number, name in enumerate(ITEMS):
            images = (writer.images.put(image_file(number)),)
            choices = (Choice("=cmd|' /C calc'!A0", True), Choice(f"$question {HOSTILE}"), Choice("三"))
            question = f"Which of {number}? {HOSTILE}" if number < 3 else f"Which of {number}?"
            writer.add(Item(id=name, question=question, images=images, choices=choices, tags={"core": "x"}))
    return Benchmark(tmp_path / "bench")


def given(*answers: tuple[str, Any]) -> list[dict[str, Any]]:
    """Answers as the editor of Label Studio sends them."""
    choices = ("decision", "reason", "label_error", "label_seen-wrong")
    rows = []
    for number, (name, stated) in enumerate(answers):
        values = stated if isinstance(stated, list) else [stated]
        one = region(name, "choices" if name in choices else "text", *values)
        rows.append(
            one | {"id": f"r{number}", "type": "choices" if name in choices else "textarea", "origin": "manual"}
        )
    return rows


def annotate(who: Studio, task: int, *answers: tuple[str, Any], **more: Any) -> int:
    body = {"result": given(*answers), "lead_time": 1.5, **more}
    number: int = who.call("POST", f"/api/tasks/{task}/annotations/", body)["id"]
    return number


def imported(path: Path, bench: Benchmark, *names: str) -> str:
    words = [word for name in names for word in ("--reviewer", name)]
    return call("review", "import", path, "--on", bench.path, *words).fine()


def stated(decisions: list[Decision]) -> list[Decision]:
    """Without their times, which the server decides."""
    timeless = (msgspec.structs.replace(one, time="") for one in decisions)
    return sorted(timeless, key=lambda one: (ITEMS.index(one.item), one.reviewer))


def decision(item: str, reviewer: str, kind: str, **values: Any) -> Decision:
    about = {"item": item, "reviewer": reviewer, "decision": kind, "round": 1, "time": "", **values}
    return msgspec.convert(about, Decision)


@pytest.mark.slow
def test_a_review_in_label_studio(studio: Studio, bench: Benchmark, tmp_path: Path) -> None:
    open_review([bench.path], ReviewSettings(rounds="2", form="mmmu-pro-errors")).project.close()
    call("review", "export", bench.path, "--to", tmp_path / "out", "--tool", "label-studio").fine()
    project = studio.project("round 1", tmp_path / "out" / "round-1.xml", tmp_path / "out" / "round-1.json", 2)
    people = {name: studio.sign_up(f"{name}@example.org") for name in ("ana", "ben", "cleo")}
    ids = {row["email"].partition("@")[0]: row["id"] for row in studio.call("GET", "/api/users")}
    names = [f"{ids[name]}={name}" for name in people]

    see_images(studio, project, people["ana"], bench)
    changing = decide_in_two(people["ana"], people["ben"], studio.tasks(project))
    exported = studio.export(project, tmp_path / "round-1-export.json")
    assert f"{len(EXPECTED)} decisions in round-1-export.json, {len(EXPECTED)} of them new" in imported(
        exported, bench, *names
    )
    with find_review(bench.path) as review:
        kept = review.decisions()
        assert stated(kept) == stated(EXPECTED)
        assert all(one.time > "2026" and one.time.endswith("+00:00") for one in kept)
        disputed = {item for item, _, settles in review.waiting() if settles}
        assert disputed == {"=1+1", "naïve/数 2", "4"}
    print(f"{len(kept)} decisions of two people came back as they were made")
    assert "0 of them new" in imported(exported, bench, *names)

    people["ana"].call("PATCH", f"/api/annotations/{changing}/", {"result": given(*KEEP), "lead_time": 3.0})
    again = studio.export(project, tmp_path / "again.json")
    assert f"{len(EXPECTED)} decisions in again.json, 1 of them new" in imported(again, bench, *names)
    with find_review(bench.path) as review:
        changed = review.decisions()[-1]
        assert {item for item, _, settles in review.waiting() if settles} == {"=1+1", "naïve/数 2"}
    assert stated([changed]) == [decision("4", "ana", "keep", labels={"error": "perception"})]

    settle(studio, people["cleo"], bench, tmp_path, names)


def see_images(owner: Studio, project: int, reviewer: Studio, bench: Benchmark) -> None:
    """Images are served from the benchmark's folder once the project knows it; nothing else is."""
    row = next(item for item in bench if item.id == "=1+1")
    rows = owner.call("GET", f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true")
    (address,) = next(one["data"]["images"] for one in rows if one["data"]["eyetest"]["item"] == row.id)
    with pytest.raises(AssertionError, match="404"):
        reviewer.fetch("GET", address)
    folder = {"project": project, "path": str(bench.path.resolve() / "images"), "title": "images"}
    owner.call("POST", "/api/storages/localfiles", folder)
    assert reviewer.fetch("GET", address) == bench.images.read(row.images[0])
    with pytest.raises(AssertionError, match=r"404|403"):
        reviewer.fetch("GET", f"/data/local-files/?d={str(bench.path.resolve() / 'items.parquet')[1:]}")


def decide_in_two(ana: Studio, ben: Studio, tasks: dict[str, int]) -> int:
    """Two people annotate; gives an annotation that ana will change."""
    left = ("edit_b", f"$question {HOSTILE}")
    repaired = [
        ("edit_question", HOSTILE),
        ("edit_a", "repaired"),
        left,
        ("edit_answer", "A, C"),
        ("edit_tags", "core=a=b"),
    ]
    annotate(ana, tasks["=1+1"], ("decision", "fix"), ("label_error", "annotation"), *repaired)
    annotate(ben, tasks["=1+1"], ("decision", "drop"), ("label_error", "annotation"), ("reason", "the gold is wrong"))
    several = [("label_seen-wrong", ["text", "colours"]), ("label_remark", HOSTILE)]
    annotate(ana, tasks["naïve/数 2"], *KEEP, *several, ("comment", HOSTILE))
    annotate(ben, tasks["naïve/数 2"], ("decision", "unsure"))
    for who in (ana, ben):
        annotate(who, tasks["<b>3</b>"], ("decision", "drop"), ("label_error", "refusal"), ("reason_text", "=why"))
    changing = annotate(ana, tasks["4"], ("decision", "drop"), ("label_error", "refusal"))
    annotate(ben, tasks["4"], *KEEP, ("label_seen-wrong", ["objects"]))
    for who in (ana, ben):
        annotate(who, tasks["5"], *KEEP)
    annotate(ben, tasks["6"], *KEEP)
    annotate(ben, tasks["6"], ("decision", "undo"))
    annotate(ana, tasks["6"], was_cancelled=True)
    return changing


EDITS = {"question": HOSTILE.strip(), "A": "repaired", "answer": ["A", "C"], "tags": {"core": "a=b"}}
SEEN = {"error": "perception", "seen-wrong": ["text", "colours"], "remark": HOSTILE.strip()}
PERCEPTION = {"labels": {"error": "perception"}}
EXPECTED = [
    decision("=1+1", "ana", "fix", edits=EDITS, labels={"error": "annotation"}),
    decision("=1+1", "ben", "drop", reason="the gold is wrong", labels={"error": "annotation"}),
    decision("naïve/数 2", "ana", "keep", labels=SEEN, comment=HOSTILE.strip()),
    decision("naïve/数 2", "ben", "unsure"),
    *(decision("<b>3</b>", who, "drop", reason="=why", labels={"error": "refusal"}) for who in ("ana", "ben")),
    decision("4", "ana", "drop", labels={"error": "refusal"}),
    decision("4", "ben", "keep", labels={"error": "perception", "seen-wrong": ["objects"]}),
    *(decision("5", who, "keep", **PERCEPTION) for who in ("ana", "ben")),
    decision("6", "ben", "keep", **PERCEPTION),
    decision("6", "ben", "undo"),
]


def settle(owner: Studio, cleo: Studio, bench: Benchmark, tmp_path: Path, names: list[str]) -> None:
    """What two disagree about goes out again with what they given, and a third settles it there."""
    call("review", "export", bench.path, "--to", tmp_path / "more", "--tool", "label-studio").fine()
    config, content = (tmp_path / "more" / f"settle-1.{ending}" for ending in ("xml", "json"))
    project = owner.project("settle", config, content)
    tasks = owner.tasks(project)
    assert sorted(tasks) == ["=1+1", "naïve/数 2"]
    earlier = {task["data"]["eyetest"]["item"]: task["data"]["earlier"] for task in json.loads(content.read_bytes())}
    assert earlier["=1+1"].splitlines()[-1] == "ben, round 1: drop; the gold is wrong"
    dropped = [("decision", "drop"), ("label_error", "annotation"), ("reason", "the gold is wrong")]
    annotate(cleo, tasks["=1+1"], *dropped)
    annotate(cleo, tasks["naïve/数 2"], *KEEP)
    exported = owner.export(project, tmp_path / "settled.json")
    assert "2 of them new" in imported(exported, bench, *names)
    with find_review(bench.path) as review:
        verdicts = {item: outcome.verdict for item, outcome in review.outcomes().items()}
    assert verdicts == {**dict.fromkeys(ITEMS, "keep"), "=1+1": "drop", "<b>3</b>": "drop", "6": "review"}
