"""The pages of a review in Chromium: anybody can use them, and a full disk loses nothing that was typed."""

from eyetest.studio.app.office import make_review_app
from eyetest.studio.collection import Collection
from eyetest.studio.decisions import Role, Round
from eyetest.studio.forms import Form
from eyetest.studio.project import ReviewProject
from tests.studio.app.conftest import served
from tests.studio.app.reviewing.conftest import FORM, MakeProject
from tests.studio.app.reviewing.test_office import decided as decided
from tests.support.accessibility import check_accessible
from tests.support.browser import Browser, BrowserWindow


def come_in(
    browser: Browser, project: ReviewProject, address: str, name: str, role: Role = "reviewer"
) -> BrowserWindow:
    """Somebody who has followed their personal link."""
    window = browser.visitor()
    window.goto(f"{address}/enter/{project.invite(name, role)}")
    window.press("Enter")
    window.wait("document.querySelector('.home')")
    return window


def test_anybody_can_review(decided: ReviewProject, collection: Collection, browser: Browser) -> None:
    with served(make_review_app(collection, decided)) as address:
        eve = come_in(browser, decided, address, "Eve", "adjudicator")
        eve.follow("#next")
        task = eve.evaluate("location.href")
        assert "What others decided" in eve.text
        check_accessible(browser, task, f"{address}/", f"{address}/nowhere", visitor=eve)
        check_accessible(browser, f"{address}/enter/anything", f"{address}/", dark=False)


def test_anybody_can_run_a_review(decided: ReviewProject, collection: Collection, browser: Browser) -> None:
    with served(make_review_app(collection, decided)) as address:
        boss = come_in(browser, decided, address, "Boss", "admin")
        pages = ("overview", "decisions", "people", "log", "items/", "items/?item=q0")
        check_accessible(browser, *(f"{address}/{page}" for page in pages), visitor=boss)
        boss.goto(f"{address}/")
        boss.follow('[action="leave"] button')
        check_accessible(browser, f"{address}/overview", visitor=boss, dark=False)


def test_anybody_can_solve_and_fill_in_a_form(
    make_project: MakeProject, collection: Collection, browser: Browser
) -> None:
    form = Form(about=FORM.about, fields=FORM.fields, reasons=FORM.reasons, edits=("question", "tags"), solve=True)
    project = make_project(rounds=(Round(number=1, form=form),))
    with served(make_review_app(collection, project)) as address:
        ann = come_in(browser, project, address, "Ann")
        ann.follow("#next")
        task = ann.evaluate("location.href")
        check_accessible(browser, task, visitor=ann)
        ann.press("a")
        ann.press_to("Enter")
        check_accessible(
            browser, task, ready="document.querySelector('.kind.fix input').click() || true", visitor=ann
        )
        assert project.decisions() == []


def room(project: ReviewProject, pages: int) -> None:
    """Let the disk have room for so many pages more."""
    with project.database.write() as connection:
        (now,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {now + pages}")


def test_a_full_disk_is_told_and_loses_nothing(
    make_project: MakeProject, collection: Collection, browser: Browser
) -> None:
    project = make_project(form=Form())
    thought = "A long thought. " * 500
    with served(make_review_app(collection, project)) as address:
        ann = come_in(browser, project, address, "Ann")
        ann.follow("#next")
        room(project, 5)
        count = 0
        while count < 6:
            ann.press("k")
            ann.type("#comment", thought)
            ann.follow("#decide .sending button")
            if ann.evaluate("Boolean(document.querySelector('.problem'))"):
                break
            count += 1
        assert 0 < count < 6
        assert "no space on the disk" in ann.evaluate("document.querySelector('.problem').textContent")
        assert ann.evaluate("[decide.elements.decision.value, comment.value.trim()]") == ["keep", thought.strip()]
        assert len(project.decisions()) == count
        room(project, 1_000)
        ann.follow("#decide .sending button")
        assert [one.comment for one in project.decisions()] == [thought.strip()] * (count + 1)
        assert len({one.item for one in project.decisions()}) == count + 1
