"""eyetest does what the page says of each public bug."""

import pytest

from tests.museum.page import CASES, OURS, PAGE, Case, page, read


@pytest.mark.parametrize("case", CASES.readings, ids=lambda case: case.thread)
def test_a_reply_is_read_right_but_for_the_faults_that_the_page_names(case: Case) -> None:
    assert case.tool != case.right
    assert (read(case) == case.right) != bool(case.honest)


@pytest.mark.parametrize("case", CASES.scorings, ids=lambda case: case.thread)
def test_a_case_is_counted_right(case: Case) -> None:
    assert case.tool != case.right == OURS[case.thread]()


@pytest.mark.parametrize("case", CASES.variants, ids=lambda case: case.case[:30])
def test_further_replies_are_read_right_but_for_those_on_the_page(case: Case) -> None:
    known = {reading.case for reading in CASES.readings if reading.honest}
    assert (read(case) == case.right) != (case.case in known)


def test_the_page_is_made_of_the_cases() -> None:
    assert PAGE.read_text("utf-8") == page(), "run python -m tests.museum.page"
