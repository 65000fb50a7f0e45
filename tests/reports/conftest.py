"""A browser, where one is installed."""

from pathlib import Path

import pytest

from tests.reports.pages import Browse
from tests.support.browser import Browser


@pytest.fixture
def browse(browser: Browser) -> Browse:
    """Open a page in Chromium: its document, what went wrong there, and the addresses it asked for.

    A page is named by its file, or by an address; what its scripts do is waited for by what is true once it is done.
    """

    def browse(page: Path | str, ready: str = "true") -> tuple[str, list[str], list[str]]:
        visitor = browser.visitor()
        visitor.goto(page)
        visitor.wait(ready)
        told = (
            visitor.html,
            visitor.errors,
            [url for url in visitor.requests if not url.startswith(("file:", "data:"))],
        )
        visitor.close()
        return told

    return browse
