"""docs/museum.md, from ``cases.yaml``: ``python -m tests.museum.page`` writes it anew."""

import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import msgspec

from eyetest.benchmarks import import_benchmark
from eyetest.errors import InputError
from eyetest.records import Choice, Condition, Item, Response
from eyetest.records.item import Message, Prompt, Request, Words
from eyetest.results.reconcile import Account, Credit, reconciled
from eyetest.scoring import Scorer, read_choice
from eyetest.scoring.rules import RULE_SETS, Reply
from tests.conftest import ROOT

PAGE = ROOT / "docs/museum.md"
ANIMALS = ("cat", "dog", "bird", "fish")
RULES_OF = {
    "open-compass/VLMEvalKit": "vlmevalkit",
    "EvolvingLMMs-Lab/lmms-eval": "lmms-eval",
    "MMMU-Benchmark/MMMU": "mmmu",
}
"""Tools whose rules eyetest has, by repository."""
HEAD = """# A museum of scoring bugs

Public threads about answers that evaluation tools read or counted wrongly. Our tests replay each with a small case of
our own that shows the same mechanism: what the tool made of it before the fix (many are fixed, thanks to those who
reported them), and what eyetest does. The page is made from the cases (`python -m tests.museum.page`), and a test
compares the two.

A number is an issue or pull request of the repository. *Its rules here* is what eyetest's [rule set](scoring.md) of
that tool makes of the same reply; often this is not the function with the bug.
"""
TAIL = """
## Where eyetest is wrong

{wrong}

Besides the exhibits, {number} further replies like those of the threads (`tests/museum/cases.yaml`) were written
with their answers before any was read: {good} are read right, the rest are listed above. Accuracy on real replies is
in [scoring.md](scoring.md).
"""


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


def read(case: Case, rules: str = "eyetest") -> str:
    """What a rule set of ours reads: a letter, a guess, or nothing."""
    reply, options = case.case, case.options
    found = RULE_SETS[rules].read(Reply(reply, options)) if rules != "eyetest" else read_choice(reply, options)
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
    (cause,) = reconciled(ours, counted).causes
    return f"{float(ours.score):.1%}, 10 failed; counted as wrong {float(100 * cause.points):+.1f} points"


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


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """A reply as it is, on one line; one with a backtick in it stands between two."""
    line = cell(text.replace("\n", " ⏎ "))
    return f"`` {line} ``" if "`" in line else f"`{line}`"


def reading_row(case: Case) -> str:
    rules = RULES_OF.get(case.thread.partition("#")[0], "")
    theirs = read(case, rules) if rules else ""
    cells = (cell(case.thread), cell(case.mechanism), code(case.case), case.tool, theirs, f"**{read(case)}**")
    return f"| {' | '.join(cells)} |"


def scoring_row(case: Case) -> str:
    ours = f"**{OURS[case.thread]()}**" + (f" ({case.honest})" if case.honest else "")
    return f"| {' | '.join((cell(case.thread), cell(case.mechanism), cell(case.case), case.tool, ours))} |"


def page() -> str:
    lines = [
        HEAD,
        "## Read wrongly\n",
        "| thread | mechanism | reply | the tool read | its rules here | eyetest reads |",
        "|---|---|---|---|---|---|",
        *(reading_row(case) for case in CASES.readings if read(case) == case.right),
        "\n## Counted wrongly\n",
        "| thread | mechanism | case | the tool | eyetest |",
        "|---|---|---|---|---|",
        *map(scoring_row, CASES.scorings),
    ]
    faults = [
        f"- {cell(case.thread)}: {code(case.case)} says {case.right}; eyetest reads {read(case)}. {case.honest}"
        for case in CASES.readings
        if read(case) != case.right
    ]
    good = sum(read(case) == case.right for case in CASES.variants)
    tail = TAIL.format(wrong="\n".join(faults), number=len(CASES.variants), good=good)
    return "\n".join(lines) + "\n" + tail


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
