"""A server of pages with bounds on its connections."""

import re
import socket
from asyncio import Transport
from collections.abc import Sequence
from ipaddress import ip_network
from typing import NamedTuple
from urllib.parse import urlsplit

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from eyetest.errors import InputError, heading, short
from eyetest.pages.item_links import HOST, PORT, read_web_address

LONGEST_ADDRESS = 64 * 2**10  # bytes: a link may name some thousand items
_WAITING, _CONNECTIONS, _SECONDS_TO_CALL = 64, 256, 30.0
_DEFAULT_PORTS = {"http": 80, "https": 443}  # browsers leave them out
_PLAIN_PATH = re.compile(r"(/[\w~-][\w.~-]*)*", re.ASCII)


class Front(NamedTuple):
    """How browsers reach a server: the host it listens on and, behind a reverse proxy, its public address."""

    host: str = HOST
    public: str = ""  # without a trailing slash

    @property
    def root(self) -> str:
        """The path of the home page: ``/``, or that of the public address."""
        return f"{urlsplit(self.public).path}/"

    @property
    def origin(self) -> str:
        """What browsers state as the origin of pages at the public address."""
        parts = urlsplit(self.public)
        if not parts.hostname:
            return ""
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        port = "" if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
        return f"{parts.scheme}://{host}{port}"


LOCAL = Front()


def read_front(host: str, public: str | None, proxies: Sequence[str]) -> Front:
    """The front of a server, checked together with the addresses of its proxies."""
    for proxy in proxies:
        try:
            ip_network(proxy)
        except ValueError:
            expected = "an address or network, such as 10.0.0.7 or 10.0.0.0/24"
            raise InputError(f"{heading('proxy')}: found {short(proxy)}, expected {expected}") from None
    if public is None:
        return Front(host)
    expected = "http or https, a host and a plain path"
    front = Front(host, read_web_address(public, "public", expected))
    if not _PLAIN_PATH.fullmatch(front.root.rstrip("/")):
        raise InputError(f"{heading('public')}: found {short(public)}, expected {expected}")
    return front


def listen(host: str, port: int | None) -> tuple[socket.socket, str]:
    """Listen on a port of this machine (0: any), else on the usual one, or any if it is taken; with its address."""
    try:
        family, kind, protocol, _, at = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise InputError(f"{heading('address')}: this machine has no name or address {short(host)}") from None
    for number in (PORT, 0) if port is None else (port,):
        taken = socket.socket(family, kind, protocol)  # without its protocol every answer would wait 40 ms (Nagle)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((at[0], number, *at[2:]))
            taken.listen(_WAITING)
        except OSError as error:
            taken.close()
            problem = error.strerror
        else:
            name = f"[{host}]" if ":" in host else host
            return taken, f"http://{name}:{taken.getsockname()[1]}"
    raise InputError(f"{heading('address')}: cannot listen on {host}:{port}: {problem}")


class BoundedConnection(H11Protocol):
    """A connection that is closed when its client waits too long, or waits while others need the slot."""

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Take a slot; if none is left, close the connection that waits longest."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._close_if_waiting()
        others = [one for one in self.connections if isinstance(one, BoundedConnection) and one is not self]
        if len(others) >= _CONNECTIONS and (waiting := [one for one in others if one.is_waiting]):
            oldest = min(waiting, key=lambda one: one._since)
            self.connections.discard(oldest)
            oldest.transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer."""
        self._timer.cancel()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Restart the timer."""
        self._since = self.loop.time()
        super().on_response_complete()

    @property
    def is_waiting(self) -> bool:
        """Whether the client has to act next: send a request or the rest of a form, or read a response."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused

    def _close_if_waiting(self) -> None:
        self._timer = self.loop.call_later(_SECONDS_TO_CALL, self._close_if_waiting)
        if self.is_waiting and self.loop.time() - self._since >= _SECONDS_TO_CALL:
            self.transport.abort()


def server_of(app: ASGIApp, proxies: Sequence[str] = ()) -> uvicorn.Server:
    """The server of an app, with the connection limits; its ``run`` serves until the process is interrupted.

    ``X-Forwarded-For`` and ``X-Forwarded-Proto`` count only where one of ``proxies`` sends them.
    """
    config = uvicorn.Config(
        app,
        http=BoundedConnection,
        log_level="critical",
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        h11_max_incomplete_event_size=2 * LONGEST_ADDRESS,
        limit_concurrency=2 * _CONNECTIONS,
        timeout_keep_alive=15,
    )
    return uvicorn.Server(config)
