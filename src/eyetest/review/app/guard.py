"""Who may ask the server what: only this machine's own names, only to read or to send a small form.

A page on the web may make a browser call any address, also one of this machine, under a name of its own (DNS
rebinding). So the name that was called is checked; numbers cannot be rebound.
"""

from collections.abc import Callable
from ipaddress import ip_address
from socket import gethostname

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_ADDRESS = 64 * 2**10
"""In bytes: a link may name some thousand items."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
}
_READING = ("GET", "HEAD")
_WRITING = (*_READING, "POST")
LONGEST_FORM = 64 * 2**10
"""In bytes, of a form that is sent."""
_FORM = "application/x-www-form-urlencoded"


class RequestGuard:
    """Stands before the pages, refuses what nobody here would ask, and says what a browser may do with an answer."""

    def __init__(self, app: ASGIApp, host: str, refused: Callable[[Scope, str], None] | None = None) -> None:
        """``refused`` hears what was refused, and why; only where somebody does, forms are taken."""
        self._app, self._refused = app, refused
        self._headers = _HEADERS | ({"referrer-policy": "same-origin"} if refused else {})
        self._names = {"localhost", gethostname().lower(), host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call, or hand it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        if refusal and self._refused:
            await run_in_threadpool(self._refused, scope, f"{refusal.status_code} {bytes(refusal.body).decode()}")
        await (refusal or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if not self._is_ours(headers.get("host", "")):
            return PlainTextResponse("this server does not go by that name", 421)
        if scope["method"] == "POST" and self._refused:
            return _form_refusal(headers)
        if scope["method"] not in _READING:
            allowed = ", ".join(_WRITING if self._refused else _READING)
            return PlainTextResponse("nothing can be changed here", 405, {"allow": allowed})
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            return PlainTextResponse("no call here has a body", 413)
        if len(scope["query_string"]) + len(scope["path"]) > LONGEST_ADDRESS:
            return PlainTextResponse("the address is too long", 414)
        return None

    def _is_ours(self, called: str) -> bool:
        """Whether the name that was called is a number, or one of this machine's."""
        name = called.lower().removesuffix(".")
        name = name[1:].partition("]")[0] if name.startswith("[") else name.rpartition(":")[0] or name
        try:
            ip_address(name)
        except ValueError:
            return name in self._names
        return True


def _form_refusal(headers: Headers) -> PlainTextResponse | None:
    length = headers.get("content-length", "")
    if "transfer-encoding" in headers or not (length.isascii() and length.isdigit()):
        return PlainTextResponse("a form says how long it is", 411)
    if len(length) > 9 or int(length) > LONGEST_FORM:
        return PlainTextResponse("the form is too long", 413)
    if headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        return PlainTextResponse("only forms are taken here", 415)
    return None
