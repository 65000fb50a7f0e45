"""A Label Studio server of our own, and people who use it through its API."""

import http.cookiejar
import json
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.conftest import ROOT

_PROGRAM = ROOT / ".venv-label-studio" / "bin" / "label-studio"
_OWNER, _PASSWORD, _TOKEN = "owner@example.org", "a long-Pass-word 1", "0123456789abcdef" * 2 + "01234567"
_PATIENCE = 600.0
"""Seconds until a server that does not answer fails a test; a new one lays out its database first."""


class Studio:
    """Calls of one person."""

    def __init__(self, address: str, token: str) -> None:
        self.address, self._token = address, token

    def call(self, method: str, path: str, body: Any = None) -> Any:
        return json.loads(self.fetch(method, path, body) or b"null")

    def fetch(self, method: str, path: str, body: Any = None) -> bytes:
        head = {"Authorization": f"Token {self._token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, head, method=method)
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
                content: bytes = answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read()[:2_000]!r}") from None
        return content

    def project(self, title: str, config: Path, tasks: Path, annotators: int = 1) -> int:
        about = {"title": title, "label_config": config.read_text(), "maximum_annotations": annotators}
        number: int = self.call("POST", "/api/projects", about)["id"]
        content = json.loads(tasks.read_bytes())
        stated = self.call("POST", f"/api/projects/{number}/import", content)
        assert stated["task_count"] == len(content)
        return number

    def tasks(self, project: int) -> dict[str, int]:
        """The tasks of a project by the item that each is about."""
        rows = self.call("GET", f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true")
        return {row["data"]["eyetest"]["item"]: row["id"] for row in rows}

    def export(self, project: int, to: Path) -> Path:
        """What the server exports of a project, in a file."""
        to.write_bytes(self.fetch("GET", f"/api/projects/{project}/export?exportType=JSON"))
        return to

    def sign_up(self, email: str) -> "Studio":
        """A person new, who makes an account on the page for that."""
        jar = http.cookiejar.CookieJar()
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
        browser.open(f"{self.address}/user/signup/")
        secret = next(cookie.value for cookie in jar if cookie.name == "csrftoken") or ""
        form = {"csrfmiddlewaretoken": secret, "email": email, "password": _PASSWORD, "allow_newsletters": "false"}
        browser.open(f"{self.address}/user/signup/", urlencode(form).encode())
        with browser.open(f"{self.address}/api/current-user/token") as answer:
            return Studio(self.address, json.loads(answer.read())["token"])


@contextmanager
def label_studio(folder: Path) -> Iterator[Studio]:
    """A server with an empty database, and its owner."""
    if not _PROGRAM.exists():
        pytest.skip("no Label Studio is installed; `make label-studio` makes an environment with one")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    switches = {"LOCAL_FILES_SERVING_ENABLED": "true", "ALLOW_IMPORT_TASKS_WITH_UNKNOWN_EMAILS": "true"}
    quiet = {"COLLECT_ANALYTICS": "false", "LATEST_VERSION_CHECK": "false", "BASE_DATA_DIR": str(folder / "data")}
    environment = {f"LABEL_STUDIO_{name}": value for name, value in (switches | quiet).items()}
    command = [str(_PROGRAM), "start", "--no-browser", "--host", address, "--port", str(port)]
    command += ["--internal-host", "127.0.0.1", "--username", _OWNER, "--password", _PASSWORD]
    command += ["--user-token", _TOKEN, "--enable-legacy-api-token"]
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=os.environ | environment)
    try:
        _wait_for(address, server, folder / "server.log")
        yield Studio(address, _TOKEN)
    finally:
        server.terminate()
        server.wait(60)


def _wait_for(address: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while server.poll() is None and time.monotonic() < until:
        try:
            urllib.request.urlopen(f"{address}/version", timeout=10).close()
        except OSError:
            time.sleep(1)
        else:
            return
    raise AssertionError(log.read_text()[-3_000:])
