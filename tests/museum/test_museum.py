"""Every exhibit still shows its mechanism, and eyetest does what the page says."""

import pytest

from tests.museum.exhibit import Exhibit, by_rules
from tests.museum.page import PAGE, RULES_OF, page
from tests.museum.readings import READINGS
from tests.museum.scorings import SCORINGS
from tests.museum.variants import VARIANTS

EXHIBITS = (*READINGS, *SCORINGS)


@pytest.mark.parametrize("one", EXHIBITS, ids=lambda one: one.name)
def test_the_tool_is_wrong_and_eyetest_is_not(one: Exhibit) -> None:
    """… but for the faults of ours that the page names; whoever repairs one takes its word back."""
    assert one.tool() != one.right
    if one in READINGS and one.honest:
        assert one.eyetest() != one.right
    else:
        assert one.eyetest() == one.right


def test_there_are_as_many_as_promised() -> None:
    assert len({one.name for one in EXHIBITS}) >= 15
    assert {*RULES_OF} <= {one.repository for one in EXHIBITS}


@pytest.mark.parametrize(("reply", "right", "options"), VARIANTS, ids=[case[0][:30] for case in VARIANTS])
def test_further_replies_are_read_right_but_for_those_on_the_page(
    reply: str, right: str, options: tuple[str, ...]
) -> None:
    known = {one.case for one in READINGS if one.honest}
    assert (by_rules("eyetest", reply, options) == right) != (reply in known)


def test_the_page_is_made_of_the_exhibits() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m tests.museum.page"
