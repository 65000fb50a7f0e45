"""A browser, where one is installed."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.reports.pages import Browse
from tests.support.browser import find_chromium

OWN_HOSTS = re.compile(r"https?://([\w-]+\.)*(google\.com|googleapis\.com|gvt1\.com|gstatic\.com)/")
"""Where Chromium itself calls, whatever page it shows."""


@pytest.fixture
def browse(tmp_path: Path) -> Browse:
    """Open a page in Chromium: its document, what it said on the console, and the addresses it asked for.

    A page is named by its file, or by an address, whose scripts get a while to draw it.
    """
    chromium = find_chromium()

    def browse(page: Path | str) -> tuple[str, list[str], list[str]]:
        log = tmp_path / "asked.netlog"
        address = page if isinstance(page, str) else page.as_uri()
        switches = (
            "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
            "--disable-component-update --disable-sync --enable-logging=stderr --v=0 --dump-dom"
        )
        command = [chromium, *switches.split(), f"--log-net-log={log}", f"--user-data-dir={tmp_path / 'profile'}"]
        command += ["--virtual-time-budget=5000"] if isinstance(page, str) else []
        done = subprocess.run([*command, address], capture_output=True, text=True, timeout=60, check=True)
        said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        asked = re.findall(r'"url":"((?:https?|wss?|ftp)://[^"]*)', log.read_text(errors="replace"))
        return done.stdout, said, [url for url in asked if not OWN_HOSTS.match(url)]

    return browse
