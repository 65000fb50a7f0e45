"""When two options say the same."""

import re
import unicodedata

_ARTICLES = re.compile(r"^(?:an?|the) ")
_APART = re.compile(r"[^\w%$€£+-]+")


def plain(text: str) -> str:
    """A text without what makes no difference to its meaning: case, accents' spelling, articles, punctuation."""
    words = _APART.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()
    return _ARTICLES.sub("", words)


def differs(text: str, others: list[str]) -> bool:
    """Whether a text says something that none of the others says."""
    said = plain(text)
    return bool(said) and all(said != plain(other) for other in others)
