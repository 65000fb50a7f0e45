"""Running a review: numbers that lead to what they count, people, more items; and words that attack."""

import re
from html import unescape

import pytest

from eyetest.studio.app.listing import Address
from eyetest.studio.collection import Collection
from eyetest.studio.decisions import Round
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
            who.decide(word, reason="unclear", **(image if word == "keep" else {}))
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
    for stated in ("cohen", "fleiss", "krippendorff", "unclear", "eve's own", "image", "disputed"):
        assert stated in words, stated
    values = [row["agreement"] for row in decided.overview().agreement]
    assert any(f"{value:.2f}" in words for value in values if value is not None)


def test_an_unknown_filter_of_decisions_is_refused(decided: ReviewProject, enter: Enter) -> None:
    boss = enter(decided, "Boss", "admin")
    assert shown(boss.get("/decisions?person=Ann&decision=drop").text) == 2
    assert shown(boss.get("/decisions?label.image=yes").text) == 2
    assert shown(boss.get("/decisions?state=disputed").text) == 1
    assert "No item matches" in boss.get("/decisions?person=None").text
    answer = boss.get("/decisions?pers=Ann")
    assert (answer.status_code, "did you mean" in answer.text) == (400, True)


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


def test_nothing_that_people_write_becomes_part_of_a_page(attacked: tuple[Visitor, Visitor]) -> None:
    boss, eve = attacked
    project = boss.project
    given = project.decisions()
    assert len(given) == 2 * len(HOSTILE)
    assert {one.reviewer for one in given} == {HOSTILE[1], HOSTILE[2]}
    pages = [boss.get(path).text for path in ("/", "/overview", "/decisions", "/items/")]
    pages.append(boss.get("/items/" + Address(item=given[0].item).href).text)
    pages.append(boss.get("/decisions?reason=" + "%3Cscript%3E").text)
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
