"""A run against files and against itself, and what is refused."""

import json
from pathlib import Path

import pytest

import eyetest as et
from tests.runs.written import jsonl
from tests.scoring.test_table import animals, make_bench
from tests.support.command import call

REPLIES = {"q0": "B. dog", "q1": "A dog", "q2": "I cannot see an image.", "q3": "(B)"}


@pytest.fixture
def here(workdir: Path) -> Path:
    """Four questions whose gold is dog, a run, and lmms-eval's log of the same replies with its own verdicts."""
    make_bench(workdir / "bench", [animals(name, 1) for name in REPLIES])
    jsonl(workdir / "a.jsonl", *({"item": name, "model": "m", "text": text} for name, text in REPLIES.items()))
    call("import", "a.jsonl", "--to", "run", "--bench", "bench").fine()
    read = ("B", "A", "D", "B")
    log = [
        {"doc_id": n, "resps": [[text]], "acc": float(letter == "B")}
        for n, (text, letter) in enumerate(zip(REPLIES.values(), read, strict=True))
    ]
    jsonl(workdir / "log.jsonl", *log)
    return workdir


def test_a_run_beside_a_log_of_positions(here: Path) -> None:
    reported = et.reconcile("run", "log.jsonl")
    assert reported.gap == -25.0
    assert reported.frame.select("cause", "rows", "points").rows() == [("reading", 1, -25.0)]
    assert reported.items.select("item", "a_read", "b_read").rows() == [("q1", "B", "not B")]
    assert "B is 25.00 points below A" in repr(reported)
    assert "reconciliation" in reported._repr_html_()


def test_two_rule_sets_of_one_run_and_a_table_each(here: Path) -> None:
    reported = json.loads(call("reconcile", "run", "run", "--rules-b", "mmmu", "--to", "gap", "--output", "json").out)
    assert (reported["a"], reported["b"], reported["gap"]) == (0.75, 0.5, -25.0)
    assert sum(cause["points"] for cause in reported["causes"]) == reported["gap"]
    assert sorted(path.name for path in Path("gap").iterdir()) == ["causes.csv", "items.csv"]
    assert "add --overwrite" in call("reconcile", "run", "run", "--to", "gap").refused()


def test_a_published_score(here: Path) -> None:
    reported = et.reconcile("run", 50.0, rules_b="mmmu")
    assert reported.ways["way"].to_list()[0] == "rules mmmu, unread guessed"
    assert set(reported.ways["gives it"]) == {"by chance", "exact", ""}
    assert reported.frame["points"].sum() == reported.gap == -25.0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "nowhere"), "neither a run, a file nor a score"),
        (("nowhere", "50"), "neither a run nor a file"),
        (("run", "140"), "is no score"),
        (("run", "run", "--rules-b", "mmu"), 'did you mean "mmmu"?'),
        (("run", "run", "--model", "n"), "no answers of 'n'"),
        (("run", "run", "--where", "asks=cot"), 'did you mean "ask"?'),
        (("run", "log.jsonl", "--map", "gven=acc"), 'did you mean "given"?'),
        (("run", "run", "--rules-b", "given"), "none of its 4 rows has a score"),
    ],
)
def test_what_is_refused_in_one_line(here: Path, words: tuple[str, ...], message: str) -> None:
    assert message in call("reconcile", *words).refused()
