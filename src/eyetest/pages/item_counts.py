"""Numbers that lead to the items they stand for.

A page is a file, and items are shown elsewhere: by ``eyetest open`` on this machine, or in a bundle of files.
"""

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

HOST, PORT = "127.0.0.1", 8765
"""Where ``eyetest open`` is served unless told otherwise."""
INDEX = "index.html"
"""The first page of a bundle."""
_MOST_IDS, _LONGEST = 2_000, 60_000
"""Items that a link may name one by one, and its length; a longer address is refused by a server."""


class ItemCount(NamedTuple):
    """How many items, and where they are shown; nowhere, where there is no address."""

    items: int
    href: str = ""

    def __html__(self) -> str:
        """The number as a page has it."""
        if not self.href:
            return f"{self.items:,}"
        link = Markup('<a class="items" href="{}" data-items="{}">{:,}</a>')
        return link.format(self.href, self.items, self.items)

    def counted(self, noun: str) -> Markup:
        """The number with its noun."""
        return Markup("{} {}").format(self, noun if self.items == 1 else f"{noun}s")


class ItemsAt(msgspec.Struct, frozen=True):
    """Where the items behind a page's numbers are shown, and what has to run for it."""

    before: str = ""
    """What stands before a query; empty where they are shown nowhere."""
    command: str = ""
    """What serves them, or writes their bundle; empty where that is nothing that we know."""

    @property
    def is_bundle(self) -> bool:
        """Whether they lie in files."""
        return self.before.endswith("#")

    def count(self, number: int, query: Query) -> ItemCount:
        """A number that leads to as many items."""
        return ItemCount(number, self.before + write_query(query) if self.before and number else "")

    def named(self, ids: Iterable[str]) -> ItemCount:
        """How many items these are; the link names them one by one."""
        names = tuple(dict.fromkeys(ids))
        count = self.count(len(names), Query(ids=names)) if len(names) <= _MOST_IDS else ItemCount(len(names))
        return count if len(count.href) <= _LONGEST else ItemCount(len(names))


NOWHERE = ItemsAt()


def items_at(said: str | None, page: Path, places: Sequence[Path]) -> ItemsAt:
    """Where a page's numbers lead: to an address, to the folder of a bundle, or to what ``eyetest open`` serves here.

    ``places`` are what has to be opened.
    """
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
    more = [] if port == PORT else ["--port", port]
    return ItemsAt(f"{address.rstrip('/')}/?", typed("eyetest", "open", *places, *more))
