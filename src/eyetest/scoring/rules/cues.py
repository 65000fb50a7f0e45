"""The table of cues, ``cues.yaml``, and where a reply has them.

A reply is passed once, word by word: only the cues that begin with a word are tried where it stands.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec
import yaml

FOREIGN = "~"
"""Stands for any run of characters that are not ASCII."""
_PART = re.compile(r"<([a-z]+)>")
_BLANKS = {code: " " for code in range(128) if not (chr(code).isalnum() or code == ord("'"))}
_WORD = re.compile(r"[a-z']+")
_SCRIPT = re.compile("[À-ÖØ-öø-ɏЀ-ӿ֐-ۿऀ-๿Ḁ-ỿ\u3040-鿿가-힣]")
"""Letters of other languages, which mathematics does not use."""
_FINITE = re.compile(r"(?<!neither )(?<!nor )\b(?:is|are|was|were|ist|est|es|è|é)\b(?! ?(?:not|n't))")
_CLAUSE = re.compile(r"[,;:.]\s|\b(?:but|however|so|and (?:it|this|that))\b")
_SYMBOLS = frozenset("→⇒∴")
_REACH = 60


class Cue(msgspec.Struct, frozen=True):
    """A way in which replies show what they choose.

    ``foreign``: what of it is in another script, and begins with no word. ``after``: what has to stand before it.
    ``final``: what follows it is the answer even if it is not on offer.
    """

    name: str
    pattern: re.Pattern[str]
    foreign: re.Pattern[str] | None
    weight: int
    after: re.Pattern[str] | None
    final: bool


class Hit(NamedTuple):
    """Where a reply has a cue."""

    start: int
    end: int
    cue: Cue


class CueTable:
    """All cues by what they say of a mention, and the weights of where it stands."""

    def __init__(self, rows: Mapping[str, Any], off: str = "") -> None:
        self._rows, self._off = rows, off
        self.weights: dict[str, int] = {
            name: 0 if name == off else weight
            for name, weight in (dict.fromkeys(rows["commits"], 1) | rows["weights"]).items()
        }
        self._cues: dict[str, list[Cue]] = {}
        self._begins: dict[str, dict[str, list[Cue]]] = {}
        for group in (name for name in rows if name not in ("parts", "commits", "weights")):
            begins = self._begins[group] = {}
            kept = [(row, _cue(row, rows["parts"])) for row in rows[group] if row["cue"] != off]
            self._cues[group] = [cue for _, cue in kept]
            for row, cue in kept:
                for word in row.get("begins", "").split():
                    begins.setdefault(word, []).append(cue)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every cue that can be switched off."""
        return (*self.weights, *(row["cue"] for group in self._begins for row in self._rows[group]))

    @property
    def groups(self) -> tuple[str, ...]:
        """What cues may say of a mention."""
        return tuple(self._cues)

    def without(self, name: str) -> "CueTable":
        """The same table with one cue less."""
        return CueTable(self._rows, name)

    def cues(self, group: str) -> list[Cue]:
        """The cues of a group."""
        return self._cues[group]

    def begins(self, group: str) -> dict[str, list[Cue]]:
        """The cues of a group by the words with which they begin."""
        return self._begins[group]


@cache
def load_cues() -> CueTable:
    """The table that ships with the package."""
    return CueTable(yaml.safe_load((files(__package__) / "cues.yaml").read_text("utf-8")))


def _cue(row: Mapping[str, Any], parts: Mapping[str, str]) -> Cue:
    pattern = "|".join(_spelt(branch, parts) for branch in row["any"])
    others = "|".join(_spelt(branch, parts) for branch in row["any"] if _SCRIPT.search(branch))
    after = re.compile(_spelt(row["after"], parts)) if "after" in row else None
    foreign = re.compile(others) if others else None
    return Cue(row["cue"], re.compile(pattern), foreign, row.get("weight", 0), after, row.get("final", False))


def _spelt(branch: str, parts: Mapping[str, str]) -> str:
    """A branch as regular expression: parts put in, blanks stretched."""
    while _PART.search(branch):
        branch = _PART.sub(lambda part: f"(?:{parts[part[1]]})", branch)
    return branch.replace(" ?", r"\s{0,4}").replace(" ", r"\s{1,4}")


def _start(hit: Hit) -> int:
    return hit.start


class Cued:
    """The cues that a text in lower case has, found when they are asked for."""

    def __init__(self, low: str, table: CueTable) -> None:
        self.low, self.table = low, table
        self._foreign = not low.isascii() and _SCRIPT.search(low) is not None
        words = set(low.translate(_BLANKS).split() if low.isascii() else _WORD.findall(low))
        if "'" in low:
            words |= {word.strip("'") for word in words}
        self.words = frozenset(words)
        self._hits: dict[str, list[Hit]] = {}

    def hits(self, group: str) -> list[Hit]:
        """Where the cues of a group stand, in their order."""
        hits = self._hits.get(group)
        if hits is None:
            begins = self.table.begins(group)
            hits = self._hits[group] = []
            for word in begins.keys() & self.words:
                for at in self.starts(word):
                    hits.extend(hit for cue in begins[word] if (hit := self._match(cue, at)))
            for sign in begins.keys() & _SYMBOLS:
                if sign in self.low:
                    hits.extend(
                        hit for at in self.starts(sign) for cue in begins[sign] if (hit := self._match(cue, at))
                    )
            for cue in begins.get(FOREIGN, ()) if self._foreign else ():
                if cue.foreign:
                    hits.extend(Hit(*match.span(), cue) for match in cue.foreign.finditer(self.low))
            if len(hits) > 1:
                hits.sort(key=lambda hit: hit[:2])
        return hits

    def starts(self, word: str) -> Iterator[int]:
        """Where a word stands as a word."""
        low, size = self.low, len(word)
        at = low.find(word)
        while at >= 0:
            if not (low[at - 1 : at].isalpha() or low[at + size : at + size + 1].isalpha()) or not word[0].isalpha():
                yield at
            at = low.find(word, at + size)

    def _match(self, cue: Cue, at: int) -> Hit | None:
        match = cue.pattern.match(self.low, at)
        if not match:
            return None
        if cue.after:
            before = cue.after.search(self.low, max(0, at - _REACH), at)
            return Hit(before.start(), match.end(), cue) if before else None
        return Hit(at, match.end(), cue)

    def before(self, group: str, at: int, reach: int = _REACH) -> list[Hit]:
        """The cues of a group that stand not far before an offset."""
        start = max(0, at - reach)
        return [
            Hit(*match.span(), cue)
            for cue in self.table.cues(group)
            for match in cue.pattern.finditer(self.low, start, at)
        ]

    def between(self, group: str, start: int, end: int) -> list[Hit]:
        """The cues of a group that begin in a stretch."""
        hits = self.hits(group)
        if not hits:
            return hits
        first = bisect_left(hits, start, key=_start)
        return hits[first : bisect_left(hits, end, first, key=_start)]

    def at(self, group: str, at: int) -> Hit | None:
        """The cue of a group that stands right at an offset, behind closing brackets and blanks."""
        while at < len(self.low) and self.low[at] in ")]\"' ":
            at += 1
        for cue in self.table.cues(group):
            if match := cue.pattern.match(self.low, at):
                return Hit(at, match.end(), cue)
        return None

    def denied(self, start: int, at: int, stop: int) -> bool:
        """Whether the clause before an offset, or what follows another at once, denies what stands between them."""
        if self.at("refutes", stop):
            return True
        hits = self.between("denies", start, at)
        if not hits:
            return False
        clause = start
        for boundary in _CLAUSE.finditer(self.low, start, at):
            clause = boundary.end()
        harmless = self.between("harmless", start, at)
        return any(
            hit.end >= clause
            and not any(other.start <= hit.start and hit.end <= other.end for other in harmless)
            and not _FINITE.search(self.low, hit.end, at)
            for hit in hits
        )
