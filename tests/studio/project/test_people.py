"""Links and sessions: one browser a link, nothing forged, nothing old, and of secrets only hashes on disk."""

import os
import stat
from pathlib import Path

import pytest

from eyetest.errors import Forbidden, InputError
from eyetest.studio.database import SESSION, VALID
from tests.studio.project.reviews import begin, people, plan_of, say, take


def test_a_link_opens_in_one_browser(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(1))
    token = project.people.invite("ann")
    first = project.people.enter(token, None)
    assert (first.person.name, first.person.role) == ("ann", "reviewer")
    assert project.people.enter(project.people.invite("planted"), "brought along").cookie != "brought along"
    again = project.people.enter(token, first.cookie)
    assert again.cookie != first.cookie
    for cookie in (None, "another", first.cookie):
        with pytest.raises(Forbidden, match="in use in another browser"):
            project.people.enter(token, cookie)
    assert project.people.session(first.cookie) is None
    assert project.people.session(again.cookie) == again
    assert again.csrf != first.csrf


def test_invited_again_the_old_link_and_session_are_dead(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(1))
    token = project.people.invite("ann")
    entered = project.people.enter(token, None)
    newer = project.people.invite("ann", "admin")
    assert project.people.session(entered.cookie) is None
    with pytest.raises(Forbidden, match="not valid"):
        project.people.enter(token, entered.cookie)
    assert project.people.enter(newer, None).person.role == "admin"
    assert [row.name for row in project.people.rows()] == ["ann"]


def test_a_session_and_a_link_end(tmp_path: Path) -> None:
    project, clock = begin(tmp_path, plan_of(1))
    token = project.people.invite("ann")
    clock.now += VALID
    cookie = project.people.enter(token, None).cookie
    clock.now += 1
    with pytest.raises(Forbidden, match="too old"):
        project.people.enter(token, cookie)
    for later, is_open in ((SESSION - 1, True), (1, False)):
        clock.now += later
        assert (project.people.session(cookie) is not None) is is_open


def test_who_is_revoked_is_out_and_what_they_held_is_free(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(1))
    token = project.people.invite("ann")
    entered = project.people.enter(token, None)
    ann = entered.person
    say(project, ann, take(project, ann))
    held = take(project, ann)
    project.people.revoke("ann")
    assert project.people.session(entered.cookie) is None
    with pytest.raises(Forbidden, match="not valid"):
        project.people.enter(token, entered.cookie)
    with pytest.raises(Forbidden, match="was withdrawn"):
        project.next_task(ann)
    with pytest.raises(Forbidden, match="was withdrawn"):
        say(project, ann, held)
    (bob,) = people(project, "bob")
    assert take(project, bob).item == held.item
    assert [one.reviewer for one in project.decisions()] == ["ann"]
    assert [(row.name, row.revoked, row.waiting) for row in project.people.rows()] == [
        ("ann", True, 0),
        ("bob", False, 2),
    ]
    project.people.invite("ann")
    assert project.people.rows()[0].revoked is False


def test_names_and_roles_that_make_no_sense(tmp_path: Path) -> None:
    project, _ = begin(tmp_path, plan_of(1))
    for name in ("", "  ", "x" * 61, "a\nb", "a\x00"):
        with pytest.raises(InputError, match="name: found"):
            project.people.invite(name)
    with pytest.raises(InputError, match='did you mean "admin"'):
        project.people.invite("ann", "admn")
    project.people.invite("Ann Sørensen")
    with pytest.raises(InputError, match='did you mean "Ann Sørensen"'):
        project.people.revoke("Ann Sorensen")


def test_no_secret_is_on_disk_and_hashes_of_links_and_cookies_are_for_the_owner_of_the_file(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        project, _ = begin(tmp_path / "r", plan_of(1))
        token = project.people.invite("ann")
        entered = project.people.enter(token, None)
        files = list(project.folder.iterdir())
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    finally:
        os.umask(mask)
    stored = b"".join(path.read_bytes() for path in files)
    assert b"ann" in stored
    for secret in (token, entered.cookie, entered.csrf):
        assert secret.encode() not in stored


def test_what_waits_for_a_person_counts_each_item_once(tmp_path: Path) -> None:
    """Six items with two reviewers each are twelve decisions, of which one person can make six."""
    project, _ = begin(tmp_path / "r", plan_of(2), items=6)
    ann, bob = people(project, "ann", "bob")
    for done in range(6):
        assert project.people.rows()[0].waiting == 6 - done
        task = take(project, ann)
        assert project.people.rows()[0].waiting == 6 - done
        say(project, ann, task)
    assert [(row.decided, row.waiting) for row in project.people.rows()] == [(6, 0), (0, 6)]
    assert project.next_task(ann) is None
    assert take(project, bob).item
