"""Reverse proxies as processes: one of aiohttp, which removes its prefix, and nginx as documented, which does not."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tests.conftest import ROOT
from tests.docs.pages import blocks

PREFIX = "/lab/eyes"
_DROPPED = {"host", "connection", "transfer-encoding", "content-length", "content-encoding", "keep-alive"}
_NGINX = """
daemon off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off; client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
  uwsgi_temp_path {folder}; scgi_temp_path {folder};
  server {{
    listen 127.0.0.1:{port};
    {location}
  }}
}}
"""


def free_port() -> int:
    """A port that no other process listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def proxied(kind: str, folder: Path, to: int) -> Iterator[str]:
    """The address of a proxy before a port of this machine; everything outside the prefix is not found."""
    port, command = free_port(), [sys.executable, "-m", "tests.support.proxy"]
    if kind == "nginx":
        if (program := shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")) is None:
            pytest.skip("nginx is not installed")
        location = blocks("serving.md", "nginx")[0].replace("8765", str(to)).replace("/eyes/", f"{PREFIX}/")
        (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, port=port, location=location))
        command = [program, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")]
    else:
        command += [str(port), str(to)]
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
    try:
        wait_for(port)
        yield f"http://127.0.0.1:{port}{PREFIX}"
    finally:
        process.terminate()
        process.wait()


def wait_for(port: int, seconds: int = 60) -> None:
    """Return once a server listens."""
    for _ in range(20 * seconds):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"no server listens on {port}")


def _app(to: int) -> web.Application:
    async def passed_on(request: web.Request) -> web.Response:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _DROPPED}
        headers["X-Forwarded-For"] = str(request.remote)
        rest = request.path_qs.removeprefix(PREFIX)
        async with (
            aiohttp.ClientSession(auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.request(
                request.method,
                f"http://127.0.0.1:{to}{rest}",
                headers=headers,
                data=await request.read() or None,
                allow_redirects=False,
            ) as answer,
        ):
            kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in _DROPPED]
            response = web.Response(status=answer.status, body=await answer.read())
            response.headers.clear()
            for name, value in kept:
                response.headers.add(name, value)
            return response

    app = web.Application()
    app.router.add_route("*", f"{PREFIX}/{{rest:.*}}", passed_on)
    return app


if __name__ == "__main__":
    web.run_app(_app(int(sys.argv[2])), host="127.0.0.1", port=int(sys.argv[1]), print=None)
