"""eyetest does what docs/museum.md says of each public bug."""

import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest

from eyetest.benchmarks import import_benchmark
from eyetest.errors import InputError
from eyetest.records import Choice, Condition, Item, Response
from eyetest.records.item import Message, Prompt, Request, Words
from eyetest.results.reconcile import Account, Credit, reconciled
from eyetest.scoring import Scorer, read_choice

ANIMALS = ("cat", "dog", "bird", "fish")


class Case(msgspec.Struct, forbid_unknown_fields=True):
    """A public bug and a small case of our own that shows its mechanism, or a further reply."""

    case: str
    right: str
    thread: str = ""
    mechanism: str = ""
    tool: str = ""
    options: tuple[str, ...] = ANIMALS
    honest: str = ""


class Cases(msgspec.Struct, forbid_unknown_fields=True):
    """``cases.yaml``."""

    readings: list[Case]
    scorings: list[Case]
    variants: list[Case]


CASES = msgspec.yaml.decode(Path(__file__).with_name("cases.yaml").read_bytes(), type=Cases)


def read(case: Case) -> str:
    """What eyetest reads: a letter, a guess, or nothing."""
    found = read_choice(case.case, case.options)
    if found.index is not None:
        return "ABCDEFGHIJ"[found.index]
    return "a guess" if found.would_guess else "nothing"


def imported(*rows: str) -> list[Item]:
    """The items of a sheet as VLMEvalKit has it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.tsv"
        path.write_text("\n".join(("index\tquestion\tA\tB\tC\tanswer", *rows)), "utf-8")
        return list(import_benchmark(path, Path(folder) / "bench")[0])


def refused() -> str:
    try:
        imported("7\tHow many owls?\tNone\tTwo\tFour\tA", "7\tHow many cats?\tNone\tTwo\tFour\tA")
    except InputError:
        return "refused: the id is there twice"
    return "taken"


def worth(reply: str, *references: str) -> str:
    """What a reply scores here; without references, to a question about a cat."""
    choices = () if references else tuple(Choice(name, name == "cat") for name in ANIMALS)
    item = Item(id="1", question="Which?", choices=choices, references=references)
    score = Scorer().score(item, Condition(), Response(request="", outcome="answered", text=reply)).score
    return "right" if score == 1 else "wrong"


def errors() -> str:
    """100 calls of which 10 failed and 80 are right: the score, and what the other way of counting would change."""
    right = [Credit(item=str(n), score=Fraction(n < 80)) for n in range(90)]
    failed = [Credit(item=str(n), failed=True) for n in range(90, 100)]
    ours = Account("ours", (*right, *failed))
    counted = Account("counted", (*right, *(credit._replace(score=Fraction(0)) for credit in failed)))
    (change,) = reconciled(ours, counted).causes["points"]
    return f"{float(ours.score):.1%}, 10 failed; counted as wrong {change:+.1f} points"


def asked(model: str) -> str:
    message = Message(role="user", parts=(Words("Which animal is it?"),))
    return Request(prompt=Prompt(messages=(message,)), model=model).id


def options() -> str:
    (item,) = imported("1\tHow many owls are there?\tNone\tTwo\tFour\tA")
    return ", ".join(f"{mark} {choice.text}" for mark, choice in zip("ABC", item.choices, strict=True))


OURS: dict[str, Callable[[], str]] = {
    "open-compass/VLMEvalKit#1559": options,
    "open-compass/VLMEvalKit#696": refused,
    "open-compass/VLMEvalKit#110": lambda: worth("A", "60"),
    "UKGovernmentBEIS/inspect_ai#3781": errors,
    "EleutherAI/lm-evaluation-harness#4063": lambda: "asked again" if asked("a") != asked("b") else "the other's",
    "sapientinc/HRM-Text#24": lambda: worth("hm"),
    "antirez/ds4#319": lambda: worth("Answer: 12 + 30 = 42", "42"),
}
"""What eyetest does in the cases that are about counting."""


@pytest.mark.parametrize("case", CASES.readings, ids=lambda case: case.thread)
def test_a_reply_is_read_right_but_for_the_faults_that_the_page_names(case: Case) -> None:
    assert case.tool != case.right
    assert (read(case) == case.right) != bool(case.honest)


@pytest.mark.parametrize("case", CASES.scorings, ids=lambda case: case.thread)
def test_a_case_is_counted_right(case: Case) -> None:
    assert case.tool != case.right == OURS[case.thread]()


@pytest.mark.parametrize("case", CASES.variants, ids=lambda case: case.case[:30])
def test_further_replies_are_read_right_but_for_those_on_the_page(case: Case) -> None:
    known = {reading.case for reading in CASES.readings if reading.honest}
    assert (read(case) == case.right) != (case.case in known)
