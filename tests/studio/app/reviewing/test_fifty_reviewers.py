"""Fifty people review on one server at once: what each was told to be stored is stored, once."""

import asyncio
import re
from collections import Counter
from html import unescape
from pathlib import Path
from urllib.parse import urljoin

import aiohttp
import pytest

from eyetest.studio.project import ReviewProject
from tests.studio.app.reviewing.test_three_reviewers import Server
from tests.support.drawn import draw_benchmark

pytestmark = pytest.mark.journey

PEOPLE, ITEMS, SEATS = 50, 30, 5
_PATIENCE = 120.0


class Person:
    """A browser that follows a link, and decides until nothing waits."""

    def __init__(self, name: str, home: str, token: str) -> None:
        self.name, self._home, self._token = name, home.rstrip("/"), token
        self.acknowledged: list[str] = []

    async def work(self) -> None:
        patience = aiohttp.ClientTimeout(total=_PATIENCE)
        jar = aiohttp.CookieJar(unsafe=True)  # cookies of an address in figures
        async with aiohttp.ClientSession(headers={"origin": self._home}, timeout=patience, cookie_jar=jar) as session:
            self._session = session
            await self._post(f"/enter/{self._token}", {"csrf": await self._csrf()})
            token = await self._csrf()
            page = await self._post("/next", {"csrf": token})
            while 'id="decide"' in page:
                fields = {name: _field(page, name) for name in ("item", "nonce")}
                form = {"csrf": token, "decision": "keep", **fields}
                await self._post("/decide", form)
                self.acknowledged.append(fields["item"])
                if len(self.acknowledged) % 2:
                    await self._post("/decide", form)  # as an impatient browser does
                page = await self._post("/next", {"csrf": token})

    async def _post(self, path: str, form: dict[str, str]) -> str:
        """The page that follows; the answer to a form says that it was taken."""
        async with self._session.post(self._home + path, data=form, allow_redirects=False) as answer:
            said = await answer.text()
            assert answer.status == 303, (self.name, path, answer.status, said[-500:])
            following = answer.headers["location"]
        return await self._get(urljoin(path, following))

    async def _get(self, path: str) -> str:
        async with self._session.get(self._home + path) as answer:
            return await answer.text()

    async def _csrf(self) -> str:
        token = re.search(r'name="csrf" value="(\w+)"', await self._get("/"))
        return token[1] if token else ""


def _field(page: str, name: str) -> str:
    field = re.search(rf'id="decide".*?name="{name}" value="([^"]*)"', page, re.DOTALL)
    assert field, page[-500:]
    return unescape(field[1])


async def _work_at_once(people: list[Person]) -> None:
    await asyncio.gather(*(person.work() for person in people))


def test_fifty_review_at_once(tmp_path: Path) -> None:
    draw_benchmark(tmp_path / "bench", items=ITEMS)
    folder = tmp_path / "review"
    with Server(tmp_path / "bench", folder, SEATS) as server, ReviewProject.open(folder) as project:
        names = [f"person {number}" for number in range(PEOPLE)]
        people = [Person(name, server.home, project.people.invite(name)) for name in names]
        asyncio.run(_work_at_once(people))
        acknowledged = Counter((item, person.name) for person in people for item in person.acknowledged)
        stored = Counter((decision.item, decision.reviewer) for decision in project.decisions())
        assert stored == acknowledged
        assert set(stored.values()) == {1}
        assert set(Counter(item for item, _ in stored).values()) == {SEATS}
        assert project.progress().settled == ITEMS
    with ReviewProject.open(folder) as project:
        assert len(project.decisions()) == ITEMS * SEATS, "they are there after the server was killed"
