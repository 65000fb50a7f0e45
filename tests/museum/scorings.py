"""Faults around the reading: options that vanish, rows that overwrite others, failed calls, guesses that score."""

import csv
import io
import tempfile
from fractions import Fraction
from pathlib import Path

from eyetest.benchmarks import Import, import_benchmark
from eyetest.errors import InputError
from eyetest.records import Choice, Condition, Item, Response
from eyetest.records.request import Message, Prompt, Request, Words
from eyetest.results.reconcile import Account, Credit, reconciled
from eyetest.scoring import Scorer
from tests.museum.exhibit import ANIMALS, Exhibit, by_rules

_MISSING = ("", "None", "NA", "nan", "null")
"""Words that a spreadsheet reader takes for an empty cell unless it is configured otherwise."""


def sheet(*rows: dict[str, str]) -> str:
    """A benchmark as VLMEvalKit has it."""
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), delimiter="\t")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def imported(text: str) -> list[Item]:
    """The same file, as eyetest reads it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.tsv"
        path.write_text(text, "utf-8")
        benchmark, _ = import_benchmark(path, Path(folder) / "bench", Import())
        return list(benchmark)


ZERO = {"index": "1", "question": "How many owls are there?", "A": "None", "B": "Two", "C": "Four", "answer": "A"}
SAME = [ZERO | {"index": "7", "question": f"How many {what}?"} for what in ("owls", "cats")]


def overwritten() -> str:
    replies = {row["index"]: f"reply {number}" for number, row in enumerate(SAME, 1)}
    return ", ".join(replies[row["index"]] for row in SAME)


def refused() -> str:
    try:
        imported(sheet(*SAME))
    except InputError:
        return "refused: the id is there twice"
    return "taken"


def worth(item: Item, reply: str) -> str:
    """What a reply scores here."""
    score = Scorer().score(item, Condition(), Response(request="", outcome="answered", text=reply)).score
    return "right" if score == 1 else "wrong"


CHOICE = Item(id="1", question="Which animal?", choices=tuple(Choice(name, name == "cat") for name in ANIMALS))
OPEN = Item(id="2", question="How many degrees?", references=("60",))
SUM = Item(id="3", question="What is m + n?", references=("42",))


def errors() -> str:
    """100 calls of which 10 failed and 80 are right: the score, and what the other way of counting would change."""
    right = [Credit(item=str(n), score=Fraction(n < 80)) for n in range(90)]
    failed = [Credit(item=str(n), failed=True) for n in range(90, 100)]
    ours = Account("ours", (*right, *failed))
    counted = Account("counted", (*right, *(credit._replace(score=Fraction(0)) for credit in failed)))
    (cause,) = reconciled(ours, counted).causes
    return f"{float(ours.score):.1%}, 10 failed; counted as wrong {float(100 * cause.points):+.1f} points"


QUESTION = "Which animal is it?"


def cached() -> str:
    """Two models in turn, with replies kept by the question."""
    kept: dict[str, str] = {}
    said = [kept.setdefault(QUESTION, f"{model}'s reply") for model in ("the other model", "this model")]
    return said[-1]


def asked(model: str) -> str:
    message = Message(role="user", parts=(Words(QUESTION),))
    return Request(prompt=Prompt(messages=(message,)), model=model).id


SCORINGS = (
    Exhibit(
        "open-compass/VLMEvalKit",
        1559,
        "the option `None` is read as an empty cell, and is never shown; where it is the gold no answer can be right",
        "options None, Two, Four",
        "A None, B Two, C Four",
        lambda: ", ".join(f"{mark} {ZERO[mark]}" for mark in "ABC" if ZERO[mark] not in _MISSING),
        lambda: ", ".join(
            f"{mark} {choice.text}" for mark, choice in zip("ABC", imported(sheet(ZERO))[0].choices, strict=True)
        ),
    ),
    Exhibit(
        "open-compass/VLMEvalKit",
        696,
        "results are kept by an index that is not unique, so that all questions about an image get the last reply",
        "two questions under index 7",
        "refused: the id is there twice",
        overwritten,
        refused,
    ),
    Exhibit(
        "open-compass/VLMEvalKit",
        110,
        "an open question becomes a choice between A, the gold, and B, anything else; a stray A is right",
        "gold 60, reply A",
        "wrong",
        lambda: "right" if by_rules("vlmevalkit", "A", (OPEN.references[0], "Other answers")) == "A" else "wrong",
        lambda: worth(OPEN, "A"),
    ),
    Exhibit(
        "UKGovernmentBEIS/inspect_ai",
        3781,
        "calls that failed leave the denominator, and nothing in the number says so",
        "100 calls, 10 failed, 80 right",
        "88.9%, 10 failed; counted as wrong -8.9 points",
        lambda: f"{80 / 90:.1%}",
        errors,
        honest="eyetest leaves failed calls out as well; it says how many there are, and what counting them would do",
    ),
    Exhibit(
        "EleutherAI/lm-evaluation-harness",
        4063,
        "replies are cached by what was asked and not by whom, so that one model is scored with another's replies",
        "the same question to two models",
        "asked again",
        cached,
        lambda: "asked again" if asked("one") != asked("other") else "the other model's reply",
    ),
    Exhibit(
        "sapientinc/HRM-Text",
        24,
        "what cannot be read is credited as a guess would be, one in the number of options",
        "four options, reply `hm`",
        "wrong",
        lambda: f"{1 / len(ANIMALS)} of a point",
        lambda: worth(CHOICE, "hm"),
    ),
    Exhibit(
        "antirez/ds4",
        319,
        "the first number behind the cue is taken, where the line shows its arithmetic",
        "gold 42, reply `Answer: 12 + 30 = 42`",
        "right",
        lambda: "right" if "Answer: 12 + 30 = 42".removeprefix("Answer: ").split()[0] == "42" else "wrong",
        lambda: worth(SUM, "Answer: 12 + 30 = 42"),
    ),
)
