"""Replies in words to an original and its twins, held to each other's golds by the metric that scores them."""

from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark
from eyetest.measures import MEASURES, Settings
from eyetest.records import Asked, Choice, Item, Response
from eyetest.results.gather import exchanged, results_of
from eyetest.runs import Run
from eyetest.scoring import Scorer
from tests.scoring.test_table import make_bench, make_run, request


def member(name: str, gold: str, edition: str) -> Item:
    question = f"How high is bar {name[0]}?"
    group = "" if edition == "original" else name[0]
    return Item(id=name, question=question, references=(gold,), group=group, tags={"edition": edition})


ITEMS = [
    *(member("1", "20", "original"), member("1-t", "30", "twin"), member("1-u", "Red", "twin")),
    *(member("2", "5", "original"), member("2-t", "7", "twin"), member("2-f", "9", "fresh")),
    Item(id="3", question="?", choices=(Choice("a", correct=True), Choice("b")), tags={"edition": "original"}),
]


def asked(folder: Path, replies: dict[str, str | None]) -> tuple[Run, Benchmark, dict[str, str]]:
    """A run in which a reply that is None was blocked."""
    bench = make_bench(folder / "b", ITEMS)
    names = {name: request(number) for number, name in enumerate(replies)}
    plan = [(Asked(item=name, model="m", ask="cot"), names[name]) for name in replies]
    said = [
        Response(request=names[name], outcome="answered" if text else "blocked", text=text)
        for name, text in replies.items()
    ]
    return make_run(folder / "r", plan, said, bench), bench, names


def test_each_reply_is_worth_something_by_each_gold_of_its_family_alone(tmp_path: Path) -> None:
    said = {"1": "I see 7.\nAnswer: 20", "1-t": "Answer: 30.0", "1-u": "Answer: red", "2": None, "2-f": "9", "3": "A"}
    run, bench, names = asked(tmp_path, said)
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
    run, bench, _ = asked(tmp_path, dict(said))
    results = results_of([run], Scorer(), bench=bench)
    (row,) = MEASURES["contamination"].measure(results, Settings(resamples=400)).table.iter_rows(named=True)
    assert (row["evidence"], row["n"], row["twins"]) == ("answers to twins", 2, 3)
    assert row["p"] == pytest.approx(4 / 6)
