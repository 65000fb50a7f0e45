"""Reviewing in Chromium: with keys alone, with typed text kept, without scripts, and accessible to everyone."""

from collections.abc import Iterator

import pytest

from eyetest.studio.app.office import make_review_app
from eyetest.studio.collection import Collection
from eyetest.studio.decisions import Role
from eyetest.studio.forms import Form, FormField
from eyetest.studio.project import ReviewProject
from tests.studio.app.conftest import served
from tests.studio.app.reviewing.conftest import FORM, MakeProject
from tests.studio.app.reviewing.test_office import decided as decided
from tests.support.accessibility import check_accessible
from tests.support.browser import Browser, BrowserWindow


@pytest.fixture
def project(make_project: MakeProject) -> ReviewProject:
    """Three items to decide about."""
    return make_project(("q0", "q1", "q2"))


@pytest.fixture
def address(collection: Collection, project: ReviewProject) -> Iterator[str]:
    """The address of the review, which is served until the test ends."""
    with served(make_review_app(collection, project)) as address:
        yield address


def enter(
    browser: Browser, address: str, project: ReviewProject, name: str, role: Role = "reviewer"
) -> BrowserWindow:
    """Follow a personal link and press its button, with the key that is at hand."""
    visitor = browser.visitor()
    visitor.goto(f"{address}/enter/{project.people.invite(name, role)}")
    visitor.press_to("Enter")
    return visitor


def test_keys_alone_decide(browser: Browser, address: str, project: ReviewProject) -> None:
    ann = enter(browser, address, project, "Ann")
    ann.press_to("n")
    ann.press("k")
    ann.press_to("Enter")
    assert "This has to be answered" in ann.text
    ann.press("1", "c")
    ann.send("Input.insertText", text="kept")
    ann.press_to("Control+Enter")
    ann.press("d", "2")
    assert ann.evaluate("document.querySelector('[name=reason]:checked').value") == "unclear"
    ann.press("u")
    ann.press_to("Enter")
    ann.press("Enter")
    assert "Choose a decision" in ann.text
    ann.press("+")
    assert ann.evaluate("view.scale") > 1
    ann.press_to("Escape")
    made = project.decisions()
    assert [(one.item, one.decision, one.comment) for one in made] == [("q0", "keep", "kept"), ("q1", "unsure", "")]
    assert (made[0].labels, made[1].reason) == ({"image": "yes"}, "")
    assert [one for one in ann.errors if "400" not in one] == []


def test_keys_alone_solve(browser: Browser, collection: Collection, make_project: MakeProject) -> None:
    project = make_project(("q0",), form=Form(solve=True, fields=FORM.fields))
    with served(make_review_app(collection, project)) as address:
        ben = enter(browser, address, project, "Ben")
        ben.press_to("n")
        assert "What is the answer?" in ben.text
        check_accessible(browser, ben.evaluate("location.href"), visitor=ben)
        ben.press("b")
        ben.press_to("Enter")
        assert "You answered B, the gold is A." in ben.text
        chosen = "document.querySelector('.kind.fix input').click() || true"
        check_accessible(browser, ben.evaluate("location.href"), ready=chosen, visitor=ben)
        ben.press("k", "1")
        ben.press_to("Enter")
    assert [(one.item, one.decision, one.solved) for one in project.decisions()][-1] == ("q0", "keep", "B")
    assert (ben.errors, [one for one in ben.requests if not one.startswith(address)]) == ([], [])


def test_typed_text_outlives_a_reload_and_a_server_that_fails(
    browser: Browser, address: str, project: ReviewProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = enter(browser, address, project, "Ann")
    ann.press_to("n")
    ann.press("f", "2")
    ann.type('[name="edit_a"]', "Black kite")
    ann.type("#comment", "a long thought")
    nonce = ann.evaluate("document.querySelector('[name=nonce]').value")
    here = ann.evaluate("location.href")
    ann.goto(f"{address}/")
    ann.goto(here)
    kept = "['edit_a', 'comment', 'nonce', 'label_image', 'decision'].map((one) => deciding.elements[one].value)"
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
    assert "Decide anew" in ann.text
    assert ann.evaluate("sessionStorage.getItem(draftKey)") is None


def test_a_long_list_is_chosen_by_typing_and_the_draft_is_marked(
    browser: Browser, collection: Collection, make_project: MakeProject
) -> None:
    topics = ("algebra", "biology", "chemistry", "design", "economics", "finance", "geography", "history", "music")
    form = Form(fields=(FormField(name="topic", ask="Which topic?", values=topics),))
    project = make_project(("q0", "q1"), form=form)
    with served(make_review_app(collection, project)) as address:
        ann = enter(browser, address, project, "Ann")
        ann.press_to("n")
        ann.press("k", "1", "g")
        assert ann.evaluate("deciding.elements.label_topic.value") == "geography"
        assert "Draft kept" in ann.evaluate("document.getElementById('draft-mark').textContent")
        ann.click('[data-act="zoom-in"]')
        assert ann.evaluate("view.scale") > 1
        ann.reload()
        assert "Draft restored" in ann.evaluate("document.getElementById('draft-mark').textContent")
        ann.press_to("Enter")
    assert [one.labels for one in project.decisions()] == [{"topic": "geography"}]


def test_deciding_works_without_scripts(browser: Browser, address: str, project: ReviewProject) -> None:
    ann = browser.visitor()
    ann.send("Emulation.setScriptExecutionDisabled", value=True)
    ann.goto(f"{address}/enter/{project.people.invite('Ann')}")
    ann.follow("button.primary")
    ann.follow("#next")
    ann.click(".kind.drop")
    ann.click('.for-drop [value="unclear"]')
    ann.follow("#decide button.primary")
    assert [(one.item, one.decision, one.reason) for one in project.decisions()] == [("q0", "drop", "unclear")]


def test_the_pages_of_an_admin_are_accessible(
    decided: ReviewProject, collection: Collection, browser: Browser
) -> None:
    with served(make_review_app(collection, decided)) as address:
        boss = enter(browser, address, decided, "Eve", "admin")  # the disputed item is reserved for her
        boss.follow("#next")
        assert "What others decided" in boss.text
        pages = ("overview", "items/", "items/?item=q0", "", "nowhere")
        addresses = (boss.evaluate("location.href"), *(f"{address}/{page}" for page in pages))
        check_accessible(browser, *addresses, visitor=boss)
        assert [one for one in boss.requests if not one.startswith(address)] == []
        boss.goto(f"{address}/overview")
        boss.follow('[action="leave"] button')
        check_accessible(browser, f"{address}/overview", visitor=boss, dark=False)
        check_accessible(browser, f"{address}/enter/anything", f"{address}/", dark=False)
