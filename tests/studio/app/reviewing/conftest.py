"""A review of the zoo, and people who come in to it with a browser each."""

import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.responses import Response
from starlette.testclient import TestClient

from eyetest.studio.app.office import make_review_app
from eyetest.studio.collection import Collection
from eyetest.studio.decisions import ReviewPlan, Role
from eyetest.studio.forms import Form, FormField
from eyetest.studio.project import ReviewProject
from tests.studio.app.conftest import HOME

IDS = tuple(f"q{number}" for number in range(6))
FORM = Form(
    about="Is it sound?",
    fields=(
        FormField(name="image", ask="Does it need the image?", values=("yes", "no"), when=("keep", "fix")),
        FormField(name="faults", ask="What is wrong?", kind="several", values=("a", "b", "c"), required=False),
        FormField(name="note", ask="What else?", kind="text", required=False),
    ),
    reasons=("the gold is wrong", "unclear"),
)


class Visitor:
    """A person with a browser: cookies, the form of the page that is open, and what was sent from it."""

    def __init__(self, app: Any, project: ReviewProject, address: str = "testclient") -> None:
        self.client = TestClient(app, HOME, follow_redirects=False, client=(address, 50_000))
        self.client.headers["origin"] = HOME
        self.project = project
        self.page = ""

    def enter(self, token: str) -> Any:
        """Press the button of a personal link."""
        return self.client.post(f"/enter/{token}", data={"csrf": self.csrf})

    def get(self, path: str) -> Any:
        answer = self.client.get(path)
        self.page = answer.text
        return answer

    def post(self, path: str, data: dict[str, Any] | None = None) -> Any:
        """Send a form with the token of the session, and go where the answer leads."""
        answer = self.client.post(path, data={"csrf": self.csrf} | (data or {}))
        self.page = answer.text
        return self.get(answer.headers["location"]) if answer.status_code == 303 else answer

    @property
    def csrf(self) -> str:
        token = re.search(r'name="csrf" value="(\w+)"', self.client.get("/").text)
        return token[1] if token else ""

    def hidden(self, name: str) -> str:
        field = re.search(rf'id="(?:decide|solve)".*?name="{name}" value="([^"]*)"', self.page, re.DOTALL)
        assert field, self.page[-3000:]
        return unescape(field[1])

    def next(self) -> str:
        """Ask for the next item; gives its id, or nothing."""
        self.post("/next")
        return self.hidden("item") if 'id="decide"' in self.page or 'id="solve"' in self.page else ""

    def decide(self, decision: str, **given: Any) -> Any:
        form = {name: self.hidden(name) for name in ("item", "nonce")}
        return self.post("/decide", form | {"decision": decision} | given)


MakeProject = Callable[..., ReviewProject]
Enter = Callable[..., Visitor]


@pytest.fixture
def make_project(tmp_path: Path) -> Iterator[MakeProject]:
    made: list[ReviewProject] = []

    def make(ids: tuple[str, ...] = IDS, *, name: str = "zoo", form: Form = FORM, **plan: Any) -> ReviewProject:
        folder = tmp_path / f"review-{len(made)}"
        made.append(ReviewProject.create(folder, ReviewPlan(name=name, form=form, **plan), ids))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def enter(collection: Collection) -> Enter:
    """Let a person in to a review, with a browser of their own."""

    def enter(project: ReviewProject, name: str, role: Role = "reviewer", **more: Any) -> Visitor:
        app = more.pop("app", None) or make_review_app(more.pop("collection", collection), project, **more)
        visitor = Visitor(app, project)
        answer: Response = visitor.enter(project.people.invite(name, role))
        assert answer.status_code == 303
        return visitor

    return enter
