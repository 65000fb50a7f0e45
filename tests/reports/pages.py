"""What a dataset may try to do to a page, and how to see what became of it."""

from collections import Counter
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Protocol

SCRIPT = resources.files("eyetest.pages").joinpath("templates", "page.js").read_text("utf-8")
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "javascript:alert(1)",
    "</style><script src=http://tracker.invalid/x.js></script>",
    "</title></svg><iframe src='http://tracker.invalid'></iframe>",
    "{{ 7 * 7 }}{% raw %}",
    "--><!-- ]]> &lt;b&gt; \x00\x1b[31m \u202e",
)


class Browse(Protocol):
    """How to open a page; see the fixture ``browse``."""

    def __call__(self, page: Path | str, ready: str = "true") -> tuple[str, list[str], list[str]]:
        """Its document, what went wrong there, and the addresses it asked for."""


class Tags(HTMLParser):
    """The elements and attributes of a page, and the words between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.raw: list[tuple[str, str]] = []
        """The scripts: their type, and their text."""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        if tag == "script":
            self.raw.append((dict(attrs).get("type") or "", ""))
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            kind, text = self.raw.pop()
            self.raw.append((kind, text + data))
        else:
            self.words.append(data)

    def values(self, name: str) -> list[str]:
        return [value for known, value in self.attributes if known == name]

    def check_targets(self) -> None:
        """Every id is there once, and links within the page lead to one."""
        targets = Counter(self.values("id"))
        assert {value[1:] for value in self.values("href") if value.startswith("#")} <= targets.keys()
        assert set(targets.values()) == {1}

    def check_inert(self, *more: str) -> None:
        """Only our script runs, and nothing is fetched; links lead to the page itself, its images or ``more``."""
        scripts = [text for tag, text in self.raw if "json" not in tag]
        assert scripts == [SCRIPT] * len(scripts)
        assert len(scripts) <= 1
        assert not self.tags.keys() & {"iframe", "img", "object", "link", "form", "base"}
        assert not [name for name, _ in self.attributes if name.startswith("on")]
        assert not self.values("src")
        assert [
            value[:60] for value in self.values("href") if not value.startswith(("#", "data:image/", *more))
        ] == []

    @property
    def images(self) -> list[str]:
        return [value for value in self.values("href") if value.startswith("data:")]
