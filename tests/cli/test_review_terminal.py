"""``review --terminal``: the same decisions as in a browser, typed; nothing raw from items reaches the terminal."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from eyetest.benchmarks import BenchmarkWriter
from eyetest.cli.review_terminal import TerminalReview, join
from eyetest.errors import DiskFull, InputError
from eyetest.jobs.review import OpenReview, ReviewWishes, open_review
from eyetest.records import Choice, Decision, Item, Manifest, Verdict
from eyetest.review.collection import Collection
from eyetest.review.decisions import Decided, with_people
from eyetest.review.project import ReviewPlan, ReviewProject, Round
from eyetest.tabular.record_files import write_records
from tests.cli.test_terminal import BASE
from tests.conftest import png
from tests.runs.conftest import Eyetest
from tests.runs.conftest import eyetest as eyetest
from tests.scoring.test_table import animals, make_bench

HOSTILE = "\x1b[2J\x1b]0;title\x07[bold]A[/bold]\x9b5m\u202e \x00\r\n\x7f"
DANGEROUS = set("\x1b\x9b\x07\u202e\x00\x7f\r")
STOP = KeyboardInterrupt()


def typing(lines: Iterable[str | BaseException]) -> Any:
    """Somebody who types these lines and then hangs up; ``asked`` keeps the prompts and what stood in the line."""
    rest: Iterator[str | BaseException] = iter(lines)
    asked: list[tuple[str, str]] = []

    def read(prompt: str, before: str) -> str:
        asked.append((prompt, before))
        line = next(rest, EOFError())
        if isinstance(line, BaseException):
            raise line
        return line

    read.asked = asked  # type: ignore[attr-defined]
    return read


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    make_bench(tmp_path / "b", [animals(f"q{n}", 1, question=f"Which is {n}?") for n in range(4)])
    return tmp_path / "b"


def begin(place: Path, **wishes: Any) -> OpenReview:
    return open_review([place], ReviewWishes(**wishes))


def work(opened: OpenReview, *lines: str | BaseException, name: str = "ann") -> int:
    return TerminalReview(opened, join(opened, name), typing(lines)).run()


def kept(opened: OpenReview) -> list[Decision]:
    """What was decided, without when and how long it took."""
    bare = {"time": "", "seconds": None}
    return [msgspec.structs.replace(one, **bare) for one in opened.project.decisions()]


def decision(item: str, kind: Any, **more: Any) -> Decision:
    return Decision(item=item, round=1, reviewer="ann", time="", decision=kind, **more)


def test_every_kind_of_decision(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = begin(place)
    order = list(opened.project.outcomes())
    lines = (
        *("keep", "fine"),
        *("d", "2", ""),
        *("f", "question", "Which one?", "b", "an ox", "answer", "C", "tag era", "old", "", "see page 3"),
        *("u", ""),
    )
    assert work(opened, *lines) == 4
    reasons = opened.project.plan.rounds[0].form.reasons
    edits = {"question": "Which one?", "B": "an ox", "answer": "C", "tags": {"era": "old"}}
    assert kept(opened) == [
        decision(order[0], "keep", comment="fine"),
        decision(order[1], "drop", reason=reasons[1]),
        decision(order[2], "fix", edits=edits, comment="see page 3"),
        decision(order[3], "unsure"),
    ]
    assert all(one.seconds is not None and one.seconds >= 0 for one in opened.project.decisions())
    told = capsys.readouterr().out
    assert "Nothing waits for you." in told
    assert max(map(len, (line for line in told.splitlines() if line.startswith(("│", "╭", "╰"))))) == 80


def test_a_form_by_numbers_and_by_words(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = begin(place, form="mmstar")
    lines = ("k", "9", "perhaps", "", "yes", "math", "16", "1", "")
    assert work(opened, *lines) == 1
    (said,) = kept(opened)
    assert said.labels == {"picture": "yes", "core": "math", "axis": "geometry", "level": "easy"}
    err = capsys.readouterr().err
    assert 'picture: no value "9"' in err
    assert 'picture: no value "perhaps"' in err
    assert "picture: this has to be answered" in err


def test_several_values_and_words_of_ones_own(place: Path) -> None:
    opened = begin(place, form="mmmu-pro-errors")
    assert work(opened, "k", "1", "2, 1", "the left axis", "", "") == 1
    (said,) = kept(opened)
    assert said.labels == {"error": "perception", "seen-wrong": ["text", "numbers"], "where": "the left axis"}


def test_the_old_text_stands_in_the_line_that_changes_it(place: Path) -> None:
    opened = begin(place)
    read = typing(["f", "question", "Which?", "question", "Which one?", "B", "ox", "", ""])
    TerminalReview(opened, join(opened, "ann"), read).run()
    item = opened.collection.record(kept(opened)[0].item)
    assert item is not None
    stood = [before for prompt, before in read.asked if prompt == "New > "]
    assert stood == [item.question, "Which?", item.choices[1].text]


def test_what_makes_no_sense_is_asked_again(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = begin(place)
    lines = ("what", "f", "", "Z", "answer", "X", "", "", "f", "<", "d", "my own reason", "")
    assert work(opened, *lines) == 1
    (said,) = kept(opened)
    assert (said.decision, said.reason, said.edits) == ("drop", "my own reason", {})
    told = capsys.readouterr()
    assert "k keep, d drop, f fix, u unsure" in told.out
    assert "a fix changes something" in told.err
    assert "no Z here; known: A, B, C, D, answer, question, tag NAME" in told.err
    assert "an answer is one of A, B, C, D, not 'X'" in told.err


def test_a_drop_says_why_as_in_a_browser(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = begin(place, items="1")
    work(opened, "d", "", "d", "blurred", "")
    assert "say why it is to be dropped" in capsys.readouterr().err
    assert [(one.decision, one.reason) for one in kept(opened)] == [("drop", "blurred")]


def test_only_what_the_form_lets_change(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("f.yaml").write_text("edits: [answer]")
    opened = begin(place, form="f.yaml")
    assert work(opened, "f", "question", "A", "tag x", "answer", "C", "", "") == 1
    assert kept(opened)[0].edits == {"answer": "C"}
    assert capsys.readouterr().err.count("known: answer") == 3


def test_the_gold_is_hidden_until_somebody_has_answered(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = begin(place, solve=True)
    work(opened)
    before = capsys.readouterr().out
    assert "Which is" in before
    assert "✔" not in before
    assert work(opened, "<", "C", "k", "") == 1
    after = capsys.readouterr().out
    assert after.count("✔") == 1, "of the first item; the second waits for an answer"
    assert "You answered: C" in after
    assert kept(opened)[0].solved == "C"


def test_taking_back_and_going_on_later(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = begin(place)
    assert work(opened, "z", "k", "", "z", "d", "1", "", "q") == 2
    assert "There is nothing of yours to take back." in capsys.readouterr().out
    first, taken, again = kept(opened)
    assert [one.decision for one in (first, taken, again)] == ["keep", "undo", "drop"]
    assert first.item == taken.item == again.item
    assert work(begin(place), "k", "") == 1, "with the same command, another item"
    assert kept(opened)[-1].item != first.item


def test_ctrl_c_loses_nothing(place: Path) -> None:
    opened = begin(place)
    with pytest.raises(KeyboardInterrupt):
        work(opened, "k", "", "d", "2", STOP)
    (said,) = kept(opened)
    assert work(begin(place), "d", "1", "") == 1
    assert [one.decision for one in kept(opened)] == ["keep", "drop"]
    assert kept(opened)[1].item != said.item


def test_a_full_disk_is_told_and_tried_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = begin(place)
    decide, full = opened.project.decide, [True]

    def once_full(*words: Any, **more: Any) -> Decision:
        if full.pop() if full else False:
            raise DiskFull("no room")
        return decide(*words, **more)

    monkeypatch.setattr(opened.project, "decide", once_full)
    assert work(opened, "k", "", "") == 1
    assert [one.decision for one in kept(opened)] == ["keep"]


def test_whoever_settles_sees_what_others_said(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened = begin(place, rounds="2", items="1")
    opened.project.invite("eve", "adjudicator")
    work(opened, "d", "too dark", "")
    work(opened, "k", "seems fine", name="bob")
    capsys.readouterr()
    assert work(opened, "k", "", name="eve") == 1
    told = capsys.readouterr().out
    assert "round 1, to be settled" in told
    assert "ann: drop  too dark" in told
    assert "bob: keep  seems fine" in told
    assert opened.project.outcome(kept(opened)[0].item).verdict == "keep"


def test_only_whoever_settles_knows_what_people_said_in_earlier_stages(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = Decided("drop", "the gold is B", 1, 1)
    verdicts = [
        Verdict(item="q0", stage="first", verdict="fix", reason="the gold is B"),
        Verdict(item="q0", stage="screen", verdict="drop", reason=with_people("3 hits", said)),
    ]
    write_records(verdicts, Verdict, tmp_path / "verdicts.parquet", overwrite=False)
    plan = ReviewPlan(name="b", rounds=(Round(number=1, reviewers=2, stage="first"),), together=False)
    project = ReviewProject.create(tmp_path / "r", plan, ["q0"])
    opened = OpenReview(project, Collection.open([place, tmp_path / "verdicts.parquet"]))
    for name, kind in (("ann", "keep"), ("bob", "unsure")):
        project.invite(name, "reviewer")
        work(opened, kind, "", name=name)
        shown = capsys.readouterr().out
        assert "screen: drop, 3 hits" in shown
        assert "the gold is B" not in shown
    project.invite("cleo", "adjudicator")
    work(opened, "q", name="cleo")
    assert capsys.readouterr().out.count("the gold is B") == 2
    project.close()


def test_nothing_raw_reaches_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    choices = (Choice(HOSTILE, True), Choice("b" + HOSTILE))
    with BenchmarkWriter(tmp_path / "h", Manifest(name=f"h{HOSTILE}")) as writer:
        image = writer.images.put(png())
        item = Item(id="q", question=HOSTILE, hint=HOSTILE, choices=choices, images=(image,), tags={"x": HOSTILE})
        writer.add(item)
    Path(tmp_path / "f.yaml").write_text(
        r'about: "\e[2J"' + "\n" + r'fields: [{name: a, ask: "\e[31m", values: ["\e[1m", "\e[2m"]}]', "utf-8"
    )
    opened = open_review([tmp_path / "h"], ReviewWishes(form=str(tmp_path / "f.yaml"), rounds="2"))
    opened.project.invite("eve", "adjudicator")
    assert work(opened, "f", "A", f"a\x1b[2J{HOSTILE}", "tag \x1b", "", "", "1", "\x1b[31m", "k", "1", "") == 1
    work(opened, "d", HOSTILE, "2", "", name="bob")
    work(opened, name="eve")
    told = capsys.readouterr()
    assert not DANGEROUS & set(told.out + told.err)
    assert image.sha256 in told.out, "where the picture lies"
    assert not DANGEROUS & set("".join(str(one.edits) + one.comment for one in kept(opened)))


def test_names(place: Path) -> None:
    opened = begin(place)
    assert join(opened, "annabel").role == "admin"
    assert join(opened, "bob").role == "reviewer"
    assert join(opened, "annabel").role == "admin"
    with pytest.raises(InputError, match=r"nobody here is called 'anabel'; did you mean \"annabel\"\?"):
        join(opened, "anabel")


def test_in_a_real_terminal(tmp_path: Path) -> None:
    """80 columns, true colours: a picture in half blocks, a decision, Ctrl-C; and the decision is there."""
    with BenchmarkWriter(tmp_path / "b", Manifest(name="b")) as writer:
        image = writer.images.put(png("red", (8, 8)))
        for number in range(2):
            options = (Choice("red", True), Choice("a long word " * 20))
            writer.add(Item(id=f"q{number}", question="What \x1b[2Jcolour?", images=(image,), choices=options))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    surroundings = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    surroundings.pop("COLUMNS", None)
    words = [*BASE, "review", "b", "--terminal", "--as", "ann"]
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, cwd=tmp_path, env=surroundings)
    os.close(theirs)
    told = seen(ours, "unsure > ")
    os.write(ours, b"k\n")
    told += seen(ours, "none) > ")
    os.write(ours, b"fine\n")
    told += seen(ours, "unsure > ")
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    os.close(ours)
    assert "▀" in told
    assert "\x1b[38;2;25" in told, "red as it is, not as one of sixteen colours"
    assert "\x1b[2Jcolour" not in told
    assert "␛[2Jcolour" in told
    opened = open_review([tmp_path / "b"], ReviewWishes())
    assert [(one.reviewer, one.decision, one.comment) for one in kept(opened)] == [("ann", "keep", "fine")]


def seen(terminal: int, end: str) -> str:
    """What a terminal shows until it asks."""
    told = b""
    while end.encode() not in told:
        more = os.read(terminal, 65_536)
        assert more, told
        told += more
    return told.decode("utf-8", "replace")


def test_nobody_who_types(place: Path, eyetest: Eyetest) -> None:
    assert "nobody types here" in eyetest("review", "b", "--terminal").refused()
    assert "serves nothing" in eyetest("review", "b", "--terminal", "--browser").refused()
    assert not Path("b-review").exists()
