"""Running a review: numbers that lead to what they count, people, the log, more items; and words that attack."""

import csv
import io
import re
from html import unescape
from pathlib import Path

import pytest

from eyetest.studio.app.listing import Address
from eyetest.studio.collection import Collection
from eyetest.studio.decisions import Round, read_decisions
from eyetest.studio.forms import Form, FormField
from eyetest.studio.project import ReviewProject
from tests.reports.pages import HOSTILE, Tags
from tests.studio.app.reviewing.conftest import FORM, Enter, MakeProject, Visitor, lines


@pytest.fixture
def decided(make_project: MakeProject, enter: Enter) -> ReviewProject:
    """Two people decided about four items each, of which they see two differently; Eve settled one."""
    project = make_project(rounds=(Round(number=1, reviewers=2, form=FORM),))
    ann, ben = enter(project, "Ann"), enter(project, "Ben")
    for who, words in ((ann, ("keep", "drop", "keep", "drop")), (ben, ("keep", "drop", "drop", "keep"))):
        who.next()
        for word in words:
            image = {"label_image": "yes" if word == "keep" and who is ann else "no"}
            who.decide(word, reason="unclear", seconds="20", **(image if word == "keep" else {}))
    eve = enter(project, "Eve", "admin")
    eve.next()
    eve.decide("drop", reason_text="Eve's own")
    return project


def shown(page: str) -> int:
    """How many items a page of decisions says it shows, and lists."""
    number = re.search(r'class="number">([\d,]+) items?<', page)
    assert number
    assert len(re.findall(r'<article class="panel judged">', page)) == int(number[1])
    return int(number[1])


def test_every_number_of_the_overview_leads_to_as_many_items(decided: ReviewProject, enter: Enter) -> None:
    boss = enter(decided, "Boss", "admin")
    page = boss.get("/overview").text
    assert "3 of 6 items settled" in page
    links = re.findall(r'<a class="state-link" href="(decisions[^"]*)"><b>(\d+)</b>', page)
    links += re.findall(r'<a href="(decisions\?(?:person|round)=[^"]*)">(\d+)</a>', page)
    links += re.findall(r'<li><a href="(decisions\?[^"]*)">.*?<span class="count">(\d+)</span>', page)
    assert len(links) >= 14
    for href, number in links:
        assert shown(boss.get("/" + unescape(href)).text) == int(number), href
    words = " ".join(" ".join(Tags(page).words).split()).lower()
    for stated in ("cohen", "fleiss", "krippendorff", "unclear", "eve's own", "20 s an item", "image", "disputed"):
        assert stated in words, stated
    values = [row["agreement"] for row in decided.overview().agreement]
    assert any(f"{value:.2f}" in words for value in values if value is not None)


def test_a_filter_of_decisions_that_nobody_knows_is_told(decided: ReviewProject, enter: Enter) -> None:
    boss = enter(decided, "Boss", "admin")
    assert shown(boss.get("/decisions?person=Ann&decision=drop").text) == 2
    assert shown(boss.get("/decisions?label.image=yes").text) == 2
    assert shown(boss.get("/decisions?state=disputed").text) == 1
    assert "No item matches" in boss.get("/decisions?person=Nobody").text
    answer = boss.get("/decisions?pers=Ann")
    assert (answer.status_code, "did you mean" in answer.text) == (400, True)


def test_decisions_are_taken_along_as_refine_reads_them(decided: ReviewProject, enter: Enter, tmp_path: Path) -> None:
    boss = enter(decided, "Boss", "admin")
    answer = boss.get("/decisions.csv")
    assert 'filename="decisions.csv"' in answer.headers["content-disposition"]
    (tmp_path / "decisions.csv").write_bytes(answer.content)
    read = read_decisions(tmp_path / "decisions.csv")
    assert [one for some in read.values() for one in some if one.item == "q0"] == [
        one for one in decided.decisions() if one.item == "q0"
    ]
    assert len(list(csv.DictReader(io.StringIO(answer.text)))) == 9


def test_people_are_invited_with_a_link_that_is_shown_once(make_project: MakeProject, enter: Enter) -> None:
    project = make_project()
    boss = enter(project, "Boss", "admin")
    boss.post("/invite", {"name": " Zoë ", "role": "admin", "days": "3"})
    link = re.search(r'<code id="link">http://127\.0\.0\.1:8765(/enter/[\w-]+)</code>', boss.page)
    assert link
    assert link[1] not in boss.get("/people").text
    zoe = Visitor(boss.client.app, project)
    assert zoe.client.post(link[1], data={"csrf": ""}).status_code == 303
    assert "Zoë · admin" in zoe.get("/").text
    boss.post("/revoke", {"name": "Zoë"})
    assert "ended" in boss.page
    assert zoe.get("/").status_code == 401
    for wrong in ({"name": ""}, {"name": "x", "role": "king"}, {"name": "x", "days": "many"}, {"name": "Boss"}):
        assert boss.post("/invite", wrong).status_code == 400, wrong
    for wrong in ({"name": "Nobody"}, {"name": "Boss"}):
        assert boss.post("/revoke", wrong).status_code == 400, wrong
    assert {one.what for one in project.logged()} >= {"invited", "entered", "revoked", "refused"}
    assert "revoked" in boss.get("/log").text


def test_what_is_shown_or_selected_joins_the_queue(make_project: MakeProject, enter: Enter) -> None:
    project = make_project(("q0",))
    boss = enter(project, "Boss", "admin")
    page = boss.get("/items/?tag.task=birds").text
    assert '<input type="hidden" name="query" value="tag.task=birds" data-query>' in page
    boss.post("/queue", {"query": "tag.task=birds"})
    assert list(project.outcomes()) == ["q0", "q1"]
    boss.post("/queue", {"query": "id=q4&id=q1"})
    assert list(project.outcomes()) == ["q0", "q1", "q4"]
    assert boss.post("/queue").status_code == 400
    assert boss.post("/queue", {"query": "gold=Z"}).status_code == 400
    assert boss.post("/queue", {"query": "gald=A"}).status_code == 400
    assert [one.detail for one in project.logged() if one.what == "queued"] == ["1 of 2 items", "1 of 2 items"]


def test_on_a_full_disk_what_was_typed_is_kept(make_project: MakeProject, enter: Enter) -> None:
    project = make_project()
    ann = enter(project, "Ann")
    ann.next()
    with project.database.write() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
    project.database._writer.execute(f"PRAGMA max_page_count = {pages}")
    long = "My long thoughts. " * 500
    nonce = ann.hidden("nonce")
    answer = ann.decide("drop", reason_text="why not", comment=long)
    assert answer.status_code == 507
    assert "no space on the disk" in answer.text
    assert long.strip() in answer.text
    assert "\nwhy not</textarea>" in answer.text
    assert project.decisions() == []
    project.database._writer.execute("PRAGMA max_page_count = 100000")
    assert ann.hidden("nonce") == nonce
    ann.decide("drop", reason_text="why not", comment=long)
    assert [one.comment for one in project.decisions()] == [long.strip()]


@pytest.fixture
def attacked(hostile: Collection, make_project: MakeProject, enter: Enter) -> tuple[Visitor, Visitor]:
    """A review whose items, form, people and decisions are all attacks; an admin and an adjudicator in it."""
    fields = (
        FormField(name="kind", ask=HOSTILE[1], values=(HOSTILE[0], HOSTILE[2])),
        FormField(name="words", ask=HOSTILE[4], kind="text"),
    )
    form = Form(about=HOSTILE[5], fields=fields, reasons=HOSTILE[:3])
    ids = tuple(hostile.items.get_column("id"))
    project = make_project(ids, name=HOSTILE[0], rounds=(Round(number=1, reviewers=2, form=form),))
    for name, word in ((HOSTILE[1], "drop"), (HOSTILE[2], "fix")):
        who = enter(project, name, collection=hostile)
        who.next()
        for words in HOSTILE:
            labels = {"label_kind": HOSTILE[0], "label_words": words}
            edits = {"edit_question": words + "!", "edit_a": words, "edit_answer": "B", "edit_tags": f"kind={words}"}
            who.decide(word, reason_text=words, comment=words, **labels, **edits)
    eve = enter(project, HOSTILE[3], "admin", collection=hostile)
    boss = enter(project, HOSTILE[4][:60], "admin", collection=hostile)
    boss.get("/" + HOSTILE[0])
    return boss, eve


def test_nothing_that_anybody_says_becomes_part_of_a_page(attacked: tuple[Visitor, Visitor]) -> None:
    boss, eve = attacked
    project = boss.project
    given = project.decisions()
    assert len(given) == 2 * len(HOSTILE)
    assert {one.reviewer for one in given} == {HOSTILE[1], HOSTILE[2]}
    pages = [boss.get(path).text for path in ("/", "/overview", "/decisions", "/people", "/log", "/items/")]
    pages.append(boss.get("/items/" + Address(item=given[0].item).href).text)
    pages.append(boss.get("/decisions?reason=" + "%3Cscript%3E").text)
    pages.append(boss.post("/invite", {"name": '"><img src=x onerror=alert(1)> too'}).text)
    for words in HOSTILE:
        eve.next()
        pages.append(eve.page)
        pages.append(eve.decide("drop", comment=words, **{"label_words": words, "edit_question": words}).text)
        eve.decide("drop", reason_text=words, **{"label_kind": HOSTILE[2], "label_words": words})
        pages.append(eve.get("/").text)
    for page in map(Tags, pages):
        assert page.tags["script"] == len([one for one in page.values("src") if one.endswith(".js")]) <= 2
        assert not page.tags["iframe"] + page.tags["style"]
        assert page.tags["img"] == len(
            [one for one in page.values("src") if one.startswith(("image/", "thumbnail/"))]
        )
        assert not [name for name, _ in page.attributes if name.startswith("on") or name == "style"]
        assert not [link for link in page.values("href") + page.values("src") if ":" in link.split("?")[0]]
        assert not [to for to in page.values("action") if not re.fullmatch(r"(\.\./)?[a-z]*", to)]
    assert any("GET /<script>" in one.detail for one in lines(project))
