"""A review without a browser: one item after the other, asked in plain lines, for people on a server.

Every decision is kept the moment it is made, in the same file that browsers write to. Whoever leaves, by whatever
key, goes on later where they were.
"""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from rich.text import Text

from eyetest.cli.show import item_panel
from eyetest.cli.terminal import fail, note, out, safe
from eyetest.errors import DiskFull, Forbidden, InputError, nearest, param, short
from eyetest.jobs.review import OpenReview
from eyetest.records import Decision, Item, letter
from eyetest.results.cases import ItemCase
from eyetest.review import standing
from eyetest.review.checks import check_grounds
from eyetest.review.collection import ItemStory
from eyetest.review.forms import KINDS, Answerable, FormField
from eyetest.review.project import DecisionDetails, Person, Task
from eyetest.wording import counted, listed

Reader = Callable[[str, str], str]
"""Asks for a line; what stands there already, to be changed, is the second word. Ends with EOFError."""
BACK = "<"
_WORDS: dict[str, Answerable] = {word[0]: word for word in KINDS}
_HELP = "k keep, d drop, f fix, u unsure; z takes your last decision back; q leaves"
_REPLIES = 12
_LONGEST_REPLY = 200


class _Back(Exception):  # noqa: N818 (nothing went wrong)
    """The reviewer wants to decide otherwise; nothing of what was answered so far is kept."""


def read_line(prompt: str, before: str = "") -> str:
    """A line of the terminal. Where the line can be edited, what it said before stands in it."""
    try:
        import readline  # noqa: PLC0415 (not every system has it)
    except ImportError:
        return input(prompt)
    readline.set_startup_hook(lambda: readline.insert_text(before) if before.isprintable() else None)
    try:
        return input(prompt)
    finally:
        readline.set_startup_hook(None)


def refuse_pipe() -> None:
    """Stop before anything is begun where nobody types."""
    if not sys.stdin.isatty():
        raise InputError(f"{param('terminal', True)}: nobody types here; the input is a file or a pipe")


def review_in_terminal(opened: OpenReview, name: str) -> None:
    """Ask somebody about one item after the other, until nothing waits for them or they leave."""
    decided = TerminalReview(opened, join(opened, name)).run()
    note(f"{counted(decided, 'decision')} kept; the same command goes on")


def join(opened: OpenReview, name: str) -> Person:
    """Somebody by their name; who is new becomes a reviewer, or the admin where nobody was invited yet."""
    project = opened.project
    names = [row.name for row in project.people()]
    if name not in names:
        if (told := nearest(name, names)).startswith("did you mean"):
            raise InputError(f"nobody here is called {short(name)}; {told}")
        project.invite(name, "reviewer" if names else "admin")
    return project.person(name)


@dataclass
class TerminalReview:
    """Somebody who reviews in a terminal."""

    opened: OpenReview
    person: Person
    read: Reader = read_line
    _again: Task | None = field(default=None, init=False)
    """What was taken back, and is asked again at once."""

    def run(self) -> int:
        """Ask until nothing waits or the reviewer leaves; gives how many decisions were made."""
        decided = 0
        out.print(Text(_HELP + f"; {BACK} steps back", "dim"), soft_wrap=True)
        with suppress(EOFError):
            while (task := self._again or self.opened.project.next_task(self.person)) is not None:
                self._again = None
                try:
                    decided += self._about(task)
                except Forbidden as error:
                    fail(str(error))
            out.print("Nothing waits for you.")
        return decided

    def _about(self, task: Task) -> int:
        """Show an item and ask until it is decided; 0 where another is to be asked instead."""
        began = time.monotonic()
        story = self.opened.collection.item(task.item)
        if task.unsolved:
            self._show(task, story, golds=False)
            task = self.opened.project.solve(self.person, task, self._solution())
        self._show(task, story, golds=True)
        nonce = token_hex(16)
        while True:
            try:
                kind = self._decision()
                if kind is None:
                    return 0
                said = self._said(task, kind, story.item)
                said["seconds"] = time.monotonic() - began
                self._keep(task, kind, nonce, said)
            except _Back:
                continue
            except InputError as error:
                fail(str(error))
                continue
            return 1

    def _solution(self) -> str:
        while True:
            with suppress(_Back):
                return self._line("Your answer (empty: I cannot tell)")

    def _keep(self, task: Task, kind: Answerable, nonce: str, said: DecisionDetails) -> None:
        while True:
            try:
                self.opened.project.decide(self.person, task, kind, nonce=nonce, **said)
            except DiskFull as error:
                fail(str(error))
                self._line("Enter tries again")
            else:
                return

    def _line(self, prompt: str, before: str = "") -> str:
        """What somebody types, without signs that are none; q alone is an answer like any other here."""
        text = self.read(f"{prompt} > ", before)
        printable = "".join(sign for sign in text if sign.isprintable())
        if printable.strip() == BACK:
            raise _Back
        return printable.encode("utf-8", "replace").decode().strip()

    def _decision(self) -> Answerable | None:
        """What becomes of the item; None where the last decision was taken back."""
        while True:
            word = self._line("keep, drop, fix, unsure").lower()
            if word in ("q", "quit"):
                raise EOFError
            if word in ("z", "undo"):
                if self._take_back():
                    return None
            elif (kind := _WORDS.get(word[:1])) is not None and kind.startswith(word):
                return kind
            else:
                out.print(Text(_HELP, "dim"), soft_wrap=True)

    def _take_back(self) -> bool:
        project = self.opened.project
        said = project.decisions(self.person)
        kept = {id(one) for one in standing(said)}
        last = next((one for one in reversed(said) if id(one) in kept), None)
        if last is None:
            out.print("There is nothing of yours to take back.")
            return False
        project.undo(self.person, last.item, last.round, token_hex(16))
        note(f"taken back: {last.decision} of {safe(last.item)}")
        self._again = project.task(self.person, last.item, last.round)
        return True

    # What is asked beside the decision.

    def _said(self, task: Task, kind: Answerable, item: Item | None) -> DecisionDetails:
        said: DecisionDetails = {}
        if kind == "drop":
            said["reason"] = self._reason(task.form.reasons)
            check_grounds(kind, reason=said["reason"], changes=False)
        if kind == "fix" and item is not None:
            said["edits"] = self._edits(task, item)
        labels = {one.name: answer for one in task.form.asked(kind) if (answer := self._answer(one)) is not None}
        said["labels"] = labels
        said["comment"] = self._line("Comment (empty: none)")
        return said

    def _reason(self, reasons: Sequence[str]) -> str:
        _list_values(reasons)
        word = self._line("Why? A number, or your own words")
        return reasons[int(word) - 1] if word.isdecimal() and 1 <= int(word) <= len(reasons) else word

    def _answer(self, one: FormField) -> Any:
        out.print(Text(safe(one.ask), "bold"), soft_wrap=True)
        if one.kind != "text":
            _list_values(one.values)
        wanted = {"choice": "A number", "several": "Numbers, with commas between", "text": "Your words"}[one.kind]
        while True:
            typed = self._line(wanted if one.required else f"{wanted} (empty: none)")
            try:
                answer = one.check(_values(one, typed))
            except InputError as error:
                fail(str(error))
                continue
            if answer is not None or not one.required:
                return answer
            fail(f"{one.name}: this has to be answered")

    def _edits(self, task: Task, item: Item) -> dict[str, Any]:
        """What is to be changed, one thing after the other, until an empty line."""
        edits: dict[str, Any] = {}
        letters = [letter(index) for index in range(len(item.choices))]
        parts = {"question": ["question"], "options": letters, "answer": ["answer"], "tags": ["tag NAME"]}
        known = [word for part in task.form.edits for word in parts[part]]
        while True:
            what = self._line(f"Change what? {listed(known, 30)} (empty: done)")
            if not what:
                if edits:
                    return edits
                fail("a fix changes something")
            elif what.upper() in letters and "options" in task.form.edits:
                was = item.choices[letters.index(what.upper())].text
                edits[what.upper()] = self._changed(what.upper(), str(edits.get(what.upper(), was)))
            elif what in known:
                was = item.question if what == "question" else _gold(item)
                edits[what] = self._changed(what, str(edits.get(what, was)))
            elif what.startswith("tag ") and "tags" in task.form.edits:
                name = what.removeprefix("tag ").strip()
                tags = edits.setdefault("tags", {})
                tags[name] = self._changed(name, str(tags.get(name, item.tags.get(name, ""))))
            else:
                fail(f"no {what} here; {nearest(what, known)}")

    def _changed(self, what: str, before: str) -> str:
        out.print(Text.assemble((f"{safe(what)} now: ", "dim"), safe(before)), soft_wrap=True)
        return self._line("New", before)

    # What is shown.

    def _show(self, task: Task, story: ItemStory, *, golds: bool) -> None:
        about = f"round {task.round}" + (", to be settled" if task.adjudicates else "")
        out.print(Text(f"\n{about}. {safe(task.form.about.strip())}", "dim"))
        if story.item is None:
            out.print(Text(f"{safe(task.item)}: no benchmark here has this item any more.", "yellow"))
            return
        home = self.opened.collection.home(story.row)
        out.print(item_panel(home, story.item, golds=golds))
        for image in story.item.images:
            out.print(Text(str(home.images.bring(image).resolve()), "dim"), soft_wrap=True)
        if not golds:
            return
        if task.solved is not None:
            out.print(Text.assemble("You answered: ", (safe(task.solved) or "I cannot tell", "bold")))
        for line in (*self._known(task, story), *map(_earlier, task.earlier)):
            out.print(line, soft_wrap=True)
        if task.mine is not None:
            out.print(Text.assemble("You said before: ", _earlier(task.mine)), soft_wrap=True)

    def _known(self, task: Task, story: ItemStory) -> list[Text]:
        """What is known of an item, as far as its form shows it."""
        lines: list[Text] = []
        if "verdicts" in task.form.shows:
            said = self.opened.project.plan.blinded(story.verdicts, adjudicates=task.adjudicates)
            lines += [Text(safe(f"{one.stage}: {one.verdict}, {one.reason}")) for one in said]
        if "findings" in task.form.shows:
            lines += [Text(safe(f"{one.kind}: {one.evidence or one.title}")) for one in story.findings]
        if "replies" in task.form.shows:
            lines += [_reply(one) for one in story.cases[:_REPLIES]]
            if len(story.cases) > _REPLIES:
                lines.append(Text(f"and {len(story.cases) - _REPLIES:,} more replies", "dim"))
        return lines


def _list_values(values: Sequence[str]) -> None:
    for number, value in enumerate(values, 1):
        out.print(Text.assemble((f"{number:>3}  ", "dim"), safe(value)), soft_wrap=True)


def _values(one: FormField, typed: str) -> Any:
    """What was typed, with the values that its numbers stand for."""
    if one.kind == "text":
        return typed
    words = [word.strip() for word in typed.split(",")] if one.kind == "several" else [typed]
    known = {str(number): value for number, value in enumerate(one.values, 1)}
    meant = [known.get(word, word) for word in words if word]
    return meant if one.kind == "several" else "".join(meant)


def _gold(item: Item) -> str:
    return ", ".join(map(letter, item.gold)) or (item.references[0] if item.references else "")


def _earlier(one: Decision) -> Text:
    """What somebody decided, in a line."""
    told = [f"{name} {value}" for name, value in (("edits", one.edits), ("labels", one.labels)) if value]
    words = "; ".join(filter(None, (one.reason, one.comment, *told)))
    return Text.assemble((f"{safe(one.reviewer)}: {one.decision}", "bold"), f"  {safe(words)}")


def _reply(case: ItemCase) -> Text:
    """Who said what, and what it was worth."""
    scored = case.scored
    worth = "" if scored.score is None else f" {scored.score:g}"
    said = " ".join(safe(case.response.text or case.response.outcome).split())
    shown = said if len(said) <= _LONGEST_REPLY else f"{said[:_LONGEST_REPLY]}…"
    head = f"{safe(case.asked.model)} ({case.asked.sight}): {scored.choice or scored.reading or ''}{worth}"
    return Text.assemble((head, "bold"), f"  {shown}")
