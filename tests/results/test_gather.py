"""What measures get of replies: worth by golds of a family, what they copy, weighed choices, labelled sentences."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eyetest.benchmarks import Benchmark
from eyetest.measures import MEASURES, Settings
from eyetest.measures.likelihood import weighed
from eyetest.models import parse_models
from eyetest.prompts import SCREENSHOT_STEP
from eyetest.prompts.sets import load_prompts
from eyetest.records import Asked, Choice, Item, Lineage
from eyetest.results.gather import benchmark_names, exchanged, results_of, transcribed, transcript_of
from eyetest.results.judge import Judge, label_sentences, labels, sentence_prompt
from eyetest.runs import Run
from eyetest.scoring import Scorer
from tests.runs.written import jsonl
from tests.scoring.test_table import Reply, animals, make_answers, make_bench, request


def member(name: str, gold: str, edition: str) -> Item:
    question = f"How high is bar {name[0]}?"
    group = "" if edition == "original" else name[0]
    return Item(id=name, question=question, references=(gold,), group=group, tags={"edition": edition})


ITEMS = [
    *(member("1", "20", "original"), member("1-t", "30", "twin"), member("1-u", "Red", "twin")),
    *(member("2", "5", "original"), member("2-t", "7", "twin"), member("2-f", "9", "fresh")),
    Item(id="3", question="?", choices=(Choice("a", correct=True), Choice("b")), tags={"edition": "original"}),
]


def asked(folder: Path, replies: Mapping[str, Reply]) -> tuple[Run, Benchmark]:
    bench = make_bench(folder / "b", ITEMS)
    rows = [(Asked(item=name, model="m", ask="cot"), reply) for name, reply in replies.items()]
    return make_answers(folder / "r", rows, bench), bench


def test_each_reply_is_worth_something_by_each_gold_of_its_family_alone(tmp_path: Path) -> None:
    said: dict[str, Reply] = {"1": "I see 7.\nAnswer: 20", "1-t": "Answer: 30.0", "1-u": "Answer: red"}
    said |= {"2": {"outcome": "blocked", "text": None}, "2-f": "9", "3": "A"}
    run, bench = asked(tmp_path, said)
    names = {name: request(number) for number, name in enumerate(said)}
    table = exchanged(run, bench, Scorer()).collect()
    families = {"1": ("1", "1-t", "1-u"), "1-t": ("1", "1-t", "1-u"), "1-u": ("1", "1-t", "1-u"), "2": ("2", "2-t")}
    expected = {
        (names[name], whose): float(name == whose and name != "2")
        for name, family in families.items()
        for whose in family
    }
    assert {(one, whose): worth for one, whose, worth in table.iter_rows()} == expected
    assert exchanged(run, None, Scorer()).collect().is_empty()


def test_replies_in_words_count_as_evidence_of_memory(tmp_path: Path) -> None:
    """By hand: the gold of 1 is given on all its images, that of twin 2-t on both of its family: strengths are 1, 0,
    0 in the family of 1 and 0, 1 in that of 2, so that 4 of the 6 draws are as large as what is observed.
    """
    said = {"1": "Answer: 20", "1-t": "Answer: 20", "1-u": "Answer: 20", "2": "Answer: 7", "2-t": "Answer: 7"}
    run, bench = asked(tmp_path, said)
    results = results_of([run], Scorer(), bench=bench)
    (row,) = MEASURES["contamination"].measure(results, Settings(resamples=400)).table.iter_rows(named=True)
    assert (row["evidence"], row["n"], row["twins"]) == ("answers to twins", 2, 3)
    assert row["p"] == pytest.approx(4 / 6)


LINES = "Are the lines {} and B the same length?"


def yes_no_row(folder: Path, replies: list[str], gold: str) -> dict[str, Any]:
    """What ``yes-no`` measures of these replies to questions with this gold."""
    items = [Item(id=str(place), question=LINES.format(place), references=(gold,)) for place in range(len(replies))]
    bench = make_bench(folder / "b", items)
    rows = [(Asked(item=str(place), model="m"), reply) for place, reply in enumerate(replies)]
    results = results_of([make_answers(folder / "r", rows, bench)], Scorer(), bench=bench)
    return MEASURES["yes-no"].measure(results, Settings()).table.row(0, named=True)


def test_yes_no_reads_replies_by_the_question_as_their_score_does(tmp_path: Path) -> None:
    row = yes_no_row(tmp_path, ["They are different.", "They are the same length."] * 10, gold="no")
    assert (row["accuracy"], row["unread"], row["yes_rate"]) == (0.5, 0.0, 0.5)


def test_yes_no_reads_what_stands_behind_the_thinking(tmp_path: Path) -> None:
    thought = "<think>They look alike, so the answer is yes.</think> No, they are not."
    row = yes_no_row(tmp_path, [thought, "No."] * 5, gold="yes")
    assert (row["accuracy"], row["unread"], row["yes_rate"]) == (0.0, 0.0, 0.0)


PAGE = Item(
    id="1",
    question="Which bird <image 1> is blue?",
    choices=(Choice("The heron", correct=True), Choice("A. owl")),
    lineage=(Lineage(step=SCREENSHOT_STEP),),
)


def test_letters_and_the_answer_are_no_part_of_a_transcript() -> None:
    reply = "Which bird is blue?\nA. The heron\n**(B)** A. owl\nAnswer: the transcript\n\n**Answer: A**"
    assert transcript_of(reply).strip() == "Which bird is blue?\nThe heron\nA. owl\nAnswer: the transcript"
    assert transcript_of("no answer at all") == "no answer at all"


def test_only_transcripts_of_screenshots_are_judged(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "b", [PAGE])
    asked = [
        Asked(item="1", model="m", modality="screenshot", ask="ocr"),
        Asked(item="1", model="m", modality="screenshot"),
        Asked(item="1", model="m", ask="ocr"),
    ]
    replies = ("Which bird is blue?\nA. The heron\nB. A. owl\nAnswer: A", "A", "Answer: A")
    run = make_answers(tmp_path / "r", zip(asked, replies, strict=True), bench)
    assert transcribed(run, bench).collect().rows() == [(request(0), pytest.approx(1.0))]
    assert transcribed(run, None).collect().schema == {"request": pl.String, "copied": pl.Float64}
    table = MEASURES["ocr-accuracy"].measure(results_of([run], Scorer()), Settings()).table
    assert table.select("model", "accuracy", "score", "n").rows() == [("m", 1.0, 1.0, 1)]


WEIGHED = [
    Item(id="two", question="?", choices=(Choice("a"), Choice("bb", correct=True))),
    Item(id="three", question="?", choices=(Choice("a", correct=True), Choice("bb"), Choice("c", correct=True))),
    Item(id="tie", question="?", choices=(Choice("a", correct=True), Choice("b"))),
    Item(id="open", question="?", references=("x",)),
]


def weighed_reply(*candidates: float | None) -> dict[str, Any]:
    count = len(candidates)
    return {"text": "", "candidates": candidates, "candidate_tokens": (1,) * count, "candidate_bytes": (3,) * count}


def test_candidates_are_read_as_scoring_reads_them(tmp_path: Path) -> None:
    bench = make_bench(tmp_path / "b", WEIGHED)
    said: list[tuple[Asked, Reply]] = [
        (Asked(item="two", model="m", method="likelihood"), weighed_reply(-2.0, -1.0)),
        (Asked(item="three", model="m", method="likelihood"), {"text": "", "candidates": (None, -5.0, -4.0)}),
        (Asked(item="tie", model="m", method="likelihood"), weighed_reply(-1.0, -1.0)),
        (Asked(item="open", model="m"), "x"),
        (Asked(item="two", model="n", method="likelihood"), {"outcome": "failed", "error": "timeout"}),
    ]
    of = results_of([make_answers(tmp_path / "r", said, bench)], Scorer())
    answers = weighed(of)
    assert answers.rows["item"].to_list() == ["three", "tie", "two"]
    assert answers.logs[0].tolist() == [-float("inf"), -5.0, -4.0]
    assert answers.golds.tolist() == [[True, False, True], [True, False, False], [False, True, False]]
    assert answers.bytes[2, :2].tolist() == [3, 3]
    row = MEASURES["likelihood"].measure(of, Settings()).table.row(0, named=True)
    stored = of.scores.filter(pl.col("method") == "likelihood").select(pl.col("score").mean()).collect().item()
    assert row["sum"] == pytest.approx(stored) == pytest.approx(2 / 3)
    assert (row["n"], row["per_token"], row["per_byte"]) == (3, 0.5, 0.5)


REPLIES = ("There is a dog. So it is B.", "Two cats sit. One sleeps. Hence C.", "B")


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    return make_bench(tmp_path / "bench", [animals(f"q{n}") for n in range(3)])


@pytest.fixture
def run(tmp_path: Path, bench: Benchmark) -> Run:
    said = [(Asked(item=f"q{n}", model="m"), text) for n, text in enumerate(REPLIES)]
    return make_answers(tmp_path / "r", said, bench)


def judge(folder: Path, said: dict[str, str]) -> str:
    """A judge who was recorded: what it says about the reply to each item."""
    lines = ({"item": item, "model": "wise", "text": text} for item, text in said.items())
    return f"wise=replay:{jsonl(folder / 'judge.jsonl', *lines)}"


def test_labels() -> None:
    assert labels("1 D\n2: A\n**3.** O", 3) == {"descriptive": 1, "analytical": 1, "other": 1}
    assert labels("1 D\n1 A", 2) is None
    assert labels("1 D", 2) is None, "what it left out was not labelled"
    (message,) = sentence_prompt(["There is a dog.", "So it is B."], load_prompts().plain).messages
    assert "1. There is a dog.\n2. So it is B." in message.parts[0].text  # type: ignore[union-attr]


def test_a_judge_labels_once_and_is_measured(run: Run, bench: Benchmark, tmp_path: Path) -> None:
    assert "analytical" not in MEASURES["length"].measure(results_of([run], Scorer()), Settings()).table.columns
    spec = judge(tmp_path, {"q0": "1 D\n2 A", "q1": "1 D\n2 D\n3 A", "q2": "I cannot say"})
    (wise,) = parse_models([spec]).items()
    read, progress = label_sentences(run, bench, Judge(*wise))
    assert (read, progress.done) == (2, 3)
    again, later = label_sentences(Run(run.path), bench, Judge(*wise))
    assert (again, later.to_ask, later.stored) == (2, 0, 3)
    table = MEASURES["length"].measure(results_of([run], Scorer()), Settings()).table
    row = table.row(0, named=True)
    assert (row["descriptive"], row["analytical"], row["labelled"]) == (1.5, 1, 2)
    assert row["share"] == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert table.height == 1, "the judge's own replies are no model's"


def test_versions_of_a_benchmark_in_folders_of_one_name_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    """By the folder's name alone they would be one benchmark, whose items have two wordings and two keys."""
    runs = []
    for place, items in (("one", ITEMS), ("two", ITEMS[:1])):
        bench = make_bench(tmp_path / place / "b", items)
        runs.append(make_answers(tmp_path / place / "r", [(Asked(item=items[0].id, model="m"), "A")], bench))
    names = benchmark_names(runs, [None, None])
    assert names == [f"b ({run.path.resolve()})" for run in runs]
    assert benchmark_names([runs[0], runs[0]], [None, None]) == ["b", "b"]
