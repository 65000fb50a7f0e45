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
from typing import Self
from urllib.parse import urlsplit

from eyetest.pages.serving import listen
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

    def __init__(self, bench: Path, folder: Path, reviewers: int = 3) -> None:
        with listen("127.0.0.1", 0)[0] as taken:
            self.port = taken.getsockname()[1]
        self.home = f"http://127.0.0.1:{self.port}/"
        words = ("review", bench, "--to", folder, "--reviewers", reviewers, "--address", f"127.0.0.1:{self.port}")
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

    def __init__(self, name: str, window: BrowserWindow, home: str) -> None:
        self.name, self._window, self._home = name, window, home
        self.meant: dict[str, str] = {}  # by item the decision
        self.edits: dict[str, str] = {}
        self._stumbled = False

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
        kind = self.meant[item] = intended(self.name, item)
        window.click(f".kind.{kind}")
        if kind == "drop":
            window.click(f'label:has([name=reason][value="{REASON}"])')
        elif kind == "fix":
            self.edits[item] = f"Better asked by {self.name}: {item}?"
            window.type('[name="edit_question"]', self.edits[item])
        if len(self.meant) == 4:
            send_twice(window)
        self._leave(lambda: window.click("#decide .sending button"))

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
    reviewers = []
    with (
        Server(tmp_path / "bench", tmp_path / "review") as server,
        ReviewProject.open(tmp_path / "review") as project,
    ):
        for name in NAMES:
            window = browser.visitor()
            window.goto(project.link(project.people.invite(name)))
            window.press("Enter")
            window.wait(HOME)
            reviewers.append(Reviewer(name, window, server.home))
        with ThreadPoolExecutor(len(reviewers)) as pool:
            working = [pool.submit(one.work) for one in reviewers]
            while len(project.decisions()) < 3 * ITEMS // 2 and not any(future.done() for future in working):
                time.sleep(0.3)
            server.kill()
            server.start()
            for future in working:
                future.result(600)
        every, progress = project.decisions(), project.progress()
    meant = [(who.name, item, kind) for who in reviewers for item, kind in who.meant.items()]
    assert Counter((one.reviewer, one.item, one.decision) for one in every) == dict.fromkeys(meant, 1)
    assert len(meant) == ITEMS * len(NAMES)
    for who in reviewers:
        fixed = [one for one in every if (one.reviewer, one.decision) == (who.name, "fix")]
        assert {one.item: one.edits["question"] for one in fixed} == who.edits
    assert {one.reason for one in every if one.decision == "drop"} == {REASON}
    opinions = [Counter(intended(name, str(number)) for name in NAMES) for number in range(ITEMS)]
    chosen = [kinds.most_common(1)[0] for kinds in opinions]  # who fix do so in different words
    assert progress.disputes.open == sum(votes == 1 or kind in ("fix", "unsure") for kind, votes in chosen)
