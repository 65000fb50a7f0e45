"""``measure``: runs in, tables out, in four shapes; what it refuses; and that it never measures old scores."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

import eyetest as et
from eyetest.benchmarks import Benchmark
from eyetest.records import Asked, ImageRef, Item
from eyetest.results.gather import items_table
from tests.scoring.test_table import animals, make_answers, make_bench
from tests.support.command import call, measured

REPLIES = {("eye", "image"): "BBBA", ("eye", "no-image"): "BAAA", ("text", "no-image"): "ABAA"}
"""The gold is B throughout."""


def write(path: Path, bench: Benchmark | None, replies: dict[tuple[str, str], str]) -> Path:
    said = [
        (Asked(item=f"q{i}", model=model, modality=modality), letter)  # type: ignore[arg-type]
        for (model, modality), letters in replies.items()
        for i, letter in enumerate(letters)
    ]
    return make_answers(path, said, bench).path


@pytest.fixture
def bench(workdir: Path) -> Benchmark:
    items = [animals(f"q{n}", 1, question=f"Which is {n}?", tags={"core": "pq"[n // 2]}) for n in range(4)]
    return make_bench(workdir / "b", items)


@pytest.fixture
def run(bench: Benchmark, tmp_path: Path) -> Path:
    return write(tmp_path / "r", bench, REPLIES)


def test_a_run_that_was_not_scored_is_scored_on_the_way(run: Path) -> None:
    found = measured("accuracy", "r", "--where", "modality=image")
    assert [(row["model"], row["accuracy"], row["n"]) for row in found] == [("eye", 0.75, 4)]
    assert (run / "scores/eyetest.parquet").exists()


def test_two_runs_complete_each_other_and_an_answer_in_both_counts_once(bench: Benchmark, tmp_path: Path) -> None:
    write(tmp_path / "seeing", bench, {("eye", "image"): "BBBA"})
    write(tmp_path / "no-image", bench, {("eye", "no-image"): "BAAA"})
    assert measured("gain", "seeing", "no-image")[0]["gain"] == 0.5
    assert measured("gain", "seeing", "no-image", "seeing") == measured("gain", "seeing", "no-image")
    write(tmp_path / "again", bench, {("eye", "image"): "BBAA"})


def test_of_two_answers_to_one_question_the_newer_counts_and_the_older_is_named(
    bench: Benchmark, tmp_path: Path
) -> None:
    """Averaged with each other they would be a score of neither run. A failed call replaces no answer."""
    older = write(tmp_path / "older", bench, {("eye", "image"): "BBBA", ("lid", "image"): "BBBB"})
    newer = write(tmp_path / "newer", bench, {("eye", "image"): "BAAA"})
    for path, time in ((older, "2026-01-01T00:00:00+00:00"), (newer, "2026-01-02T00:00:00+00:00")):
        manifest = json.loads((path / "run.json").read_text())
        del manifest["checksum"]
        manifest["steps"] = [step | {"time": time} for step in manifest["steps"]]
        (path / "run.json").write_text(json.dumps(manifest))
    for order in (("older", "newer"), ("newer", "older")):
        found = json.loads(call("measure", "accuracy", *order, "--output", "json").fine())
        scores = {row["model"]: row["accuracy"] for row in found["rows"]}
        assert scores == {"eye": 0.25, "lid": 1.0}
        (note,) = [note for note in found["notes"] if "left out" in note]
        assert note.startswith("2 answers of ")
        assert "older left out: " in note


def test_bases_come_from_models_yaml(run: Path, tmp_path: Path) -> None:
    (tmp_path / "models.yaml").write_text("eye: {spec: 'scripted:', base: text}\n")
    row = measured("gain", "r", "--models", "models.yaml")[0]
    assert (row["gain"], row["leakage"], row["unclipped"], row["base_by"]) == (0.5, 0.0, 0.0, "no-image direct")
    reported = call("measure", "gain", "r")
    assert "Leakage: not measured (no base language model named)" in reported.err


def test_four_shapes_of_one_table(run: Path) -> None:
    words = ("measure", "accuracy", "r", "--by", "core")
    terminal, as_csv, latex = (
        call(*words, *more).fine() for more in ((), ("--output", "csv"), ("--output", "latex"))
    )
    assert terminal.split()[:8] == ["model", "modality", "core", "accuracy", "unread", "n", "clusters", "missing"]
    assert "0.500 [0.095, 0.905]" in terminal
    table = list(csv.DictReader(io.StringIO(as_csv)))
    assert len(table) == 6
    assert (table[2]["core"], table[2]["accuracy"], table[2]["accuracy_low"]) == ("p", "0.5", "0.09453120573423074")
    assert latex.startswith("\\begin{tabular}{lllrrrrr}\n\\toprule\nmodel & modality & core & accuracy")
    assert latex.count("\\\\\n") == 7


def test_verdicts_need_no_benchmark(workdir: Path) -> None:
    (workdir / "m.csv").write_text("item,a,b\n1,1,0\n2,1,1\n")
    call("import", "m.csv", "--to", "r", "--matrix", "item").fine()
    assert [row["accuracy"] for row in measured("accuracy", "r")] == [1.0, 0.5]
    assert "have no tags" in call("measure", "accuracy", "r", "--by", "core").refused()
    assert "--bench" in call("measure", "guessing", "r").refused()
    assert "nothing is known of the items" in call("measure", "accuracy", "r", "--cluster", "image").refused()
    assert [row["n"] for row in measured("accuracy", "r", "--where", "score=1")] == [2, 1]


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("acuracy", "r"), 'did you mean "accuracy"?'),
        (("accuracy", "r", "--by", "cor"), 'did you mean "core"?'),
        (("accuracy", "r", "--where", "modality=imag"), 'did you mean "image"?'),
        (("accuracy", "r", "--where", "core=z"), "no core 'z'; known: p, q"),
        (("no-image-hits", "r", "--set", "ovr=items"), 'did you mean "over"?'),
        (("items", "r", "--by", "core"), "items: it has no rows by tag"),
        (("correlation", "r", "--with", "noise.csv"), "noise.csv is no CSV"),
        (("accuracy", "r", "--level", "95"), "expected from 0.5 to 0.999"),
        (("accuracy", "r", "--cluster", "picture"), "--cluster: no tag 'picture'"),
        (("accuracy", "r", "--with", "elo.csv"), "accuracy takes no score from elsewhere"),
        (("correlation", "r", "--with", "elo.csv"), "elo.csv is no CSV of model,score"),
    ],
)
def test_bad_input_gets_one_line(run: Path, tmp_path: Path, words: Any, part: str) -> None:
    (tmp_path / "elo.csv").write_text("model,elo\neye,1000\ntext,many\n")
    (tmp_path / "noise.csv").write_bytes(b"model,elo\n\x88,1\n")
    assert part in call("measure", *words).refused()


def test_items_that_share_a_image_or_a_group_are_one_cluster() -> None:
    red, blue = (ImageRef(digit * 64, "png", 8, 8, 80) for digit in "ab")
    shapes = {"1": (red,), "2": (blue,), "3": (red, blue), "4": (), "5": ()}
    bench = [
        animals(name, 1, images=images, group="4" if name == "5" else "", hint="h" if name in "14" else "")
        for name, images in shapes.items()
    ]

    def clusters(kind: str) -> set[frozenset[str]]:
        table = items_table("b", bench, kind)
        return {frozenset(part.get_column("item")) for _, part in table.group_by("cluster")}

    def sets(*words: str) -> set[frozenset[str]]:
        return {frozenset(word) for word in words}

    assert clusters("auto") == sets("123", "45")
    assert clusters("image") == sets("123", "4", "5")
    assert clusters("group") == sets("1", "2", "3", "45")
    assert clusters("passage") == sets("14", "2", "3", "5")
    assert clusters("none") == sets("1", "2", "3", "4", "5")
    assert items_table("b", bench).get_column("group").to_list() == [None, None, None, "4", "4"]


def test_a_run_counts_as_it_was_last_scored(workdir: Path) -> None:
    items = [animals("q0", 1), Item(id="q1", question="Which?", references=("a red fox",))]
    write(workdir / "r", make_bench(workdir / "b", items), {("eye", "image"): "BA"})
    scores = workdir / "r/scores/eyetest.parquet"
    assert measured("accuracy", "r")[0]["n"] == 2
    before = scores.read_bytes()
    call("score", "r", "--metric", "cider").fine()
    reported = call("measure", "accuracy", "r")
    assert "different scales are together here (accuracy, cider)" in reported.err
    assert "--where metric=…" in reported.err
    assert scores.read_bytes() == before
    call("score", "r").fine()
    assert "different scales" not in call("measure", "accuracy", "r").err
    key = make_bench(workdir / "key", [animals("q0", 0), items[1]])
    et.score("r", bench=key)
    assert measured("accuracy", "r")[0]["accuracy"] == 0
    key.path.rename(workdir / "moved")
    assert "is scored by the answer key of" in call("measure", "accuracy", "r").refused()
    write(workdir / "s", Benchmark(workdir / "b"), {("other", "image"): "BA"})
    et.score("s", rules="mmmu")
    et.score("r")
    reported = call("measure", "accuracy", "r", "s")
    assert "the runs are scored in different ways: r by eyetest, s by mmmu" in reported.err
    (workdir / "r/scores/chosen.json").write_text("{")
    assert "chosen.json is damaged" in call("measure", "accuracy", "r").refused()


def test_half_of_a_runs_own_items_cut_off_is_said_and_repaired(workdir: Path, bench: Benchmark) -> None:
    """The figures are right while the benchmark itself is there, and refused when it is not."""
    command = ("run", "b", "--model", "m=scripted:right=0.5", "--to", "asked")
    call(*command).fine()
    sound = call("measure", "accuracy", "asked")
    assert "damaged" not in sound.err
    items = workdir / "asked/benchmark/items.parquet"
    whole = items.read_bytes()
    flipped = whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]
    for damage in (whole[: len(whole) // 2], b"", flipped):
        items.write_bytes(damage)
        done = call("measure", "accuracy", "asked")
        assert (done.code, done.out) == (0, sound.out)
        (line,) = [line for line in done.err.splitlines() if "damaged" in line]
        assert line.startswith("note: ")
        assert "asked/benchmark/items.parquet is damaged: " in line
        assert "or repeat the eyetest run" in line
        bench.path.rename(workdir / "moved")
        assert "asked/benchmark/items.parquet is damaged: " in call("measure", "accuracy", "asked").refused()
        (workdir / "moved").rename(bench.path)
        call(*command).fine()
        assert items.read_bytes() == whole
        assert "damaged" not in call("measure", "accuracy", "asked").err


@pytest.mark.parametrize("damage", [b"", b"PAR1"], ids=["empty", "cut off"])
def test_damaged_scores_are_refused_with_the_way_to_new_ones(workdir: Path, run: Path, damage: bytes) -> None:
    call("score", "r").fine()
    (workdir / "r/scores/eyetest.parquet").write_bytes(damage)
    refused = call("measure", "accuracy", "r").refused()
    assert "eyetest.parquet is damaged: " in refused
    assert "score it again: eyetest score r" in refused
    call("score", "r").fine()
    call("measure", "accuracy", "r").fine()


def test_what_is_left_out_by_a_tag_is_no_guess_either(bench: Benchmark, tmp_path: Path) -> None:
    write(tmp_path / "people", bench, {("human", "image"): "BB"})
    whole, part = (measured("guessing", "people", *more)[0] for more in ((), ("--where", "core=p")))
    assert (whole["guessed"], whole["n"], part["n"], part.get("guessed")) == (2, 2, 2, None)
    assert measured("guessing", "people", "--where", "core=p,q")[0]["items"] == 4
    assert measured("guessing", "people", "--where", "item=q0")[0]["items"] == 1
