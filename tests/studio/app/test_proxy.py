"""Behind a reverse proxy: everything stays under its prefix, and what a proxy states counts only if it was named."""

import re
from http.client import HTTPConnection
from pathlib import Path
from urllib.request import urlopen

import pytest
from starlette.testclient import TestClient

from eyetest.pages.serving import Front
from eyetest.recipes.reviews import find_review
from eyetest.studio.app.office import make_review_app
from eyetest.studio.collection import Collection
from tests.recipes.benches import make_bench
from tests.running.processes import Nursery, until
from tests.studio.app.conftest import served
from tests.studio.app.reviewing.conftest import IDS, MakeProject
from tests.studio.app.reviewing.conftest import make_project as make_project
from tests.support.browser import Browser
from tests.support.command import call
from tests.support.proxy import PREFIX, free_port, proxied, wait_for

STATED = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "evil.example"}
KINDS = ["aiohttp", "nginx"]


def _get(address: str) -> str:
    with urlopen(address) as answer:
        return str(answer.read().decode())


@pytest.mark.parametrize("kind", KINDS)
def test_a_review_stays_under_the_prefix(kind: str, tmp_path: Path, nursery: Nursery, browser: Browser) -> None:
    make_bench(tmp_path / "b", 4)
    port = free_port()
    with proxied(kind, tmp_path, port) as address:
        words = ("review", "b", "--items", "all", "--address", f"127.0.0.1:{port}", "--public", f"{address}/")
        server = nursery.start(*words)
        wait_for(port)
        assert _get(f"{address}/healthz") == "ok\n"
        until(lambda: "/enter/" in server.stderr, "the link")
        until(lambda: "--proxy IP tells them apart" in server.stderr, "the note on limits")
        (link,) = re.findall(r"http://\S+/enter/\S+", server.stderr)
        assert link.startswith(f"{address}/enter/")
        ann = browser.visitor()
        ann.goto(link)
        ann.press_to("Enter")
        (cookie,) = ann.send("Network.getCookies")["cookies"]
        assert (cookie["path"], cookie["httpOnly"], cookie["sameSite"]) == (f"{PREFIX}/", True, "Strict")
        ann.press_to("n")
        assert ann.evaluate("document.querySelector('.stage img').naturalWidth") > 0
        ann.press("k")
        ann.press_to("Enter")
        with find_review(tmp_path / "b") as project:
            assert [made.decision for made in project.decisions()] == ["keep"]
        for page in ("overview", "items/", "items/?item=q1"):
            ann.goto(f"{address}/{page}")
            assert ann.evaluate("getComputedStyle(document.body).margin") == "0px", "the style is loaded"
        assert not ann.errors
        ann.goto(f"{address}/nothing/here")
        assert ann.evaluate("getComputedStyle(document.body).margin") == "0px", "also on a page that is not there"
        ann.follow("main a")
        assert ann.evaluate("location.href") == f"{address}/"
        ann.goto(f"{address}/")
        ann.follow("form[action=leave] button")
        assert "You have left the review" in ann.text
        server.kill()
    assert len(ann.requests) > 20
    assert [url for url in ann.requests if not url.startswith(f"{address}/")] == []


@pytest.mark.parametrize("kind", KINDS)
def test_items_stay_under_the_prefix(kind: str, tmp_path: Path, nursery: Nursery, browser: Browser) -> None:
    make_bench(tmp_path / "b", 4)
    port = free_port()
    with proxied(kind, tmp_path, port) as address:
        server = nursery.start("open", "b", "--address", f"127.0.0.1:{port}", "--public", address)
        wait_for(port)
        ann = browser.visitor()
        ann.goto(f"{address}/")
        ann.follow("a.to")
        assert ann.evaluate("document.querySelector('.stage img').naturalWidth") > 0
        assert "q0" in _get(f"{address}/items.csv")
        if kind == "nginx":
            ann.goto(address)
            assert ann.evaluate("location.href") == f"{address}/"
        assert not ann.errors
        server.kill()
    assert [url for url in ann.requests if not url.startswith(address)] == []


@pytest.mark.parametrize("proxies", [(), ("10.0.0.0/8",), ("127.0.0.1",)])
def test_what_a_proxy_states(collection: Collection, make_project: MakeProject, proxies: tuple[str, ...]) -> None:
    project = make_project(IDS)
    link = f"/enter/{project.people.invite('Ann', 'reviewer')}"
    with served(make_review_app(collection, project), *proxies) as address:
        form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": address}
        connection = HTTPConnection(address.removeprefix("http://"))
        connection.request("POST", link, b"csrf=", form | STATED)
        answer = connection.getresponse()
        connection.close()
    assert (answer.status, answer.headers["location"]) == (303, "../")
    assert ("Secure" in str(answer.headers["set-cookie"])) == (proxies == ("127.0.0.1",))


@pytest.mark.parametrize(
    ("public", "origin"),
    [
        ("", ""),
        ("https://Lab.example:443/eyes", "https://lab.example"),
        ("http://lab.example:80", "http://lab.example"),
        ("http://lab.example:443", "http://lab.example:443"),
        ("https://[2001:DB8::1]:443/eyes", "https://[2001:db8::1]"),
    ],
)
def test_browsers_leave_out_default_ports(public: str, origin: str) -> None:
    assert Front(public=public).origin == origin


def test_a_public_address(collection: Collection, make_project: MakeProject) -> None:
    """Its name, origin and scheme count without any header of the proxy; those of others do not."""
    project = make_project(IDS)
    app = make_review_app(collection, project, Front(public="https://lab.example/eyes"))
    for name, origin, status in (
        ("lab.example", "https://lab.example", 303),
        ("127.0.0.1:8765", "https://lab.example", 303),  # nginx names what it passes calls on to
        ("lab.example", "https://evil.example", 403),
        ("evil.example", "https://evil.example", 421),
    ):
        client = TestClient(app, f"http://{name}", follow_redirects=False, headers={"origin": origin})
        answer = client.post(f"/eyes/enter/{project.people.invite(name, 'reviewer')}", data={"csrf": ""})
        assert answer.status_code == status, (name, origin, answer.text)
        assert ("Path=/eyes/" in answer.headers.get("set-cookie", "")) == (status == 303)
        assert ("Secure" in answer.headers.get("set-cookie", "")) == (status == 303)


@pytest.mark.parametrize(
    ("option", "line"),
    [
        ("--public=lab.example/eyes", "--public: found 'lab.example/eyes', expected http or https, a host"),
        ("--public=https://lab.example/a/../b", "expected http or https, a host and a plain path"),
        ("--public=https://ann:key@lab.example", "expected http or https, a host"),
        ("--public=https://lab.example/?", "expected http or https, a host"),
        ("--public=https://lab.example/#", "expected http or https, a host"),
        ("--public= https://lab.example/\n", "expected http or https, a host"),
        ("--public=https://lab.example/image/a", "expected a path that does not begin with /image, which is a page"),
        ("--proxy=*", "--proxy: found '*', expected an address or network, such as 10.0.0.7 or 10.0.0.0/24"),
    ],
)
def test_wrong_addresses(tmp_path: Path, option: str, line: str) -> None:
    make_bench(tmp_path / "b", 2)
    for words in (("open", tmp_path / "b"), ("review", tmp_path / "b")):
        done = call(*words, option)
        assert (done.code, done.err.count("\n")) == (2, 1), done.err
        assert line in done.err
