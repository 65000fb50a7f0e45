"""Running a review: its overview, a full disk, and words that attack."""

import re

import pytest

from eyetest.studio.app.listing import Address
from eyetest.studio.collection import Collection
from eyetest.studio.forms import Form, FormField
from eyetest.studio.project import ReviewProject
from tests.reports.pages import HOSTILE, Tags
from tests.studio.app.reviewing.conftest import Enter, MakeProject, Visitor


@pytest.fixture
def decided(make_project: MakeProject, enter: Enter) -> ReviewProject:
    """Two people decided about four items each, of which they see two differently; Eve settled one."""
    project = make_project(reviewers=2)
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


def test_the_overview_counts_outcomes_decisions_and_agreement(decided: ReviewProject, enter: Enter) -> None:
    page = enter(decided, "Boss", "admin").get("/overview").text
    words = " ".join(" ".join(Tags(page).words).split()).lower()
    for stated in ("3 of 6 items settled", "eve's own", "unclear", "observed all 0.50", "cohen ann, ben – 4"):
        assert stated in words, stated
    bars = re.findall(r'<span class="badge (\w+)">\w+</span></span>.*?<span class="count">(\d+)</span>', page)
    assert dict(bars) == {"review": "3", "drop": "2", "keep": "1"}
    rows = re.findall(r'<tr><td>([\w, ]+)</td><td class="right">(\d+)</td><td class="right">(\d+)</td></tr>', page)
    assert rows == [("reviewers", "8", "4"), ("admins, about disagreements", "1", "1")]


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
    project = make_project(ids, name=HOSTILE[0], reviewers=2, form=form)
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
    pages = [boss.get(path).text for path in ("/", "/overview", "/items/")]
    pages.append(boss.get("/items/" + Address(item=given[0].item).href).text)
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
