"""A stand-in of the hub: the part of its HTTP interface that huggingface_hub and datasets use, on a real socket."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

TOKEN = "hf_" + "standInToken0123456789"
_REPO = r"([\w.-]+/[\w.-]+)"


class Repo:
    """A dataset: files of each commit, newest last."""

    def __init__(self, files: dict[str, bytes], *, private: bool = False, gated: bool = False) -> None:
        self.commits: list[dict[str, bytes]] = [files]
        self.private, self.gated = private, gated

    @property
    def files(self) -> dict[str, bytes]:
        return self.commits[-1]

    def sha(self, number: int = -1) -> str:
        content = [(name, hashlib.sha1(data).hexdigest()) for name, data in sorted(self.commits[number].items())]
        return hashlib.sha1(repr((len(self.commits[:number]), content)).encode()).hexdigest()

    def at(self, revision: str) -> dict[str, bytes] | None:
        if revision == "main":
            return self.files
        found = [files for number, files in enumerate(self.commits) if self.sha(number) == revision]
        return found[0] if found else None


class StandIn(ThreadingHTTPServer):
    """The hub: its datasets, the large files that were uploaded, and the requests that it got."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repos: dict[str, Repo] = {}
        self.large: dict[str, bytes] = {}
        self.requests: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def stand_in() -> Iterator[StandIn]:
    """A running stand-in without datasets."""
    server = StandIn()
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: StandIn
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        if self.headers.get("transfer-encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        path = unquote(urlsplit(self.path).path)
        self.server.requests.append(f"{self.command} {path}")
        for method, pattern, answer in _ROUTES:
            if method in (self.command, "*") and (match := re.fullmatch(pattern, path)):
                answer(self, match, body)
                return
        self.fail(404, "EntryNotFound", path)

    do_HEAD = do_POST = do_PUT = do_GET

    def send(self, data: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def json(self, value: Any, status: int = 200, **headers: str) -> None:
        self.send(json.dumps(value).encode(), status, Content_Type="application/json", **headers)

    def fail(self, status: int, code: str, message: str) -> None:
        self.json({"error": message}, status, X_Error_Code=code, X_Error_Message=message)

    @property
    def knows(self) -> bool:
        return self.headers.get("authorization") == f"Bearer {TOKEN}"

    def repo(self, name: str) -> Repo | None:
        repo = self.server.repos.get(name)
        if repo is None or (repo.private and not self.knows):
            self.fail(404 if self.knows else 401, "RepoNotFound", "Repository not found")
            return None
        return repo

    def info(self, match: re.Match[str], body: bytes) -> None:
        if (repo := self.repo(match[1])) is None:
            return
        files = repo.at(match[2] or "main")
        if files is None:
            self.fail(404, "RevisionNotFound", f"Invalid rev id: {match[2]}")
            return
        card = files.get("README.md", b"").decode().split("---\n")
        about = {"id": match[1], "sha": repo.sha(repo.commits.index(files)), "private": repo.private}
        about |= {"gated": "auto" if repo.gated else False, "disabled": False, "downloads": 0, "likes": 0, "tags": []}
        about |= {"siblings": [{"rfilename": name} for name in files]}
        self.json(about | ({"cardData": yaml.safe_load(card[1])} if len(card) > 2 else {}))

    def listed(self, files: dict[str, bytes]) -> None:
        rows = [{"type": "file", "path": name, "size": len(data), "oid": _oid(data)} for name, data in files.items()]
        self.json(rows)

    def tree(self, match: re.Match[str], body: bytes) -> None:
        if (repo := self.repo(match[1])) is None:
            return
        files, under = repo.at(match[2]) or {}, (match[3] or "").strip("/")
        inside = {name: data for name, data in files.items() if not under or name.startswith(f"{under}/")}
        self.listed(inside)

    def paths(self, match: re.Match[str], body: bytes) -> None:
        if (repo := self.repo(match[1])) is None:
            return
        files = repo.at(match[2]) or {}
        asked = json.loads(body)["paths"] if body.startswith(b"{") else re.findall(r"paths=([^&]*)", body.decode())
        self.listed({name: files[name] for name in map(unquote, asked) if name in files})

    def resolve(self, match: re.Match[str], body: bytes) -> None:
        if (repo := self.repo(match[1])) is None:
            return
        files = repo.at(match[2])
        if repo.gated:
            self.fail(403 if self.knows else 401, "GatedRepo", "Access to this dataset is restricted")
        elif files is None or match[3] not in files:
            self.fail(404, "EntryNotFound" if files else "RevisionNotFound", "Entry not found")
        else:
            data, commit = files[match[3]], repo.sha(repo.commits.index(files))
            begin, end = (
                re.findall(r"\d+", self.headers.get("range") or "0-0") if self.headers.get("range") else (0, "")
            )
            part = data[int(begin) : int(end) + 1 if end else None]
            self.send(part, 206 if self.headers.get("range") else 200, ETag=f'"{_oid(data)}"', X_Repo_Commit=commit)

    def create(self, match: re.Match[str], body: bytes) -> None:
        wanted = json.loads(body)
        if not self.knows:
            self.fail(401, "", "Invalid username or password.")
            return
        private = bool(wanted.get("private")) or wanted.get("visibility") == "private"
        name = f"{wanted['organization']}/{wanted['name']}" if wanted.get("organization") else f"me/{wanted['name']}"
        self.server.repos[name] = Repo({".gitattributes": b"*.parquet filter=lfs\n"}, private=private)
        self.json({"url": f"{self.server.address}/datasets/{name}"})

    def preupload(self, match: re.Match[str], body: bytes) -> None:
        modes = [
            {"path": file["path"], "uploadMode": "lfs" if file["path"].endswith(".parquet") else "regular"}
            for file in json.loads(body)["files"]
        ]
        self.json({"files": [mode | {"shouldIgnore": False} for mode in modes]})

    def batch(self, match: re.Match[str], body: bytes) -> None:
        objects = [
            one | {"actions": {"upload": {"href": f"{self.server.address}/large/{one['oid']}"}}}
            for one in json.loads(body)["objects"]
        ]
        self.json({"transfer": "basic", "objects": objects})

    def store(self, match: re.Match[str], body: bytes) -> None:
        assert hashlib.sha256(body).hexdigest() == match[1]
        self.server.large[match[1]] = body
        self.send(b"")

    def commit(self, match: re.Match[str], body: bytes) -> None:
        if (repo := self.repo(match[1])) is None:
            return
        if not self.knows:
            self.fail(403, "", "You don't have the right to push here")
            return
        files = dict(repo.files)
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.server.large[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        repo.commits.append(files)
        at = f"{self.server.address}/datasets/{match[1]}/commit/{repo.sha()}"
        self.json({"success": True, "commitUrl": at, "commitOid": repo.sha(), "hookOutput": ""})

    def fine(self, match: re.Match[str], body: bytes) -> None:
        self.json({"errors": [], "warnings": []})


def _oid(data: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


_ROUTES: list[tuple[str, str, Callable[[_Handler, re.Match[str], bytes], None]]] = [
    ("GET", rf"/api/datasets/{_REPO}(?:/revision/([^/]+))?", _Handler.info),
    ("GET", rf"/api/datasets/{_REPO}/tree/([^/]+)(/.*)?", _Handler.tree),
    ("POST", rf"/api/datasets/{_REPO}/paths-info/([^/]+)", _Handler.paths),
    ("*", rf"/datasets/{_REPO}/resolve/([^/]+)/(.+)", _Handler.resolve),
    ("POST", r"/api/repos/create", _Handler.create),
    ("POST", rf"/api/datasets/{_REPO}/preupload/([^/]+)", _Handler.preupload),
    ("POST", rf"/datasets/{_REPO}\.git/info/lfs/objects/batch", _Handler.batch),
    ("PUT", r"/large/(\w+)", _Handler.store),
    ("POST", rf"/api/datasets/{_REPO}/commit/([^/]+)", _Handler.commit),
    ("POST", r"/api/validate-yaml", _Handler.fine),
]
