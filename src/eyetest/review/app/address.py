"""Where somebody is: which items are wanted, and which page of them or which one is on the screen.

Its text is the query of a served page's address and what stands behind the ``#`` of a bundle's; app.js reads and
writes the same.
"""

from functools import cached_property
from typing import Literal, get_args
from urllib.parse import urlencode

import msgspec

from eyetest.errors import InputError, nearest, short
from eyetest.pages.item_links import Query, pairs_of, query_of

Layout = Literal["grid", "list"]
_SEVERAL = ("tag.", "finding", "suggested", "untagged", "answer", "id")
"""What a query may hold several of; of everything else a new value takes the place of the old one."""


class Address(msgspec.Struct, frozen=True, dict=True):
    """The parts of a query in the order in which they were said, and what of it is on the screen."""

    parts: tuple[tuple[str, str], ...] = ()
    item: str = ""
    page: int = 1
    layout: Layout = "grid"

    @classmethod
    def parse(cls, text: str) -> "Address":
        """The address that a browser asks for; what is not known is refused."""
        parts, own = [], dict[str, str]()
        for key, value in pairs_of(text):
            if key in ("item", "page", "layout"):
                own[key] = value
            elif value:
                parts.append((key, value))
        layout, page = own.get("layout") or "grid", own.get("page") or "1"
        if layout not in get_args(Layout):
            raise InputError(f"layout: no {short(layout)}; {nearest(layout, get_args(Layout))}")
        if not page.isascii() or not page.isdigit() or len(page) > 9 or not int(page):
            raise InputError(f"page: found {short(page)}, expected a number from 1")
        query_of(parts)
        return cls(tuple(dict.fromkeys(parts)), own.get("item", ""), int(page), layout)  # type: ignore[arg-type]

    @cached_property
    def query(self) -> Query:
        """What items have to be."""
        return query_of(list(self.parts))

    def holds(self, key: str, value: str) -> bool:
        """Whether the query says that."""
        return (key, value) in self.parts

    def toggled(self, key: str, value: str) -> str:
        """The address with that part added, or without it where it is there; from the first page on."""
        if self.holds(key, value):
            parts = tuple(part for part in self.parts if part != (key, value))
        else:
            kept = self.parts if key.startswith(_SEVERAL) else tuple(part for part in self.parts if part[0] != key)
            parts = (*kept, (key, value))
        return Address(parts, layout=self.layout).href

    def to(self, *, item: str = "", page: int = 1, layout: Layout | None = None) -> str:
        """The address of the same items, elsewhere among them."""
        return Address(self.parts, item, page, layout or self.layout).href

    @property
    def href(self) -> str:
        """The address as a link has it."""
        own = [
            ("layout", self.layout if self.layout != "grid" else ""),
            ("page", str(self.page) if self.page > 1 else ""),
        ]
        own.append(("item", self.item))
        pairs = [*self.parts, *((key, value) for key, value in own if value)]
        return "?" + urlencode(pairs, safe=":@", errors="surrogatepass")
