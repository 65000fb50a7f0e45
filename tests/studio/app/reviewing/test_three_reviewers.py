"""Three people review at once in Chromium while the server is killed: no decision is lost or stored twice."""

import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Self
from urllib.parse import urlsplit

from eyetest.pages.serving import listen
from eyetest.studio.decisions import standing
from eyetest.studio.project import ReviewProject
from tests.support.browser import Browser, BrowserError, BrowserWindow
from tests.support.command import MAIN
from tests.support.drawn import draw_benchmark

KINDS = ("keep", "drop", "fix", "unsure")
NAMES = ("ann", "bob", "eve")
REASON = "the question is unclear"
ITEMS = 10
_PATIENCE = 20.0
TASK = "document.getElementById('decide')"
HOME = "document.querySelector('.home')"


def intended(name: str, item: str) -> str:
    """A person's opinion of an item: all agree on half of them, on the others one or two differ."""
    number = int(item)
    odd = {"ann": number % 4 == 1, "bob": number % 4 == 3, "eve": number % 8 == 3}[name]
    return KINDS[(number // 4 + odd) % 4]


class Server:
    """The command, in a process of its own that can be killed."""

    def __init__(self, bench: Path, folder: Path) -> None:
        with listen("127.0.0.1", 0)[0] as taken:
            self.port = taken.getsockname()[1]
        self.home = f"http://127.0.0.1:{self.port}/"
        words = ("review", bench, "--to", folder, "--reviewers", "3", "--address", f"127.0.0.1:{self.port}")
        self._command = [*MAIN, *map(str, words)]
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


class Reviewer:
    """A person who works until nothing waits, whatever happens to the server."""

    def __init__(self, name: str, window: BrowserWindow, home: str, back: Event) -> None:
        self.name, self._window, self._home, self._back = name, window, home, back
        self.meant: dict[str, list[str]] = {}  # by item the decisions, in order
        self.edits: dict[str, str] = {}
        self._stumbled = self._changed = False

    def work(self) -> None:
        """Decide about every item; come back while others are not done."""
        while True:
            self._go_home()
            if "Nothing waits" in self._window.text and len(self.meant) == ITEMS:
                return
            if not self._window.evaluate("Boolean(document.getElementById('next'))"):
                time.sleep(0.2)
                continue
            self._leave(lambda: self._window.click("#next"))
            while self._window.evaluate(f"Boolean({TASK})"):
                self._decide()

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
        item = window.evaluate("decide.querySelector('[name=item]').value")
        kind, at, is_new = intended(self.name, item), len(self.meant), item not in self.meant
        self.meant.setdefault(item, [kind])
        self._fill(item, kind)
        if is_new and at == 2:  # a reload in the middle keeps the form
            window.type("#comment", "half a thought")
            with suppress(BrowserError):
                window.reload()
            if window.evaluate(f"Boolean({TASK})"):
                assert window.evaluate("[decide.elements.decision.value, comment.value]") == [kind, "half a thought"]
        if is_new and at == 3:
            send_twice(window)
        self._leave(lambda: window.click("#decide .sending button"))
        if self._back.is_set() and not self._changed:
            self._change_mind(item)

    def _fill(self, item: str, kind: str) -> None:
        window = self._window
        window.click(f".kind.{kind}")
        if kind == "drop":
            window.click(f'label:has([name=reason][value="{REASON}"])')
        elif kind == "fix":
            self.edits[item] = f"Better asked by {self.name}: {item}?"
            window.type('[name="edit_question"]', self.edits[item])

    def _leave(self, act: Callable[[], None]) -> None:
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

    def _change_mind(self, item: str) -> None:
        """Make a decision again, where the server was there to keep it."""
        self._go_home()
        link = f'[href="task?item={item}"]'
        if not self._window.evaluate(f"Boolean(document.querySelector('{link}'))"):
            return
        self._changed = True
        self._leave(lambda: self._window.click(link))
        self._window.wait(TASK)
        kind = intended(self.name, item)
        self.meant[item] += [kind]
        self._fill(item, kind)
        self._leave(lambda: self._window.click("#decide .sending button"))


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


def test_three_review_at_once_and_nothing_is_lost(browser: Browser, tmp_path: Path) -> None:
    """Every decision is stored once and none is lost, also if the server is killed in the middle."""
    draw_benchmark(tmp_path / "bench", items=ITEMS)
    reviewers, back = [], Event()
    with (
        Server(tmp_path / "bench", tmp_path / "review") as server,
        ReviewProject.open(tmp_path / "review") as project,
    ):
        for name in NAMES:
            window = browser.visitor()
            window.goto(project.link(project.people.invite(name)))
            window.press("Enter")
            window.wait(HOME)
            reviewers.append(Reviewer(name, window, server.home, back))
        with ThreadPoolExecutor(len(reviewers)) as pool:
            working = [pool.submit(one.work) for one in reviewers]
            while len(project.decisions()) < 3 * ITEMS // 2 and not any(future.done() for future in working):
                time.sleep(0.3)
            server.kill()
            server.start()
            back.set()  # decisions are made again from now on: what was meant is known only of a running server
            for future in working:
                future.result(600)
        every, progress = project.decisions(), project.progress()
    kept: dict[tuple[str, str], list[str]] = {}
    for one in every:
        kept.setdefault((one.reviewer, one.item), []).append(one.decision)
    meant = {(who.name, item): kinds for who in reviewers for item, kinds in who.meant.items()}
    assert kept == meant
    assert sum(len(kinds) > 1 for kinds in meant.values()) >= 1
    assert Counter(item for _, item in meant) == dict.fromkeys(map(str, range(ITEMS)), len(NAMES))
    last = standing(every)
    for who in reviewers:
        fixed = [one for one in last if (one.reviewer, one.decision) == (who.name, "fix")]
        assert {one.item: one.edits["question"] for one in fixed} == who.edits
    assert {one.reason for one in last if one.decision == "drop"} == {REASON}
    assert "half a thought" in {one.comment for one in last}
    opinions = [Counter(intended(name, str(number)) for name in NAMES) for number in range(ITEMS)]
    chosen = [kinds.most_common(1)[0] for kinds in opinions]  # who fix do so in different words
    assert progress.disputes.open == sum(votes == 1 or kind in ("fix", "unsure") for kind, votes in chosen)
