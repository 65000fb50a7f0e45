"""The site: it builds without a broken link, its search answers newcomers' questions, its pages fit a phone."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pytest
import yaml

from tests.conftest import ROOT
from tests.docs.pages import text_of
from tests.support.accessibility import barriers
from tests.support.browser import Browser

pytestmark = pytest.mark.journey

_RULES = 'rules: { "scrollable-region-focusable": { enabled: false } }'
"""The theme lets keyboards scroll code as soon as it comes into view, which axe-core does not wait for."""
QUESTIONS = yaml.safe_load((Path(__file__).parent / "questions.yaml").read_text("utf-8"))
_RESULTS = (
    "[...document.querySelectorAll('.md-search-result__item > a:first-child')].slice(0, 3).map((a) => a.pathname)"
)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the site, built strictly: a warning of MkDocs, such as a broken link or anchor, fails."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_search_answers_questions(site: str, browser: Browser) -> None:
    window, missed = browser.visitor(1440, 900), {}
    for entry in QUESTIONS:
        window.goto(f"{site}/faq/")
        window.goto(f"{site}/?q={quote(entry['search'])}")
        window.wait("document.querySelector('.md-search-result__item > a')")
        found = [path.strip("/") for path in window.evaluate(_RESULTS)]
        if entry["page"] not in found:
            missed[entry["search"]] = (entry["page"], found)
    window.close()
    assert not missed


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (1440, True), (390, False)])
def test_pages_fit_and_are_accessible(site: str, browser: Browser, width: int, dark: bool) -> None:
    window = browser.visitor(width, 900, dark=dark)
    for page in ("", "audit/", "answers/", "measures/", "gallery/", "design/architecture/"):
        window.goto(f"{site}/{page}")
        assert not barriers(window, _RULES), page
    assert not [request for request in window.requests if not request.startswith((site, "data:"))]
    assert not window.errors
    window.close()


def test_questions_are_on_the_page() -> None:
    table = text_of("testing.md").partition("## Ten questions")[2]
    rows = re.findall(r"^\| (.+?) \| (.+?) \| \[.+?\]\((.+?)\.md\) \|$", table, re.MULTILINE)
    assert rows == [(entry["question"], entry["search"], entry["page"]) for entry in QUESTIONS[:10]]
