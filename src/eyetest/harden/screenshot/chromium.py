"""A page set by Chromium, where it is installed: the second renderer, slower than the first.

The page has no script and may load nothing (its policy forbids it, scripts are switched off, and no name resolves);
boxes are asked for over a pipe, so no port is opened. Pictures are put in afterwards, as with the other renderer.
"""

import fcntl
import json
import math
import os
import shutil
import signal
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import jinja2
import pybase64
from markupsafe import Markup
from PIL import Image

from eyetest.errors import MissingExtraError
from eyetest.harden.screenshot.composed import Box
from eyetest.harden.screenshot.fonts import folders
from eyetest.harden.screenshot.mathml import mathml
from eyetest.harden.screenshot.typesetting import MAX_PAGE_PIXELS, CannotShow, boxes_within, decoded

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_SWITCHES = (
    *("--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run", "--hide-scrollbars"),
    *("--disable-extensions", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--disable-remote-fonts", "--proxy-server=127.0.0.1:9", "--proxy-bypass-list=<-loopback>"),
    *("--force-color-profile=srgb", "--font-render-hinting=none"),
)
_MOST_SHOTS = 6
_RESOLVER = "--host-resolver-rules=MAP * ~NOTFOUND"


@cache
def _template() -> jinja2.Template:
    loader = jinja2.PackageLoader("eyetest.harden.screenshot", "")
    around = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)
    around.globals.update(mathml=mathml, names=_names)
    return around.get_template("page.html.j2")


def _names(families: Iterable[str]) -> Markup:
    """A list for the style sheet, where quotes are quotes; the names are ours, never an item's."""
    return Markup(", ").join(Markup("'{}'").format(family) for family in families)


def find_chromium() -> str | None:
    """The program, if this machine has it."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class Chromium:
    """A browser without a window, asked over a pipe."""

    def __init__(self) -> None:
        program = find_chromium()
        if program is None:
            raise MissingExtraError("chromium is not installed; leave the renderer to typst")
        self._folder = Path(tempfile.mkdtemp(prefix="eyetest-chromium-"))
        more = ["--no-sandbox"] if os.geteuid() == 0 else []
        switches = [*_SWITCHES, _RESOLVER, *more, f"--user-data-dir={self._folder / 'profile'}", "about:blank"]
        self._from, self._to, self._process = _started([program, *switches], {"FONTCONFIG_FILE": str(self._fonts())})
        self._rest, self._ids = b"", count(1)
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._ask("Emulation.setScriptExecutionDisabled", value=True)
        self._frame = self._ask("Page.getFrameTree")["frameTree"]["frame"]["id"]

    def close(self) -> None:
        """End the browser, and remove what it wrote."""
        for end in (self._from, self._to):
            os.close(end)
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(self._process, signal.SIGTERM)
            os.waitpid(self._process, 0)
        shutil.rmtree(self._folder, ignore_errors=True)

    def set_page(self, data: dict[str, Any], resolution: float) -> tuple[Image.Image, tuple[Box, ...]]:
        """The page without its pictures, and where its parts lie."""
        width = data["style"]["width"]
        self._resize(width, 1, resolution)
        html = _template().render(**data, c=data["style"]["colours"])
        self._ask("Page.setDocumentContent", frameId=self._frame, html=html)
        size = self._ask("Page.getLayoutMetrics")["cssContentSize"]
        if size["width"] > width + 1:
            raise CannotShow("something is too wide for the page")
        if size["width"] * size["height"] * resolution**2 > MAX_PAGE_PIXELS:
            raise CannotShow("too long for one page")
        self._resize(width, math.ceil(size["height"]), resolution)
        picture = decoded(self._shot())
        return picture, boxes_within(self._boxes(resolution), picture.size)

    def _resize(self, width: int, height: int, resolution: float) -> None:
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=resolution,
            mobile=False,
        )

    def _shot(self) -> bytes:
        """What the window shows, once it shows the same twice: the first may still be the page before."""
        seen = b""
        for _ in range(_MOST_SHOTS):
            shot = pybase64.b64decode(self._ask("Page.captureScreenshot", format="png")["data"])
            if shot == seen:
                return shot
            seen = shot
        raise CannotShow("chromium shows something else every time")

    def _boxes(self, scale: float) -> list[Box]:
        root = self._ask("DOM.getDocument", depth=0)["root"]["nodeId"]
        boxes = []
        for node in self._ask("DOM.querySelectorAll", nodeId=root, selector="[data-part]")["nodeIds"]:
            said = self._ask("DOM.getAttributes", nodeId=node)["attributes"]
            about = dict(zip(said[::2], said[1::2], strict=True))
            quad = self._ask("DOM.getBoxModel", nodeId=node)["model"]["border"]
            sides = (min(quad[::2]), min(quad[1::2]), max(quad[::2]), max(quad[1::2]))
            boxes.append(Box(about["data-part"], int(about["data-number"]), *(scale * side for side in sides)))
        return boxes

    def _ask(self, method: str, **params: Any) -> Any:
        number = next(self._ids)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session := getattr(self, "_session", None):
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            answer = json.loads(self._next())
            if answer.get("id") == number:
                if "error" in answer:
                    raise CannotShow(f"chromium: {answer['error']['message'][:120]}")
                return answer["result"]

    def _next(self) -> bytes:
        while b"\0" not in self._rest:
            piece = os.read(self._from, 2**16)
            if not piece:
                raise CannotShow("chromium ended")
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return message

    def _fonts(self) -> Path:
        """A font configuration of our typefaces alone, so that a page does not depend on the machine."""
        listed = "".join(f"<dir>{escape(str(folder))}</dir>" for folder in folders())
        cache_folder = f"<cachedir>{escape(str(self._folder / 'fonts'))}</cachedir>"
        file = self._folder / "fonts.conf"
        file.write_text(f"<?xml version='1.0'?><fontconfig>{listed}{cache_folder}</fontconfig>", "utf-8")
        return file


def _started(command: list[str], around: dict[str, str]) -> tuple[int, int, int]:
    """A program that is asked on its file 3 and answers on its file 4: our two ends, and its number."""
    theirs_in, to = os.pipe()
    ours, theirs_out = os.pipe()
    far_in, far_out = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (theirs_in, theirs_out))
    nothing = [(os.POSIX_SPAWN_OPEN, end, os.devnull, os.O_WRONLY, 0) for end in (1, 2)]
    asked = [(os.POSIX_SPAWN_DUP2, far_in, 3), (os.POSIX_SPAWN_DUP2, far_out, 4)]
    number = os.posix_spawn(command[0], command, os.environ | around, file_actions=[*nothing, *asked])
    for end in (theirs_in, theirs_out, far_in, far_out):
        os.close(end)
    return ours, to, number
