"""Harden stages of a recipe: linked settings with one lineage, people in between, and recipes that cannot work."""

import hashlib
import io
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from PIL import Image as Pillow

import eyetest as et
from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.errors import InputError, MissingExtraError
from eyetest.pages.item_links import Query
from eyetest.recipes import hardening
from eyetest.recipes.hardening import Hardener, Outcome
from eyetest.recipes.loading import check_recipe
from eyetest.recipes.refining import Refined
from eyetest.recipes.reviews import ReviewSettings, open_review
from eyetest.records import Choice, Lineage, Message, Prompt, Recipe, Verdict, Words, letter
from eyetest.reform.distractors.written import OptionAuthors
from tests.recipes.benches import decide, make_bench

pytestmark = pytest.mark.journey

STAGES: list[dict[str, Any]] = [
    {"select": {"total": 6}},
    {"harden": {"options": {"number": 6}}, "name": "six-options", "writer": "scribe", "checker": "reader"},
    {"review": {"reviewers": 1, "form": "mmmu-pro"}},
    {"harden": {"screenshot": {}}},
]
RECIPE = {"panels": {"scribe": {"size": 1}, "reader": {"size": 1}}, "stages": STAGES}
MODELS = {"w": "scripted:right=1", "c": "scripted:right=1,seed=2"}


class Grow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    number: int = 10


class Shoot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    look: str = "screen"


def grow(benchmark: Benchmark, to: Path, settings: Grow, authors: OptionAuthors | None) -> Outcome:
    """Options that say who wrote them; the item q3 is for people."""
    if authors is not None:
        words = Prompt((Message("user", (Words("Write."),)),))
        list(authors.ask(authors.writer, [(item, words) for item in benchmark]))
    step = Lineage(step="options", source=benchmark.manifest.name)
    manifest = msgspec.structs.replace(benchmark.manifest, lineage=(*benchmark.manifest.lineage, step))
    with BenchmarkWriter(to, manifest, overwrite=True) as writer:
        for item in benchmark:
            more = tuple(Choice(f"new {n}") for n in range(settings.number - len(item.choices)))
            grown = msgspec.structs.replace(item, choices=(*item.choices, *more), lineage=(*item.lineage, step))
            writer.adopt(grown, benchmark)
    doubtful = [Verdict(item=item.id, stage="options", verdict="review", reason="two alike") for item in benchmark]
    return Outcome(Benchmark(to), doubtful[:1], [f"by {authors.writer if authors else 'rule'}"])


def shoot(benchmark: Benchmark, to: Path, settings: Shoot, authors: OptionAuthors | None) -> Outcome:
    """An image that depends on the text; the last item cannot be drawn."""
    step = Lineage(step="screenshot", source=benchmark.manifest.name)
    manifest = msgspec.structs.replace(benchmark.manifest, lineage=(*benchmark.manifest.lineage, step))
    *drawn, left = list(benchmark)
    with BenchmarkWriter(to, manifest, overwrite=True) as writer:
        for item in drawn:
            words = "".join((item.question, *(choice.text for choice in item.choices)))
            image = writer.images.put(_png(hashlib.sha256(words.encode()).digest()))
            writer.add(msgspec.structs.replace(item, images=(image,), lineage=(*item.lineage, step)))
        table = pl.DataFrame({"item": [item.id for item in benchmark], "similarity": 1.0})
        table.write_parquet(writer.folder / "legibility.parquet")
    unread = Verdict(item=left.id, stage="screenshot", verdict="review", reason="cannot be shown")
    return Outcome(Benchmark(to), [unread])


def _png(colour: bytes) -> bytes:
    data = io.BytesIO()
    Pillow.new("RGB", (8, 8), tuple(colour[:3])).save(data, "png")
    return data.getvalue()


@pytest.fixture(autouse=True)
def fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = {
        "options": Hardener(Grow, lambda images, settings: None, grow),
        "screenshot": Hardener(Shoot, lambda images, settings: None, shoot),
    }
    monkeypatch.setattr(hardening, "hardeners", lambda: ways)


def refine(folder: Path, *, recipe: dict[str, Any] = RECIPE, **more: Any) -> Refined:
    chosen = msgspec.convert(recipe, Recipe)
    panels = {"scribe": ["w"], "reader": ["c"]} if "panels" not in more else more.pop("panels")
    return et.refine(folder / "b", recipe=chosen, to=folder / "d", models=MODELS, panel=panels, **more).outcome


def settings(folder: Path) -> dict[str, Benchmark]:
    return {name: Benchmark(folder / "d" / name) for name in ("benchmark", "six-options", "screenshot")}


def test_three_linked_benchmarks_with_one_lineage(tmp_path: Path) -> None:
    make_bench(tmp_path / "b", 12)
    refined = refine(tmp_path, skip_review=True)
    made = settings(tmp_path)
    ids = [item.id for item in made["benchmark"]]
    assert len(ids) == 5, "six were taken, one could not be drawn"
    for benchmark in made.values():
        assert [item.id for item in benchmark] == ids
    assert [len(benchmark[ids[0]].choices) for benchmark in made.values()] == [4, 6, 6]
    steps = {name: [step.step for step in benchmark.manifest.lineage] for name, benchmark in made.items()}
    assert steps["benchmark"] == ["refine"]
    assert steps["six-options"] == ["refine", "options"]
    assert steps["screenshot"] == ["refine", "options", "screenshot"]
    assert len({benchmark.manifest.name for benchmark in made.values()}) == 3
    golds = [{item.id: [item.choices[n].text for n in item.gold] for item in one} for one in made.values()]
    assert golds[0] == golds[1] == golds[2]
    beside = pl.read_parquet(tmp_path / "d/screenshot/legibility.parquet")
    assert beside["item"].to_list() == ids
    assert "by w" in refined.notes
    assert not (tmp_path / "d/drafts").exists()
    assert all((tmp_path / "d" / name / "README.md").exists() for name in made)


def test_people_look_at_the_grown_items_and_what_they_mend_is_drawn(tmp_path: Path) -> None:
    make_bench(tmp_path / "b", 12)
    refined = refine(tmp_path)
    assert refined.paused == "review"
    doubtful = next(verdict.item for verdict in refined.waiting if verdict.stage == "six-options")
    assert not (tmp_path / "d/benchmark").exists()
    names = [verdict.item for verdict in refined.waiting]
    gone, repaired, *rest = [name for name in names if name != doubtful]
    rows = [{"item": name, "decision": "keep"} for name in (doubtful, *rest)]
    fix = {"item": repaired, "decision": "fix", "edits": '{"F": "repaired option", "question": "Which one now?"}'}
    decide(tmp_path / "d", *rows, fix, {"item": gone, "decision": "drop"})
    again = refine(tmp_path)
    assert again.paused == ""
    made = settings(tmp_path)
    assert all(gone not in benchmark and doubtful in benchmark for benchmark in made.values())
    assert made["six-options"][repaired].choices[5].text == "repaired option"
    assert made["screenshot"][repaired].choices[5].text == "repaired option"
    words = "".join(("Which one now?", *(choice.text for choice in made["six-options"][repaired].choices)))
    drawn = made["screenshot"].images.read(made["screenshot"][repaired].images[0])
    assert drawn == _png(hashlib.sha256(words.encode()).digest()), "drawn after it was repaired"
    assert made["benchmark"][repaired].question != "Which one now?", "what was asked with four options stays"


def test_reviewers_see_and_mend_the_grown_items(tmp_path: Path) -> None:
    """In the browser as in the queue: six options, images and golds of the draft, edits by its letters."""
    make_bench(tmp_path / "b", 12)
    waiting = [verdict.item for verdict in refine(tmp_path).waiting]
    project, collection = open_review([tmp_path / "d"], ReviewSettings())
    drafts = Benchmark(tmp_path / "d/drafts/six-options")
    story = collection.item(waiting[0])
    assert story.item == collection.record(waiting[0]) == drafts[waiting[0]]
    assert len(story.item.choices) == 6
    assert [row.image for row in collection.rows(collection.view(Query(ids=(waiting[0],))))] == [story.row.image]
    assert story.row.gold == letter(drafts[waiting[0]].gold[0])
    image = story.item.images[0]
    assert collection.image(image.sha256) == (image, drafts.images.read(image))
    project.people.invite("ann")
    ann = project.people.named("ann")
    labels = {"one-right": "yes", "distractors": "yes"}
    while (task := project.next_task(ann)) is not None:
        asked = {field.name: labels.get(field.name, field.values[0]) for field in task.form.asked("fix")}
        with pytest.raises(InputError, match="found 'G'"):
            project.decide(ann, task, "fix", nonce=f"{task.item} wrong", edits={"G": "x"}, labels=asked)
        project.decide(ann, task, "fix", nonce=task.item, edits={"F": f"repaired {task.item}"}, labels=asked)
    project.close()
    assert refine(tmp_path).paused == ""
    made = settings(tmp_path)["six-options"]
    assert [item.choices[5].text for item in made] == [f"repaired {item.id}" for item in made]


def test_what_is_not_installed_is_refused_before_any_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(images: Path, settings: Any) -> None:
        raise MissingExtraError("screenshots need typst", "screenshot")

    ways = dict(hardening.hardeners())
    ways["screenshot"] = Hardener(Shoot, missing, shoot)
    monkeypatch.setattr(hardening, "hardeners", lambda: ways)
    make_bench(tmp_path / "b", 12)
    with pytest.raises(MissingExtraError, match="typst"):
        refine(tmp_path, skip_review=True)
    assert not (tmp_path / "d/run").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"harden": {"options": {"nunber": 6}}}, 'no setting "nunber"; did you mean "number"'),
        ({"harden": {"options": {"number": "six"}}}, "Expected `int`"),
        ({"harden": {}}, "say one of options and screenshot"),
        ({"name": "benchmark"}, "its name becomes a folder"),
        ({"name": "../away"}, "its name becomes a folder"),
        ({"checker": "scribe"}, "cannot check what it wrote itself"),
        ({"writer": "scribes"}, 'no panel "scribes"; did you mean "scribe"'),
        ({"rate": 0.1}, "has no use for rate"),
    ],
)
def test_stages_that_cannot_work(change: dict[str, Any], words: str) -> None:
    stages = [STAGES[0], STAGES[1] | change]
    with pytest.raises((InputError, msgspec.ValidationError), match=words.replace("(", r"\(")):
        check_recipe(msgspec.convert(RECIPE | {"stages": stages}, Recipe), "mine")


def test_orders_that_cannot_work() -> None:
    backwards = RECIPE | {"stages": [STAGES[3], STAGES[1]]}
    with pytest.raises(InputError, match="first options and then screenshot"):
        check_recipe(msgspec.convert(backwards, Recipe), "mine")
    late = {"filter": "blind-hits", "panel": "scribe", "keep": {"hits": {"op": "<", "value": 1}}}
    with pytest.raises(InputError, match="comes after hardening"):
        check_recipe(msgspec.convert(RECIPE | {"stages": [*STAGES, late]}, Recipe), "mine")
