"""Who is let in, and what is refused: links, cookies, forged forms, roles, other people's items."""

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from eyetest.benchmarks import Benchmark
from eyetest.pages.serving import server_of
from eyetest.studio.app.office import make_review_app
from eyetest.studio.app.server import LONGEST_FORM, CallLimits
from eyetest.studio.collection import Collection
from eyetest.studio.forms import Form
from eyetest.studio.project import ReviewProject
from tests.studio.app.conftest import HOME
from tests.studio.app.reviewing.conftest import Enter, MakeProject, Visitor

FORM_TYPE = "application/x-www-form-urlencoded"


@pytest.fixture
def project(make_project: MakeProject) -> ReviewProject:
    return make_project()


@pytest.fixture
def stranger(project: ReviewProject, collection: Collection) -> Visitor:
    return Visitor(make_review_app(collection, project), project)


@pytest.fixture
def ann(project: ReviewProject, enter: Enter) -> Visitor:
    return enter(project, "Ann")


def test_opening_a_link_uses_nothing_up_and_one_browser_keeps_it(
    stranger: Visitor, project: ReviewProject, collection: Collection
) -> None:
    token = project.people.invite("Ann")
    assert '<form method="post"><input' in stranger.get("/enter/%5Cqueue").text
    assert not server_of(stranger.client.app).config.proxy_headers
    for _ in range(3):
        assert "Open the review" in stranger.get(f"/enter/{token}").text
    cookies = stranger.enter(token).headers.get_list("set-cookie")
    (cookie,) = cookies
    assert {"httponly", "samesite=strict"} <= {part.strip().lower() for part in cookie.split(";")}
    assert token not in cookie
    assert stranger.get("/").status_code == 200
    thief = Visitor(make_review_app(collection, project), project)
    answer = thief.enter(token)
    assert (answer.status_code, "in use in another browser" in answer.text) == (403, True)
    assert thief.get("/").status_code == 401
    for path in (f"//enter/{token}", f"/Enter/{token}", f"/items/enter/{token}"):
        assert thief.client.get(f"{HOME}{path}").status_code in (401, 404)
    assert stranger.enter(token).status_code == 303


def test_a_forged_link_is_refused_with_one_clear_page(stranger: Visitor) -> None:
    for token in ("", "x", "A" * 32, "..%2f..%2fpeople", "%00", "<script>", "A" * 5_000):
        answer = stranger.enter(token)
        assert answer.status_code in (403, 404)
        assert ("<main" in answer.text, "<script>" in answer.text) == (True, False)
        assert stranger.get("/").status_code == 401


def test_a_revoked_person_is_out_at_once(project: ReviewProject, ann: Visitor) -> None:
    assert ann.next() == "q0"
    form = {name: ann.hidden(name) for name in ("item", "nonce")} | {"csrf": ann.csrf, "decision": "unsure"}
    token = project.people.invite("Ann")
    assert ann.get("/").status_code == 401
    ann.enter(token)
    project.people.revoke("Ann")
    assert ann.get("/task?item=q0").status_code == 401
    assert ann.client.post("/decide", data=form).status_code == 401
    assert ann.enter(token).status_code == 403
    assert project.decisions() == []


def test_a_cookie_is_good_while_the_session_lasts_and_forged_ones_are_not(ann: Visitor) -> None:
    (name,) = ann.client.cookies
    cookie = ann.client.cookies[name]
    for forged in ("", "x", cookie[:-1], cookie + "x", cookie.swapcase(), "' OR 1=1 --"):
        other = TestClient(ann.client.app, HOME, headers={"cookie": f"{name}={forged}"})
        assert other.get("/").status_code == 401, forged
    ann.post("/leave")
    assert "You have left the review" in ann.page
    ann.client.cookies.set(name, cookie)
    assert ann.get("/").status_code == 401


def test_a_form_needs_the_token_of_the_session_and_to_be_sent_from_here(
    project: ReviewProject, ann: Visitor, enter: Enter
) -> None:
    eve = enter(project, "Eve")
    ann.next()
    form = {name: ann.hidden(name) for name in ("item", "nonce")} | {"decision": "unsure"}
    for token in ({}, {"csrf": ""}, {"csrf": eve.csrf}, {"csrf": "é"}, {"csrf": ann.csrf[:-1]}):
        assert ann.client.post("/decide", data=form | token).status_code == 403, token
    own = form | {"csrf": ann.csrf}
    origins = [{"origin": at} for at in ("https://evil.example", "null", "", "http://[", "http://127.0.0.1:8766")]
    for headers in (*origins, *({"sec-fetch-site": site} for site in ("cross-site", "same-site", "none"))):
        assert ann.client.post("/decide", data=own, headers=headers).status_code == 403, headers
    del ann.client.headers["origin"]
    assert ann.client.post("/decide", data=own).status_code == 403
    assert project.decisions() == []
    assert ann.client.post("/decide", data=own, headers={"sec-fetch-site": "same-origin"}).status_code == 303


def test_a_page_elsewhere_cannot_log_a_person_in(stranger: Visitor, project: ReviewProject) -> None:
    token = project.people.invite("Mallory")
    answer = stranger.client.post(f"/enter/{token}", data={"csrf": ""}, headers={"origin": "https://evil.example"})
    assert (answer.status_code, answer.headers.get("set-cookie")) == (403, None)


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"content-type": FORM_TYPE}, b"x=" + b"y" * LONGEST_FORM, 413),
        ({"content-type": FORM_TYPE, "content-length": "9" * 30}, b"x=y", 413),
        ({"content-type": "application/json"}, b"{}", 415),
        ({"content-type": "multipart/form-data; boundary=x"}, b"--x--", 415),
        ({"content-type": "text/plain"}, b"csrf=1", 415),
        ({}, b"x=y", 415),
        ({"content-type": FORM_TYPE, "transfer-encoding": "chunked"}, b"1\r\nx\r\n0\r\n\r\n", 411),
        ({"content-type": FORM_TYPE, "content-length": "-1"}, b"x=y", 411),
        ({"content-type": FORM_TYPE}, b"\xff\xfe=1", 400),
        ({"content-type": FORM_TYPE}, b"&".join([b"a=b"] * 2_001), 400),
    ],
)
def test_only_small_forms_are_read(ann: Visitor, headers: dict[str, str], body: bytes, status: int) -> None:
    assert ann.client.post("/next", content=body, headers=headers).status_code == status


def test_a_body_that_is_longer_than_it_says_is_cut_off(ann: Visitor) -> None:
    parts = (b"x" * 40_000 for _ in range(3))
    headers = {"content-type": FORM_TYPE, "content-length": "10"}
    request = ann.client.build_request("POST", "/next", content=parts, headers=headers)
    request.headers.pop("transfer-encoding", None)
    assert ann.client.send(request).status_code == 413


def test_other_methods_and_names_are_refused(ann: Visitor) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert ann.client.request(method, "/").status_code == 405
    assert ann.get("/decide").status_code == 405
    assert ann.post("/task").status_code == 405
    assert ann.client.get("/", headers={"host": "evil.example"}).status_code == 421
    headers = ann.client.get("/").headers
    assert (headers["referrer-policy"], headers["cache-control"]) == ("same-origin", "no-store")


def addresses(app: Any) -> list[tuple[str, str]]:
    """Every address of the app with each method, but the ones that need no session."""
    loaded = ("/healthz", "/app.css", "/app.js", "/icon.svg", "/review.js", "/review.css")
    return [
        (method, path.replace("{sha256}", "0" * 64))
        for path in app.paths
        if not path.endswith(loaded) and not path.startswith("/enter")
        for method in ("GET", "POST")
    ]


def test_nothing_answers_without_a_session(stranger: Visitor) -> None:
    every = addresses(stranger.client.app)
    assert len(every) > 20
    for method, path in every:
        answer = stranger.client.request(method, path, data={"csrf": ""} if method == "POST" else None)
        assert answer.status_code in (401, 405), (method, path)
        assert "q0" not in answer.text


def test_a_missing_database_is_not_described_to_strangers(stranger: Visitor, project: ReviewProject) -> None:
    project.database.path.unlink()  # by the name of the file: the writer still has it
    for path in ("/healthz", "/"):
        answer = stranger.get(path)
        assert (answer.status_code, answer.text) == (503, "the database of this review cannot be read\n")


@pytest.mark.parametrize("role", ["reviewer", "reader"])
def test_a_role_reaches_its_own_pages_and_no_others(project: ReviewProject, enter: Enter, role: Any) -> None:
    ann = enter(project, "Ann", role)
    token = ann.csrf
    closed = ["/overview", "/items/items.csv"]
    closed += ["/next", "/task", "/solve", "/decide"] if role == "reader" else ["/items/"]
    for path in closed:
        for method in ("GET", "POST"):
            sent = {"csrf": token, "name": "Ann", "role": "admin", "query": "", "item": "q0"}
            answer = ann.client.request(method, path, data=sent if method == "POST" else None)
            assert answer.status_code in (403, 405), (method, path)
    assert [one.role for one in project.people.rows()] == [role]


def test_items_of_others_stay_theirs(project: ReviewProject, ann: Visitor, enter: Enter) -> None:
    ben = enter(project, "Ben")
    assert (ann.next(), ben.next()) == ("q0", "q1")
    for item in ("q1", "q3", "q9", "", "-1", "9" * 40):
        form = {"item": item, "nonce": "n", "decision": "drop", "reason_text": "x"}
        assert ann.get(f"/task?item={item}").status_code in (400, 403), item
        assert "Which animal" not in ann.page
        for path in ("/decide", "/solve"):
            assert ann.post(path, form).status_code in (400, 403), (path, item)
    assert project.decisions() == []


def test_no_file_is_reached_by_its_path(project: ReviewProject, enter: Enter) -> None:
    boss = enter(project, "Boss", "admin")
    paths = ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/image/..%2f..%2freview.db", "/image/review.db"]
    paths += ["/static/app.js", "/review.db", "/items/../review.db", "/items/..%2freview.db", "/..%2fitems.csv"]
    for path in (*paths, "/templates/home.html.j2", "/thumbnail/%2fetc%2fpasswd"):
        answer = boss.client.get(path)
        assert (answer.status_code, b"SQLite" in answer.content) == (404, False), path


def test_golds_of_what_is_to_be_solved_are_nowhere(make_project: MakeProject, enter: Enter, zoo: Path) -> None:
    ann = enter(make_project(form=Form(solve=True)), "Ann")
    ann.next()
    sha256 = Benchmark(zoo / "bench")["q0"].images[0].sha256
    assert ann.client.get(f"/image/{sha256}").status_code == 200
    paths = ["/", "/task?item=q0", "/task?item=q0&item=q1", "/items/?item=q0", "/items/?gold=A"]
    paths += ["/items/items.csv", "/overview", "/image/q0"]
    for path in (*paths, "/task?item=q0&solve=1"):
        page = ann.client.get(path).text
        assert not re.search(r'class="gold"|>gold<|tone-|"?gold"?,|Verdicts|name="edit_', page), path


QUERIES = (
    *("answer=right:a@image", "answer=refused", "verdict=drop", "stage=one", "finding=x", "sort=difficulty"),
    *("sort=-gold", "sort=blind_right", "sort=doubt", "sort=verdict", "tag.task=birds", "sort=tag.task"),
)


def test_a_reader_is_refused_what_would_reveal_a_gold(project: ReviewProject, enter: Enter) -> None:
    reader = enter(project, "Rita", "reader")
    for query in QUERIES:
        for path in (f"/items/?{query}", f"/items/?{query}&item=q0"):
            answer = reader.get(path)
            assert (answer.status_code, "golds, which are left out" in answer.text) == (400, True), path


def test_a_reader_looks_at_items_without_golds(project: ReviewProject, enter: Enter) -> None:
    reader = enter(project, "Rita", "reader")
    assert "To the items" in reader.get("/").text
    pages = [reader.get(path).text for path in ("/items/", "/items/?text=whale&sort=-id", "/items/?item=q0")]
    for page in pages:
        assert not re.search(r'class="gold"|>gold<|tone-(right|wrong)|% right|difficulty|Accuracy|birds', page)
    assert re.findall(r'data-id="(q\d)"', pages[1]) == [f"q{number}" for number in range(5, -1, -1)]
    assert "Red kite" in pages[2]
    assert reader.get("/items/?page=" + "9" * 5_000).status_code == 400


def test_too_many_calls_are_refused_for_a_while(make_project: MakeProject, enter: Enter) -> None:
    project = make_project()
    ann = enter(project, "Ann", limits=CallLimits(session=5, address=4))
    assert [ann.client.get("/").status_code for _ in range(7)] == [200] * 5 + [429] * 2
    other = Visitor(ann.client.app, project, "10.0.0.9")
    assert [other.client.get("/").status_code for _ in range(6)] == [401] * 4 + [429] * 2


def test_after_many_wrong_links_an_address_has_to_wait(make_project: MakeProject, collection: Collection) -> None:
    project = make_project()
    app = make_review_app(collection, project, limits=CallLimits(failed_entries=3))
    guesser, other = Visitor(app, project, "10.0.0.9"), Visitor(app, project, "10.0.0.10")
    assert [guesser.enter(f"guess{number}").status_code for number in range(5)] == [403, 403, 403, 429, 429]
    token = project.people.invite("Ann")
    assert guesser.enter(token).status_code == 429
    assert other.enter(token).status_code == 303
