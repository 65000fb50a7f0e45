"""`eyetest review export` and `import`: a team that keeps its tool, from the queue to what people came to."""

import json
from pathlib import Path

import msgspec
import pytest

import eyetest as et
from eyetest.benchmarks import Benchmark
from eyetest.recipes.reviews import ReviewSettings, find_review, open_review
from tests.running.benches import make_bench
from tests.studio.exchange.test_round_trips import region
from tests.support.command import call
from tests.support.tables import read_csv, write_csv

ITEMS = 4


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A benchmark with a review of all its items: two reviewers."""
    bench = make_bench(tmp_path / "bench", ITEMS)
    with open_review([bench.path], ReviewSettings(reviewers=2, form="mmmu-pro-errors")).project:
        return bench.path


def fill_in(path: Path, reviewer: str, *decisions: dict[str, str]) -> Path:
    rows = (row | {"reviewer": reviewer} | said for row, said in zip(read_csv(path), decisions, strict=False))
    return write_csv(path.parent.parent / f"{reviewer}.csv", rows)


def test_a_queue_goes_out_and_decisions_come_in_once(place: Path, tmp_path: Path) -> None:
    stated = call("review", "export", place, "--to", tmp_path / "out").fine()
    assert f"{ITEMS} to decide, 0 decisions → {tmp_path / 'out'}" in stated
    keep = {"decision": "keep", "label_error": "reasoning"}
    ana = fill_in(
        tmp_path / "out" / "queue.csv", "ana", keep, keep | {"decision": "drop", "reason_text": "=why"}, {}, keep
    )
    assert "3 decisions in ana.csv, 3 of them new" in call("review", "import", ana, "--on", place).fine()
    assert "3 decisions in ana.csv, 0 of them new" in call("review", "import", ana, "--on", place).fine()
    ben = fill_in(tmp_path / "out" / "queue.csv", "ben", keep, keep | {"label_seen-wrong": "text; colours"})
    call("review", "import", ben, "--on", place).fine()
    with find_review(place) as project:
        given = [(one.item, one.reviewer, one.decision) for one in project.decisions()]
        first, second, third, last = project.outcomes()
        assert given == [
            *((item, "ana", kind) for item, kind in ((first, "keep"), (second, "drop"), (last, "keep"))),
            *((item, "ben", "keep") for item in (first, second)),
        ]
        assert project.decisions()[-1].labels == {"error": "reasoning", "seen-wrong": ["text", "colours"]}
        assert project.waiting() == [third, last]
        assert project.progress().disputes.open == 1
    call("review", "export", place, "--to", tmp_path / "out", "--overwrite").fine()
    again = call("review", "import", tmp_path / "out" / "decisions.csv", "--on", place).fine()
    assert "5 decisions in decisions.csv, 0 of them new" in again


def test_a_tools_users_get_their_names(place: Path, tmp_path: Path) -> None:
    call("review", "export", place, "--to", tmp_path / "out", "--tool", "label-studio").fine()
    path = tmp_path / "out" / "tasks.json"
    tasks = json.loads(path.read_bytes())
    answers = {"decision": ["keep"], "label_error": ["knowledge"], "label_seen-wrong": ["text", "colours"]}
    given = [region(name, "choices", *values) for name, values in answers.items()]
    times = {"created_at": "2026-03-01T10:00:00Z"}
    tasks[0]["annotations"] = [{"result": given, "completed_by": user, **times} for user in (1, 2)]
    path.write_bytes(msgspec.json.encode(tasks))
    stated = call("review", "import", path, "--on", place, "--reviewer", "1=ana", "--reviewer", "2=ben").fine()
    assert f"2 decisions in {path.name}, 2 of them new" in stated
    with find_review(place) as project:
        assert [(one.reviewer, one.decision, one.labels) for one in project.decisions()] == [
            (name, "keep", {"error": "knowledge", "seen-wrong": ["text", "colours"]}) for name in ("ana", "ben")
        ]


def test_users_whose_names_hold_a_sign_of_ours_get_their_names_too(place: Path, tmp_path: Path) -> None:
    (queue, _) = map(Path, et.export_review(place, to=tmp_path / "out").facts["files"])
    given = fill_in(queue, "a=b", {"decision": "keep", "label_error": "reasoning"})
    assert et.import_review(given, on=place, reviewer={"a=b": "Ann"}).facts["new"] == 1
    assert et.review_decisions(place).get_column("reviewer").to_list() == ["Ann"]


def test_images_that_stay_where_they_are_are_named(place: Path, tmp_path: Path) -> None:
    call("review", "export", place, "--to", tmp_path / "out", "--tool", "label-studio").fine()
    tasks = json.loads((tmp_path / "out" / "tasks.json").read_bytes())
    (address,) = tasks[0]["data"]["images"]
    image = (Path("/") / address.removeprefix("/data/local-files/?d=")).read_bytes()
    bench = Benchmark(place)
    (item,) = (item for item in bench if item.question == tasks[0]["data"]["question"])
    assert image == bench.images.read(item.images[0])
    call("review", "export", place, "--to", tmp_path / "csv").fine()
    images = [Path(row["images"]) for row in read_csv(tmp_path / "csv" / "queue.csv")]
    assert len(images) == ITEMS
    assert all(path.is_file() for path in images)


def test_what_cannot_be_done_is_said_in_one_line_and_nothing_is_written(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    stated = call("review", "export", place, "--to", out, "--tool", "labelstudio").refused()
    assert '--tool: no tool "labelstudio"; did you mean "label-studio"?' in stated
    assert not out.exists()
    out.mkdir()
    (out / "mine.txt").write_text("x")
    assert (
        "'mine.txt', which eyetest did not write"
        in call("review", "export", place, "--to", out, "--overwrite").refused()
    )
    (tmp_path / "x.csv").write_text("item,decision,reviewer\nnone,keep,ana\n")
    assert (
        "x.csv, line 2 (none): no item 'none'"
        in call("review", "import", tmp_path / "x.csv", "--on", place).refused()
    )
    assert "x.json is not there" in call("review", "import", tmp_path / "x.json", "--on", place).refused()
    (tmp_path / "empty").mkdir()
    given = call("review", "import", tmp_path / "empty", "--on", place).refused()
    assert "is a folder; name the file itself" in given
    named = call("review", "import", tmp_path / "x.csv", "--on", place, "--reviewer", "3=").refused()
    assert "--reviewer: found '3=', expected NAME or ID=NAME" in named
    with find_review(place) as project:
        assert project.people.rows() == []


def test_a_refinement_whose_benchmark_has_moved_is_refused_until_it_is_named(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "bench", ITEMS)
    (tmp_path / "recipe.yaml").write_text("stages: [{review: {reviewers: 2, form: mmstar}}]\nseed: 0\n")
    (tmp_path / "models.yaml").write_text('m: {spec: "scripted:right=0.5"}\n')
    recipe = ("--recipe", tmp_path / "recipe.yaml", "--models", tmp_path / "models.yaml")
    refined, out = tmp_path / "refined", tmp_path / "out"
    call("refine", bench.path, *recipe, "--to", refined).fine()
    moved = bench.path.rename(tmp_path / "moved")
    assert "is in no benchmark that the review knows" in call("review", "export", refined, "--to", out).refused()
    assert not out.exists()
    call("review", refined, moved, "--address", "none").fine()
    assert f"{ITEMS} to decide" in call("review", "export", refined, "--to", out).fine()
    drop = {"decision": "drop", "label_image": "no", "reason": "too easy"}
    for name in ("ana", "ben"):
        call("review", "import", fill_in(out / "queue.csv", name, drop), "--on", refined).fine()
    stated = call("refine", moved, *recipe, "--to", refined, "--skip-review").fine()
    assert "review 4 3 1 0 0" in " ".join(stated.split())
