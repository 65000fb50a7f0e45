"""How much work something is, in counts that no load on the machine changes."""

import sys
from collections.abc import Callable


def steps(work: Callable[[], object]) -> int:
    """Calls and returns of functions, those written in C among them, while something is done."""
    count = 0

    def tally(*_: object) -> None:
        nonlocal count
        count += 1

    before = sys.getprofile()
    sys.setprofile(tally)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count
