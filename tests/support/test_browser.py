"""The browser that tests drive does what hands do, keeps people apart, and hears when something goes wrong."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from tests.support.accessibility import barriers
from tests.support.browser import Browser, BrowserError

PAGE = b"""<!doctype html><html lang="en"><title>trial</title><meta name="viewport" content="width=device-width">
<style>body { margin: 0 } @media (prefers-color-scheme: dark) { body { background: rgb(1, 2, 3) } }
#under { position: absolute; top: 200px } #cover { position: absolute; top: 150px; width: 300px; height: 200px }
</style>
<form action="next"><input name="word" value="old"><button>Go</button></form><div id="said"></div>
<button id="under">under</button><div id="cover"></div><div id="away" hidden>away</div>
<script>
addEventListener("keydown", (event) => { said.textContent += (event.ctrlKey ? "^" : "") + event.key; });
</script>"""


class TrialPage(BaseHTTPRequestHandler):
    """One page for every address; who comes again is known by a cookie."""

    def do_GET(self) -> None:
        known = b"known" in (self.headers.get("cookie") or "").encode()
        self.send_response(404 if self.path == "/gone" else 200)
        self.send_header("content-type", "text/html")
        self.send_header("set-cookie", "known=yes")
        self.end_headers()
        self.wfile.write(PAGE.replace(b"trial", b"again" if known else b"first"))

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def home() -> Iterator[str]:
    """Where the page is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), TrialPage) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_people_are_apart_and_have_hands(browser: Browser, home: str) -> None:
    ann, bob = browser.visitor(), browser.visitor(390, dark=True)
    ann.goto(home)
    ann.reload()
    bob.goto(home)
    assert [one.evaluate("document.title") for one in (ann, bob)] == ["again", "first"]
    assert [one.evaluate("[innerWidth, getComputedStyle(document.body).backgroundColor]") for one in (ann, bob)] == [
        [1280, "rgba(0, 0, 0, 0)"],
        [390, "rgb(1, 2, 3)"],
    ]
    ann.type("[name=word]", "new & <old>")
    ann.follow("form button")
    assert ann.evaluate("location.search") == "?word=new+%26+%3Cold%3E"
    ann.press("a", "Escape", "Control+Enter")
    assert ann.evaluate("said.textContent") == "aEscape^Enter"
    assert (ann.clicks, bob.clicks) == (1, 0)
    assert bob.requests[0] == home
    assert bob.screenshot()[:4] == b"\x89PNG"
    ann.close()
    bob.close()


def test_what_a_hand_cannot_do_fails(browser: Browser, home: str) -> None:
    ann = browser.visitor()
    ann.goto(home)
    for selector, why in (("#under", "is before it"), ("#away", "not shown"), ("#none", "nothing is there")):
        with pytest.raises(BrowserError, match=why):
            ann.click(selector)
    with pytest.raises(BrowserError, match="ERR_UNSAFE_PORT"):
        ann.goto("http://127.0.0.1:1/")
    ann.close()


def test_what_goes_wrong_on_a_page_is_heard(browser: Browser, home: str) -> None:
    ann = browser.visitor()
    ann.goto(home)
    with pytest.raises(BrowserError, match="nobody is not defined"):
        ann.evaluate("nobody()")
    assert ann.errors == []
    ann.evaluate("setTimeout(() => { throw new Error('late') })")
    ann.evaluate("console.error('said')")
    ann.evaluate("fetch('gone').then(() => 0)")
    wanted = ("Error: late", "said", "404")
    assert all(any(word in error for error in ann.errors) for word in wanted), ann.errors
    ann.close()


def test_barriers_are_told(browser: Browser, home: str) -> None:
    ann = browser.visitor(390)
    ann.goto(home)
    bad = '<img src="x.png"><p style="color: #ccc; width: 600px">Pale</p>'
    ann.evaluate(f"document.body.innerHTML = '{bad}'")
    told = " ".join(barriers(ann))
    ann.close()
    for words in ("image-alt: <img", "color-contrast: <p", "600 pixels wide on 390: ['<p"):
        assert words in told
