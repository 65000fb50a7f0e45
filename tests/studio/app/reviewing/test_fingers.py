"""Reviewing in Chromium: with keys alone, with what is typed kept, and without scripts."""

from collections.abc import Iterator
from threading import Thread

import pytest
import uvicorn

from eyetest.studio.app.office import make_review_app
from eyetest.studio.app.server import listen
from eyetest.studio.collection import Collection
from eyetest.studio.decisions import Round
from eyetest.studio.forms import Form
from eyetest.studio.project import ReviewProject
from tests.studio.app.reviewing.conftest import FORM, MakeProject
from tests.support.browser import Browser, BrowserWindow


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("chromium") / "profile") as browser:
        yield browser


@pytest.fixture
def project(make_project: MakeProject) -> ReviewProject:
    """Three items to decide about, and afterwards three to solve."""
    rounds = (Round(number=1, form=FORM), Round(number=2, form=Form(solve=True)))
    return make_project(("q0", "q1", "q2"), rounds=rounds)


@pytest.fixture
def address(collection: Collection, project: ReviewProject) -> Iterator[str]:
    """Where the review is served, until the test ends."""
    taken = listen("127.0.0.1", 0)
    config = uvicorn.Config(make_review_app(collection, project), log_level="critical", lifespan="off", ws="none")
    server = uvicorn.Server(config)
    thread = Thread(target=server.run, kwargs={"sockets": [taken]})
    thread.start()
    yield f"http://127.0.0.1:{taken.getsockname()[1]}"
    server.should_exit = True
    thread.join()


def come_in(browser: Browser, address: str, project: ReviewProject, name: str) -> BrowserWindow:
    """Follow a personal link and press its button, with the key that is at hand."""
    visitor = browser.visitor()
    visitor.goto(f"{address}/enter/{project.invite(name)}")
    visitor.press_to("Enter")
    return visitor


def test_keys_alone_decide_and_solve(browser: Browser, address: str, project: ReviewProject) -> None:
    ann = come_in(browser, address, project, "Ann")
    ann.press_to("n")
    ann.press("k")
    ann.press_to("Enter")
    assert "This has to be answered" in ann.text
    ann.press("1", "c")
    ann.send("Input.insertText", text="kept")
    ann.press_to("Control+Enter")
    ann.press("d", "2")
    assert ann.evaluate("document.querySelector('[name=offered]:checked').value") == "unclear"
    ann.press("u")
    ann.press_to("Enter")
    ann.press("Enter")
    assert "Choose a decision" in ann.text
    ann.press("+")
    assert ann.evaluate("view.scale") > 1
    ann.press_to("Escape")
    said = project.decisions()
    assert [(one.item, one.decision, one.comment) for one in said] == [("q0", "keep", "kept"), ("q1", "unsure", "")]
    assert (said[0].labels, said[1].reason) == ({"image": "yes"}, "")
    assert all(one.seconds for one in said)
    assert [one for one in ann.errors if "400" not in one] == []
    ben = come_in(browser, address, project, "Ben")
    ben.press_to("n")
    assert "What is the answer?" in ben.text
    ben.press("b")
    ben.press_to("Enter")
    assert "You answered B, the gold is A." in ben.text
    ben.press("k")
    ben.press_to("Enter")
    assert [(one.item, one.decision, one.solved) for one in project.decisions()][-1] == ("q0", "keep", "B")
    assert (ben.errors, [one for one in ben.requests if not one.startswith(address)]) == ([], [])


def test_what_is_typed_outlives_a_reload_and_a_server_that_is_away(
    browser: Browser, address: str, project: ReviewProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = come_in(browser, address, project, "Ann")
    ann.press_to("n")
    ann.press("f", "2")
    ann.type('[name="edit.A"]', "Black kite")
    ann.type("#comment", "a long thought")
    nonce = ann.evaluate("document.querySelector('[name=nonce]').value")
    here = ann.evaluate("location.href")
    ann.goto(f"{address}/")
    ann.goto(here)
    kept = "['edit.A', 'comment', 'nonce', 'label.image', 'decision'].map((one) => deciding.elements[one].value)"
    assert ann.evaluate(kept) == ["Black kite", "a long thought", nonce, "no", "fix"]
    with monkeypatch.context() as broken:
        broken.setattr(project, "decide", None)
        ann.press_to("Control+Enter")
        assert "Internal Server Error" in ann.text
    ann.goto(f"{address}/")
    ann.goto(here)
    assert ann.evaluate(kept) == ["Black kite", "a long thought", nonce, "no", "fix"]
    ann.press_to("Control+Enter")
    assert [(one.edits, one.comment) for one in project.decisions()] == [({"A": "Black kite"}, "a long thought")]
    ann.goto(here)
    assert "You decided" in ann.text
    assert ann.evaluate("sessionStorage.getItem(draftKey)") is None


def test_deciding_works_without_scripts(browser: Browser, address: str, project: ReviewProject) -> None:
    ann = browser.visitor()
    ann.send("Emulation.setScriptExecutionDisabled", value=True)
    ann.goto(f"{address}/enter/{project.invite('Ann')}")
    ann.follow("button.primary")
    ann.follow("#next")
    ann.click(".kind.drop")
    ann.click('.for-drop [value="unclear"]')
    ann.follow("#decide button.primary")
    assert [(one.item, one.decision, one.reason) for one in project.decisions()] == [("q0", "drop", "unclear")]


def test_pages_break_no_rule_of_their_own(browser: Browser, address: str, project: ReviewProject) -> None:
    boss = browser.visitor()
    boss.goto(f"{address}/enter/{project.invite('Boss', 'admin')}")
    boss.press_to("Enter")
    for page in ("overview", "decisions", "people", "log", "items/", "items/?item=q0", "nowhere"):
        boss.goto(f"{address}/{page}")
    boss.goto(f"{address}/items/")
    boss.click(".menu summary")
    boss.follow('form[action="../queue"] button')
    assert "6 items" in boss.text
    errors = [one for one in boss.errors if "404" not in one]
    assert (errors, [one for one in boss.requests if not one.startswith(address)]) == ([], [])
