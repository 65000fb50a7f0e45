"""Who may ask the server what: only this machine's own names, only to read, and nothing from another site.

A page on the web may make a browser call any address, also one of this machine, under a name of its own (DNS
rebinding). So the name that was called is checked; numbers cannot be rebound.
"""

from ipaddress import ip_address
from socket import gethostname

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


class RequestGuard:
    """Stands before the pages, refuses what nobody here would ask, and says what a browser may do with an answer."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app = app
        self._names = {"localhost", gethostname().lower(), host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call, or hand it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if not self._is_ours(headers.get("host", "")):
            return PlainTextResponse("this server does not go by that name", 421)
        if scope["method"] not in _READING:
            return PlainTextResponse("nothing can be changed here", 405, {"allow": ", ".join(_READING)})
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
