"""Counts that link to the items they stand for, which ``eyetest open`` or a bundle of files shows."""

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote, urlsplit

import msgspec
from markupsafe import Markup

from eyetest.errors import InputError, heading, short
from eyetest.pages.item_links import Query, write_query
from eyetest.wording import typed

HOST, PORT = "127.0.0.1", 8765  # where ``eyetest open`` is served by default
INDEX = "index.html"
_LAST_PORT = 65_535
_MOST_IDS, _LONGEST = 2_000, 60_000  # ids in a link, and its length; servers refuse longer addresses


class ItemCount(NamedTuple):
    """A number of items and the address that shows them, if there is one."""

    items: int
    href: str = ""

    def __html__(self) -> str:
        if not self.href:
            return f"{self.items:,}"
        link = Markup('<a class="items" href="{}" data-items="{}">{:,}</a>')
        return link.format(self.href, self.items, self.items)

    def counted(self, noun: str) -> Markup:
        """The number with its noun."""
        return Markup("{} {}").format(self, noun if self.items == 1 else f"{noun}s")


class ItemsAt(msgspec.Struct, frozen=True):
    """The address that shows the items behind a page's numbers, and the command that serves it."""

    before: str = ""  # the part before a query; empty where items are not shown
    command: str = ""  # the command that serves the items or writes their bundle; empty if unknown

    @property
    def is_bundle(self) -> bool:
        """Whether the items are shown from files."""
        return self.before.endswith("#")

    def count(self, number: int, query: Query) -> ItemCount:
        """A number that links to as many items."""
        return ItemCount(number, self.before + write_query(query) if self.before and number else "")

    def named(self, ids: Iterable[str]) -> ItemCount:
        """The number of these items; the link names each of them."""
        names = tuple(dict.fromkeys(ids))
        count = self.count(len(names), Query(ids=names)) if len(names) <= _MOST_IDS else ItemCount(len(names))
        return count if len(count.href) <= _LONGEST else ItemCount(len(names))


NOWHERE = ItemsAt()


def read_address(text: str | None) -> tuple[str, int | None]:
    """Host and port of ``HOST:PORT``, ``HOST``, ``:PORT`` or ``PORT``; the port is None where none is named."""
    if text is None:
        return HOST, None
    word = text.strip()
    host, colon, port = word.rpartition(":")
    if not colon or word.endswith("]"):
        host, colon, port = ("", "", word) if word.isdecimal() else (word, "", "")
    is_port = not port or (port.isascii() and port.isdecimal() and int(port[:6]) <= _LAST_PORT)
    if not word or not is_port or (":" in host and not host.startswith("[")) or (colon and not port):
        raise InputError(f"{heading('address')}: found {short(text)}, expected HOST:PORT, such as {HOST}:{PORT}")
    return host.strip("[]") or HOST, int(port) if port else None


def items_at(said: str | None, page: Path, places: Sequence[Path]) -> ItemsAt:
    """Target of links: an address, a bundle's folder, or what ``eyetest open`` serves of these places."""
    if said is None:
        return ItemsAt(f"http://{HOST}:{PORT}/?", typed("eyetest", "open", *places))
    if re.match("https?://", said):
        return _served(said, places)
    try:
        folder = Path(os.path.relpath(said, page.parent)).as_posix()
    except ValueError:  # another drive
        folder = Path(said).resolve().as_posix()
    return ItemsAt(f"{quote(folder)}/{INDEX}#", typed("eyetest", "open", *places, "--bundle", Path(said)))


def _served(address: str, places: Sequence[Path]) -> ItemsAt:
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        host = None
    if not host or parts.query or parts.fragment or parts.username or not address.isascii():
        raise InputError(
            f"{heading('links')}: found {short(address)}, expected http://HOST:PORT/, or a bundle's folder"
        )
    if host not in (HOST, "localhost"):
        return ItemsAt(f"{address.rstrip('/')}/?")
    more = [] if port == PORT else ["--address", f"{host}:{port}"]
    return ItemsAt(f"{address.rstrip('/')}/?", typed("eyetest", "open", *places, *more))
