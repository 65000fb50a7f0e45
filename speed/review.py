"""Review in a crowd: milliseconds of a decision, and decisions a second, over real HTTP against a real server.

    python speed/review.py [--reviewers 20] [--decisions 10000] [--think 0.5] [--keep DIR]

Each reviewer takes an item, looks at it (on average ``--think`` seconds, drawn at random), decides, and is
led to the next: what counts is the time from sending the form to the answer, which by then is kept on the disk and
says where the next item is. The page of the next item is timed for itself. Reviewers and server share this machine's
processors. At the end all decisions have to be there, each once.
"""

import argparse
import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from html import unescape
from pathlib import Path

import aiohttp
import numpy as np

from eyetest.benchmarks import BenchmarkWriter
from eyetest.records import Choice, Item, Manifest
from eyetest.studio.project import ReviewProject

DECISIONS_AN_ITEM = 3
KINDS = ("keep", "keep", "drop", "fix", "unsure")
COMMAND = [sys.executable, "-c", "from eyetest.cli import main; main()"]
FIELD = re.compile(r'name="(csrf|item|nonce)" value="([^"]*)"')


def write_benchmark(path: Path, items: int) -> None:
    """Items of four options about nothing in particular."""
    with BenchmarkWriter(path, Manifest(name="crowd")) as writer:
        for number in range(items):
            choices = tuple(Choice(f"thing {place} of {number}", place == number % 4) for place in range(4))
            tags = {"task": f"task {number % 18:02d}"}
            writer.add(Item(id=str(number), question=f"Which thing is {number}?", choices=choices, tags=tags))


class Crowd:
    """Reviewers, and how long each of their calls took."""

    def __init__(self, home: str, think: float, wanted: int) -> None:
        self._home, self._think, self._left = home, think, wanted
        self._draw = np.random.default_rng(0)
        self.decisions: list[float] = []
        self.pages: list[float] = []

    async def review(self, token: str) -> None:
        """Come in, and decide until enough was decided."""
        async with aiohttp.ClientSession(self._home, cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            session.headers["Origin"] = self._home.rstrip("/")
            page = await self._sent(session, f"/enter/{token}", {"csrf": ""})
            csrf = dict(FIELD.findall(page))["csrf"]
            page = await self._sent(session, "/next", {"csrf": csrf})
            while 'id="decide"' in page and self._left > 0:
                self._left -= 1
                await asyncio.sleep(self._draw.exponential(self._think))
                page = await self._decide(session, page)

    async def _decide(self, session: aiohttp.ClientSession, page: str) -> str:
        form = {name: unescape(value) for name, value in FIELD.findall(page[page.index('id="decide"') :])[:4]}
        form |= {"decision": KINDS[int(self._draw.integers(len(KINDS)))], "reason": "it repeats another item"}
        form |= {"comment": "look at this again"}
        began = time.perf_counter()
        async with session.post("/decide", data=form, allow_redirects=False) as answer:
            await answer.read()
        self.decisions.append(time.perf_counter() - began)
        assert answer.status == 303, answer.status
        began = time.perf_counter()
        async with session.get("/" + answer.headers["location"].removeprefix("./")) as shown:
            text = await shown.text()
        self.pages.append(time.perf_counter() - began)
        assert shown.status == 200, shown.status
        return text

    async def _sent(self, session: aiohttp.ClientSession, path: str, form: dict[str, str]) -> str:
        async with session.post(path, data=form) as answer:
            assert answer.status == 200, await answer.text()
            return await answer.text()


def show(name: str, seconds: list[float]) -> None:
    """Print where the middle and the ends are."""
    middle, late, last = np.quantile(seconds, [0.5, 0.95, 0.99]) * 1000
    print(f"{name:10s} {middle:7.1f} {late:7.1f} {last:7.1f} {max(seconds) * 1000:8.1f}")


async def work(crowd: Crowd, tokens: list[str]) -> None:
    """Let everybody work at once."""
    await asyncio.gather(*(crowd.review(token) for token in tokens))


def measure(folder: Path, reviewers: int, decisions: int, think: float) -> None:
    """Serve, let the crowd work, and tell."""
    write_benchmark(folder / "bench", -(-decisions // DECISIONS_AN_ITEM) + reviewers)
    to = ("--to", folder / "review", "--reviewers", DECISIONS_AN_ITEM, "--address", "127.0.0.1:0")
    words = ("review", folder / "bench", *to)
    with subprocess.Popen([*COMMAND, *map(str, words)], stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr
            home = re.search(r"http://[^/]+", server.stderr.readline())
            assert home
            with ReviewProject.open(folder / "review") as project:
                tokens = [project.people.invite(f"reviewer {number}") for number in range(reviewers)]
                load, before, began = os.getloadavg()[0], _cpu(server.pid), time.perf_counter()
                crowd = Crowd(home[0], think, decisions)
                asyncio.run(work(crowd, tokens))
                took, spent = time.perf_counter() - began, _cpu(server.pid) - before
                kept = Counter((one.reviewer, one.item) for one in project.decisions())
        finally:
            server.kill()
    assert len(kept) == sum(kept.values()) == len(crowd.decisions) == decisions, (len(kept), len(crowd.decisions))
    print(
        f"{decisions:,} decisions of {reviewers} reviewers in {took:.0f} s: {decisions / took:.1f} a second; ", end=""
    )
    print(f"{1000 * spent / decisions:.1f} ms of the server's processor each; load {load:.1f} before")
    print(f"{'ms':10s} {'p50':>7s} {'p95':>7s} {'p99':>7s} {'most':>8s}")
    show("decision", crowd.decisions)
    show("next page", crowd.pages)


def _cpu(process: int) -> float:
    """Seconds of processor that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure, in a folder that is kept or not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reviewers", type=int, default=20)
    parser.add_argument("--decisions", type=int, default=10_000)
    parser.add_argument("--think", type=float, default=0.5)
    parser.add_argument("--keep", type=Path)
    wishes = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(wishes.keep or Path(folder), wishes.reviewers, wishes.decisions, wishes.think)


if __name__ == "__main__":
    main()
