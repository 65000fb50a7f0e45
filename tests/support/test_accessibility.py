"""What the look for barriers finds: colours of the dark alone, too."""

from pathlib import Path

import pytest

from tests.support.accessibility import check_accessible
from tests.support.browser import Browser

PAGE = """<!doctype html><html lang="en"><head>
<meta name="viewport" content="width=device-width"><title>t</title><style>
body { color: #000; background: #fff }
@media (prefers-color-scheme: dark) { body { color: COLOUR; background: #000 } }
</style></head><body><main><h1>Words</h1><p>that somebody reads</p></main></body></html>"""


def test_colours_of_the_dark_are_looked_at(browser: Browser, tmp_path: Path) -> None:
    for colour in ("#fff", "#111"):
        (tmp_path / f"{colour[1:]}.html").write_text(PAGE.replace("COLOUR", colour))
    check_accessible(browser, tmp_path / "fff.html")
    with pytest.raises(AssertionError, match=r"dark, .*color-contrast"):
        check_accessible(browser, tmp_path / "111.html")
