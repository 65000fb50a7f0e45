"""Three people review at once in Chromium, and much goes wrong on the way: nothing is lost, or there twice."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import pytest

from eyetest.studio.app.server import listen
from eyetest.studio.decisions import standing
from eyetest.studio.project import ReviewProject
from tests.support.browser import Browser, BrowserError, BrowserWindow
from tests.support.drawn import draw_benchmark

KINDS = ("keep", "drop", "fix", "unsure")
NAMES = ("ann", "bob", "eve")
REASON = "the question is unclear"
_PATIENCE = 20.0
GONE = "location.href.startsWith('chrome-error')"
TASK = "document.getElementById('decide')"
HOME = "document.querySelector('.home')"


def intended(name: str, item: str) -> str:
    """What somebody thinks of an item: all agree on half of them, on the others one or two see it differently."""
    number = int(item)
    odd = {"ann": number % 4 == 1, "bob": number % 4 == 3, "eve": number % 8 == 3}[name]
    return KINDS[(number // 4 + odd) % 4]


class Server:
    """The command, in a process of its own that can be killed."""

    def __init__(self, bench: Path, folder: Path) -> None:
        with listen("127.0.0.1", 0) as taken:
            self.port = taken.getsockname()[1]
        self.home = f"http://127.0.0.1:{self.port}/"
        words = ("review", bench, "--to", folder, "--rounds", "1,2", "--address", f":{self.port}", "--as", "boss")
        self._command = [sys.executable, "-c", "from eyetest.cli import main; main()", *map(str, words)]
        self.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr
        assert self.home in self._process.stderr.readline()

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


class Said(NamedTuple):
    """What a reviewer meant to say about an item in a round, in the order in which it was said."""

    item: str
    round: int
    kinds: tuple[str, ...]


class Reviewer:
    """Somebody who works until nothing waits, whatever happens to the server."""

    def __init__(self, name: str, window: BrowserWindow, home: str, back: Event) -> None:
        self.name, self._window, self._home, self._back = name, window, home, back
        self.said: dict[tuple[str, int], Said] = {}
        self.edits: dict[str, str] = {}
        self._stumbled = self._changed = False

    def work(self) -> None:
        """Decide about whatever comes; come back while others are not done."""
        while True:
            self._go_home()
            if "Nothing waits" in self._window.text and len(self.said) == self.items:
                return
            if not self._window.evaluate("Boolean(document.getElementById('next'))"):
                time.sleep(0.2)
                continue
            self.press_next()
            while self._window.evaluate(f"Boolean({TASK})"):
                self._decide()

    items = 0

    def _go_home(self) -> None:
        """Open the first page, as soon as there is a server: a browser that asks again and again slows its start."""
        address = urlsplit(self._home)
        while True:
            with suppress(OSError, BrowserError):
                socket.create_connection((address.hostname, address.port), _PATIENCE).close()
                self._window.goto(self._home)
                if self._window.evaluate(f"Boolean({HOME})"):
                    return
            time.sleep(0.2)

    def _decide(self) -> None:
        window = self._window
        item, number = window.evaluate(
            "[decide.querySelector('[name=item]').value, Number(decide.elements.round.value)]"
        )
        kind = intended(self.name, item)
        at = len(self.said)
        before = self.said.get((item, number))
        self.said[item, number] = before or Said(item, number, (kind,))
        self.fill(item, kind)
        if before is None and at == 2:
            self._reload_in_the_middle(kind)
        if before is None and at == 3:
            send_twice(window)
        self.send()
        if self._back.is_set() and not self._changed:
            self._change_mind(item, number)

    def fill(self, item: str, kind: str) -> None:
        """Fill the form with the mouse; words are typed."""
        window = self._window
        window.click(f".kind.{kind}")
        if kind == "drop":
            window.click(f'label:has([name=offered][value="{REASON}"])')
        elif kind == "fix":
            self.edits[item] = f"Better asked by {self.name}: {item}?"
            window.type('[name="edit.question"]', self.edits[item])

    def press_next(self) -> None:
        self._leave(lambda: self._window.click("#next"))

    def send(self) -> None:
        self._leave(lambda: self._window.click("#decide .sending button"))

    def _leave(self, act: Any) -> None:
        """Do what leads to another page, be it that of a server that is gone."""
        self._window.evaluate("window.here = true")
        act()
        try:
            self._window.wait("window.here === undefined", _PATIENCE)
        except BrowserError:
            if self._stumbled:
                raise
            self._stumbled = True  # the server was killed before it had sent the page's script
            self._go_home()

    def _reload_in_the_middle(self, kind: str) -> None:
        """What was filled in is still there after a reload."""
        window = self._window
        window.type("#comment", "half a thought")
        with suppress(BrowserError):
            window.reload()
        if window.evaluate(f"Boolean({TASK})"):
            assert window.evaluate("[decide.elements.decision.value, comment.value]") == [kind, "half a thought"]

    def _change_mind(self, item: str, number: int) -> None:
        """Withdraw a decision and make it again, where the server was there to keep it."""
        self._go_home()
        if not self._window.evaluate(f"Boolean(document.querySelector('[aria-label=\"Undo {item}\"]'))"):
            return
        self._changed = True
        self.undo(item)
        self._window.wait(TASK)
        kind = intended(self.name, item)
        self.said[item, number] = Said(item, number, (kind, "undo", kind))
        self.fill(item, kind)
        self.send()

    def undo(self, item: str) -> None:
        """Press the button beside a decision."""
        self._leave(lambda: self._window.click(f'[aria-label="Undo {item}"]'))


class Typist(Reviewer):
    """The same with the keyboard alone."""

    def fill(self, item: str, kind: str) -> None:
        window = self._window
        window.press(kind[0])
        if kind == "drop":
            window.press("4")
        elif kind == "fix":
            self.edits[item] = f"Better asked by {self.name}: {item}?"
            self._tab_to('[name="edit.question"]')
            window.press("Control+a")
            window.send("Input.insertText", text=self.edits[item])

    def press_next(self) -> None:
        self._leave(lambda: self._window.press("n"))

    def send(self) -> None:
        self._leave(lambda: self._window.press("Control+Enter"))

    def undo(self, item: str) -> None:
        self._tab_to(f'[aria-label="Undo {item}"]')
        self._leave(lambda: self._window.press("Enter"))

    def _tab_to(self, selector: str) -> None:
        for _ in range(200):
            if self._window.evaluate(f"document.activeElement.matches('{selector}')"):
                return
            self._window.press("Tab")
        raise AssertionError(f"no way to {selector} with Tab")


def send_twice(window: BrowserWindow) -> None:
    """Send the form that is open twice at once, as an impatient network does; the browser sends it a third time."""
    body = window.evaluate("new URLSearchParams(new FormData(decide)).toString()")
    home, cookies = window.evaluate("location.origin"), window.cookies()

    def post(_: int) -> None:
        request = urllib.request.Request(f"{home}/decide", body.encode(), {"Cookie": cookies, "Origin": home})
        with suppress(urllib.error.URLError, ConnectionError), urllib.request.urlopen(request, timeout=30) as answer:
            answer.read()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(post, range(2)))


def cohen(one: Mapping[str, str], other: Mapping[str, str]) -> float:
    """Cohen's κ of two raters, as its paper has it."""
    both = sorted(one.keys() & other.keys())
    same = sum(one[item] == other[item] for item in both) / len(both)
    shares = [Counter(rater[item] for item in both) for rater in (one, other)]
    chance = sum(shares[0][kind] * shares[1][kind] for kind in KINDS) / len(both) ** 2
    return (same - chance) / (1 - chance)


def fleiss(votes: Mapping[str, Counter[str]]) -> float:
    """Fleiss' κ of items that three people rated each."""
    items = len(votes)
    alike = sum((sum(n * n for n in kinds.values()) - 3) / 6 for kinds in votes.values()) / items
    shares = [sum(kinds[kind] for kinds in votes.values()) / (3 * items) for kind in KINDS]
    chance = sum(share**2 for share in shares)
    return (alike - chance) / (1 - chance)


def krippendorff(votes: Mapping[str, Counter[str]]) -> float:
    """Krippendorff's α for names, from the pairs that can be made within items."""
    pairs: defaultdict[tuple[str, str], float] = defaultdict(float)
    for kinds in votes.values():
        raters = sum(kinds.values())
        for a in kinds:
            for b in kinds:
                pairs[a, b] += kinds[a] * (kinds[b] - (a == b)) / (raters - 1)
    total = sum(pairs.values())
    of_kind = {kind: sum(pairs[kind, other] for other in KINDS) for kind in KINDS}
    observed = sum(count for (a, b), count in pairs.items() if a != b) / total
    expected = sum(of_kind[a] * of_kind[b] for a in KINDS for b in KINDS if a != b) / (total * (total - 1))
    return 1 - observed / expected


class Ended(NamedTuple):
    """A review that three people have worked through, and what they meant to say."""

    folder: Path
    reviewers: list[Reviewer]
    items: int


def work_through(browser: Browser, place: Path, items: int) -> Ended:
    """Invite three people, let them work at once, and kill the server in the middle."""
    draw_benchmark(place / "bench", items=items)
    reviewers, back = [], Event()
    with Server(place / "bench", place / "review") as server, ReviewProject.open(place / "review") as project:
        for name, kind in zip(NAMES, (Reviewer, Reviewer, Typist), strict=True):
            window = browser.visitor()
            window.goto(project.link(project.invite(name)))
            window.press("Enter")
            window.wait(HOME)
            reviewers.append(kind(name, window, server.home, back))
            reviewers[-1].items = items
        with ThreadPoolExecutor(len(reviewers)) as pool:
            working = [pool.submit(one.work) for one in reviewers]
            while len(project.decisions()) < 3 * items // 2 and not any(one.done() for one in working):
                time.sleep(0.3)
            server.kill()
            server.start()
            back.set()  # minds are changed from now on: what was meant is known only of a server that is there
            for one in working:
                one.result(600)
    return Ended(place / "review", reviewers, items)


def check(ended: Ended) -> None:
    """Every decision is there once, none was lost, and agreement is what it comes to by hand."""
    with ReviewProject.open(ended.folder) as project:
        every, overview = project.decisions(), project.overview()
    kept: dict[tuple[str, str, int], list[str]] = {}
    for one in every:
        kept.setdefault((one.reviewer, one.item, one.round), []).append(one.decision)
    meant = {(who.name, one.item, one.round): list(one.kinds) for who in ended.reviewers for one in who.said.values()}
    assert kept == meant
    assert len(meant) == 3 * ended.items
    assert sum("undo" in kinds for kinds in meant.values()) >= 1
    assert Counter(number for _, _, number in meant) == {1: ended.items, 2: 2 * ended.items}
    said = standing(every)
    for who in ended.reviewers:
        edits = {
            one.item: one.edits["question"] for one in said if one.reviewer == who.name and one.decision == "fix"
        }
        assert edits == who.edits
    assert {one.reason for one in said if one.decision == "drop"} == {REASON}
    assert "half a thought" in {one.comment for one in said}

    of = {
        who.name: {item: kinds[-1] for (name, item, _), kinds in meant.items() if name == who.name}
        for who in ended.reviewers
    }
    votes = {item: Counter(of[name][item] for name in NAMES) for item in of["ann"]}
    told = {
        (row.coefficient, row.a, row.b): row.agreement
        for row in overview.agreement
        if row.round == 0 and row.about == "decision"
    }
    assert told["fleiss", None, None] == pytest.approx(fleiss(votes))
    assert told["krippendorff", None, None] == pytest.approx(krippendorff(votes))
    for a, b in combinations(NAMES, 2):
        pair = next(value for key, value in told.items() if key[0] == "cohen" and {key[1], key[2]} == {a, b})
        assert pair == pytest.approx(cohen(of[a], of[b]))
    disputed = sum(len(kinds) > 1 or bool(kinds & Counter(("fix", "unsure"))) for kinds in votes.values())
    assert overview.progress.disputed == disputed
    typist = ended.reviewers[2]
    assert typist._window.clicks == 0


def test_three_review_at_once_and_nothing_is_lost(browser: Browser, tmp_path: Path) -> None:
    check(work_through(browser, tmp_path, 10))


@pytest.mark.slow
def test_three_review_sixty_items_at_once(browser: Browser, tmp_path: Path) -> None:
    check(work_through(browser, tmp_path, 60))
