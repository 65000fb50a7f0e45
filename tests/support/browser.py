"""Chromium, driven over its DevTools protocol: several people with a browser each, who click, type and look."""

import asyncio
import base64
import json
import shutil
import subprocess
import time
from collections.abc import Coroutine
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any, Self, TypeVar

import aiohttp
import pytest

_PATIENCE = 90.0
"""Seconds until a browser that does not answer, or a condition that does not come true, fails a test."""
_SWITCHES = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-background-timer-throttling "
    "--disable-renderer-backgrounding --disable-backgrounding-occluded-windows --remote-debugging-port=0"
)
_PHONE = 500
"""Pixels of width below which a screen is a phone's."""
_KEYS = {
    "Enter": (13, "\r"),
    "Tab": (9, ""),
    "Escape": (27, ""),
    "Backspace": (8, ""),
    "ArrowLeft": (37, ""),
    "ArrowUp": (38, ""),
    "ArrowRight": (39, ""),
    "ArrowDown": (40, ""),
    " ": (32, " "),
}
_MODIFIERS = {"Alt": 1, "Control": 2, "Shift": 8}
_WHERE = """(() => {
  const element = document.querySelector(SELECTOR);
  if (!element) return "nothing is there";
  element.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
  const box = [...element.getClientRects()].find((one) => one.width && one.height);
  if (!box) return "it is not shown";
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const top = document.elementFromPoint(x, y);
  if (top && (element.contains(top) || top.contains(element) || top.control === element)) return [x, y];
  return `${top ? top.outerHTML.slice(0, 200) : "nothing"} is before it`;
})()"""
T = TypeVar("T")


def find_chromium() -> str:
    """Where Chromium is; a test that needs it is skipped where it is not installed."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no Chromium is installed, so the page was not opened in a browser")
    return chromium


class BrowserError(AssertionError):
    """What a page could not do, or said when a script failed in it."""


class Browser:
    """One Chromium; everybody whom `visitor` makes has cookies, storage and windows of their own."""

    def __init__(self, folder: Path) -> None:
        command = [find_chromium(), *_SWITCHES.split(), f"--user-data-dir={folder}", "about:blank"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever)
        self._thread.start()
        self._numbers = count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, BrowserWindow] = {}
        self._wait(self._connect(folder / "DevToolsActivePort"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._wait(self._leave())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def visitor(self, width: int = 1280, height: int = 900, *, dark: bool = False) -> "BrowserWindow":
        """A new person with an empty window, whom no other knows."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = BrowserWindow(self, session, context)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.send(f"{domain}.enable")
        page.send("Emulation.setFocusEmulationEnabled", enabled=True)
        page.resize(width, height)
        page.darken(dark)
        return page

    def send(self, method: str, session: str | None = None, **values: Any) -> dict[str, Any]:
        """Give a command, and have its answer."""
        return self._wait(self._send(method, session, values))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(2 * _PATIENCE)

    async def _connect(self, port: Path) -> None:
        """Find the address that Chromium writes into its folder, and listen."""
        async with asyncio.timeout(_PATIENCE):
            while not port.is_file() or len(lines := port.read_text().splitlines()) < 2:
                await asyncio.sleep(0.02)
            self._http = aiohttp.ClientSession()
            self._socket = await self._http.ws_connect(f"ws://127.0.0.1:{lines[0]}{lines[1]}", max_msg_size=0)
        self._listening = asyncio.create_task(self._listen())

    async def _leave(self) -> None:
        with suppress(BrowserError, TimeoutError, ConnectionError):
            await self._send("Browser.close", None, {})
        self._listening.cancel()
        await self._socket.close()
        await self._http.close()

    async def _listen(self) -> None:
        async for message in self._socket:
            told = json.loads(message.data)
            if "id" in told:
                answer = self._answers.pop(told["id"])
                if not answer.done():
                    answer.set_result(told)
            elif page := self._pages.get(told.get("sessionId", "")):
                page.hear(told["method"], told["params"])

    async def _send(self, method: str, session: str | None, values: dict[str, Any]) -> dict[str, Any]:
        number, answer = next(self._numbers), self._loop.create_future()
        self._answers[number] = answer
        head = {"id": number, "method": method, "params": values}
        await self._socket.send_str(json.dumps(head | ({"sessionId": session} if session else {})))
        async with asyncio.timeout(_PATIENCE):
            told: dict[str, Any] = await answer
        if "error" in told:
            raise BrowserError(f"{method}: {told['error']['message']}")
        result: dict[str, Any] = told["result"]
        return result


class BrowserWindow:
    """The window of one person, who remembers what went wrong, what was asked for and how often was clicked."""

    def __init__(self, browser: Browser, session: str, context: str) -> None:
        self._browser, self._session, self._context = browser, session, context
        self._loads = 0
        self.clicks = 0
        self.errors: list[str] = []
        """Errors on the console, uncaught exceptions, and what a policy refused."""
        self.requests: list[str] = []

    def send(self, method: str, **values: Any) -> dict[str, Any]:
        """Give a command to this window."""
        return self._browser.send(method, self._session, **values)

    def hear(self, event: str, told: dict[str, Any]) -> None:
        if event == "Page.loadEventFired":
            self._loads += 1
        elif event == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif event == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif event == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.errors.append(f"{told['entry']['text']} {told['entry'].get('url', '')}")
        elif event == "Runtime.consoleAPICalled" and told["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(part.get("value", part)) for part in told["args"]))

    def close(self) -> None:
        """Go away; nothing is left of this person's cookies."""
        self._browser.send("Target.disposeBrowserContext", browserContextId=self._context)

    def goto(self, address: str | Path) -> None:
        """Open an address, or a file, and wait until it is loaded."""
        url = address.as_uri() if isinstance(address, Path) else address
        before = self._loads
        told = self.send("Page.navigate", url=url)
        if "errorText" in told:
            raise BrowserError(f"{url}: {told['errorText']}")
        if "loaderId" in told:
            self._until_loaded(before)

    def reload(self) -> None:
        before = self._loads
        self.send("Page.reload")
        self._until_loaded(before)

    def _until_loaded(self, before: int) -> None:
        start = time.monotonic()
        while self._loads == before:
            if time.monotonic() - start > _PATIENCE:
                raise BrowserError("the next page was not loaded")
            time.sleep(0.01)

    def evaluate(self, script: str) -> Any:
        """What an expression comes to on the page; a promise is waited for."""
        told = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            details = told["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details["text"])
        return told["result"].get("value")

    def wait(self, condition: str, patience: float = _PATIENCE) -> None:
        """Wait until a page is loaded on which an expression is true."""
        start, why, pause = time.monotonic(), "it stayed false", 0.01
        while time.monotonic() - start < patience:
            try:
                if self.evaluate(f"document.readyState === 'complete' && Boolean({condition})"):
                    return
            except BrowserError as error:
                why = str(error)
            time.sleep(pause)
            pause = min(2 * pause, 0.2)
        raise BrowserError(f"{condition}: {why}, on a page that says {self.text[:500]!r}")

    def cookies(self) -> str:
        """This person's cookies on the page that is open, as a browser sends them."""
        return "; ".join(f"{one['name']}={one['value']}" for one in self.send("Network.getCookies")["cookies"])

    def click(self, selector: str) -> None:
        """Click in the middle of an element, as a hand does: it has to be seen, and nothing may lie before it."""
        at = self.evaluate(_WHERE.replace("SELECTOR", json.dumps(selector)))
        if isinstance(at, str):
            raise BrowserError(f"{selector} cannot be clicked: {at}")
        self.clicks += 1
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], button="left", clickCount=1)

    def follow(self, selector: str) -> None:
        """Click what leads to another page, and wait for that."""
        before = self._loads
        self.click(selector)
        self._until_loaded(before)

    def type(self, selector: str, text: str) -> None:
        """Write into a field, in the place of what stands there."""
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")
        self.evaluate("document.activeElement.select()")
        self.send("Input.insertText", text=text)

    def press(self, *keys: str) -> None:
        """Press keys one after the other: ``a``, ``Enter``, ``Shift+Tab``."""
        for name in keys:
            *held, key = name.split("+") if len(name) > 1 else [name]
            code, text = _KEYS.get(key, (ord(key[0].upper()), key))
            modifiers = sum(_MODIFIERS[one] for one in held)
            values = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
            self.send("Input.dispatchKeyEvent", type="keyDown", text="" if modifiers & 3 else text, **values)
            self.send("Input.dispatchKeyEvent", type="keyUp", **values)

    def press_to(self, key: str) -> None:
        """Press a key that leads to another page, and wait for that."""
        before = self._loads
        self.press(key)
        self._until_loaded(before)

    @property
    def text(self) -> str:
        return str(self.evaluate("document.body.innerText"))

    @property
    def html(self) -> str:
        return str(self.evaluate("document.documentElement.outerHTML"))

    def resize(self, width: int, height: int = 900) -> None:
        """Have a window, or a phone, of this size."""
        self.width = width
        self.send(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < _PHONE},
        )

    def darken(self, dark: bool = True) -> None:
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self) -> bytes:
        """What is seen, as PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot")["data"])
