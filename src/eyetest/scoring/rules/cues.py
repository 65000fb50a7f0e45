"""The table of cues, ``cues.yaml``, their positions in a reply, and its sentences, letters, lists and echoes."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping
from functools import cache, cached_property
from importlib.resources import files
from itertools import accumulate
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from eyetest.scoring.rules.cleaning import Body, lower
from eyetest.scoring.rules.mentions import NOUNS, Mention, bare_letters_in, letters_in, runs, with_text
from eyetest.scoring.rules.options import Offer, first_form, tokens_in
from eyetest.store.handwritten import parse_yaml

FOREIGN = "~"  # stands for any run of characters that are not ASCII
_PART = re.compile(r"<([a-z]+)>")
_BLANKS = {code: " " for code in range(128) if not (chr(code).isalnum() or code == ord("'"))}
_WORD = re.compile(r"[a-z']+")
_SCRIPT = re.compile("[À-ÖØ-öø-ɏЀ-ӿ֐-ۿऀ-๿Ḁ-ỿ\u3040-鿿가-힣]")  # letters of other languages, unused in mathematics
_FINITE = re.compile(r"(?<!neither )(?<!nor )\b(?:is|are|was|were|ist|est|es|è|é)\b(?! ?(?:not|n't))")
_CLAUSE = re.compile(r"[,;:.]\s|\b(?:but|however|so|and (?:it|this|that))\b")
_SYMBOLS = frozenset({"→", "⇒", "∴", "=", "->"})
_REACH = 60


class Cue(msgspec.Struct, frozen=True):
    """A cue to the chosen option. ``foreign``: its part in another script; ``after``: what must stand before it;
    ``final``: what follows it is the answer even if it is not on offer.
    """

    name: str
    pattern: re.Pattern[str]
    foreign: re.Pattern[str] | None
    weight: int
    after: re.Pattern[str] | None
    final: bool


class Hit(NamedTuple):
    """Position of a cue in a reply."""

    start: int
    end: int
    cue: Cue


class CueTable:
    """All cues by their meaning for a mention, and the weights of its position."""

    def __init__(self, rows: Mapping[str, Any], off: Collection[str] = ()) -> None:
        self._rows, self._off = rows, off
        self.weights: dict[str, int] = {
            name: 0 if name in off else weight
            for name, weight in (dict.fromkeys(rows["commits"], 1) | rows["weights"]).items()
        }
        self.cues: dict[str, list[Cue]] = {}
        self.beginnings: set[str] = set()
        self.begins: dict[str, dict[str, list[Cue]]] = {}  # the cues of a group by their first words
        for group in (name for name in rows if name not in ("parts", "commits", "weights")):
            begins = self.begins[group] = {}
            kept = [(row, _cue(row, rows["parts"])) for row in rows[group] if row["cue"] not in off]
            self.cues[group] = [cue for _, cue in kept]
            for row, cue in kept:
                for word in row.get("begins", "").split():
                    begins.setdefault(word, []).append(cue)
            self.beginnings.update(begins)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every cue that can be switched off."""
        return (*self.weights, *(row["cue"] for group in self.begins for row in self._rows[group]))

    def without(self, *names: str) -> "CueTable":
        """The table without some cues."""
        return CueTable(self._rows, names)


@cache
def load_cues() -> CueTable:
    """The table that ships with the package."""
    return CueTable(parse_yaml((files(__package__) / "cues.yaml").read_text("utf-8"), "cues.yaml"))


def _cue(row: Mapping[str, Any], parts: Mapping[str, str]) -> Cue:
    pattern = "|".join(_spelt(branch, parts) for branch in row["any"])
    others = "|".join(_spelt(branch, parts) for branch in row["any"] if _SCRIPT.search(branch))
    after = re.compile(_spelt(row["after"], parts)) if "after" in row else None
    foreign = re.compile(others) if others else None
    return Cue(row["cue"], re.compile(pattern), foreign, row.get("weight", 0), after, row.get("final", False))


def _spelt(branch: str, parts: Mapping[str, str]) -> str:
    """A branch as regular expression: parts inserted, blanks stretched."""
    while _PART.search(branch):
        branch = _PART.sub(lambda part: f"(?:{parts[part[1]]})", branch)
    return branch.replace(" ?", r"\s{0,4}").replace(" ", r"\s{1,4}")


class Cued:
    """The cues of a text in lower case, found on demand."""

    def __init__(self, low: str, table: CueTable) -> None:
        self.low, self.table = low, table
        self._foreign = not low.isascii() and _SCRIPT.search(low) is not None
        self.words = set(low.translate(_BLANKS).split() if low.isascii() else _WORD.findall(low))
        if "'" in low:
            self.words |= {bare for word in self.words if "'" in word and (bare := word.strip("'"))}
        self._beginnings = table.beginnings & self.words | {sign for sign in _SYMBOLS if sign in low}
        self._hits: dict[str, list[Hit]] = {}
        self._present_cues: dict[str, dict[str, list[Cue]]] = {}

    def hits(self, group: str) -> list[Hit]:
        """Positions of the cues of a group, in order."""
        hits = self._hits.get(group)
        if hits is None:
            low, begins = self.low, self.table.begins[group]
            hits = self._hits[group] = []
            for word in begins.keys() & self._beginnings:
                for at in self.starts(word, 0, len(low)):
                    for cue in begins[word]:
                        match = cue.pattern.match(low, at)
                        before = cue.after.search(low, max(0, at - _REACH), at) if match and cue.after else match
                        if match and before:
                            hits.append(Hit(before.start(), match.end(), cue))
            for cue in begins.get(FOREIGN, ()) if self._foreign else ():
                if cue.foreign:
                    hits.extend(Hit(*match.span(), cue) for match in cue.foreign.finditer(low))
            if len(hits) > 1:
                hits.sort(key=itemgetter(0, 1))
        return hits

    def starts(self, word: str, start: int, end: int) -> list[int]:
        """Positions of a word as a whole word."""
        low, size, starts = self.low, len(word), []
        at = low.find(word, start, end)
        while at >= 0:
            if not (low[at - 1 : at].isalpha() or low[at + size : at + size + 1].isalpha()) or not word[0].isalpha():
                starts.append(at)
            at = low.find(word, at + size, end)
        return starts

    def before(self, group: str, at: int) -> Iterator[Hit]:
        """The cues of a group that begin shortly before an offset, and where each ends."""
        start = max(0, at - _REACH)
        for word, cues in self._present(group).items():
            if self.low.find(word, start, at) < 0:
                continue
            for first in self.starts(word, start, at):
                for cue in cues:
                    if match := cue.pattern.match(self.low, first, at):
                        yield Hit(first, match.end(), cue)

    def _present(self, group: str) -> dict[str, list[Cue]]:
        """The cues of a group by those of their first words that the text has."""
        present = self._present_cues.get(group)
        if present is None:
            begins = self.table.begins[group]
            present = {word: cues for word, cues in begins.items() if word in self._beginnings}
            self._present_cues[group] = present
        return present

    def between(self, group: str, start: int, end: int) -> list[Hit]:
        """The cues of a group that begin in a stretch."""
        hits = self.hits(group)
        if not hits:
            return hits
        first = bisect_left(hits, start, key=itemgetter(0))
        return hits[first : bisect_left(hits, end, first, key=itemgetter(0))]

    def at(self, group: str, at: int) -> Hit | None:
        """The cue of a group directly at an offset, behind closing brackets and blanks."""
        while at < len(self.low) and self.low[at] in ")]\"' ":
            at += 1
        for cue in self.table.cues[group]:
            if match := cue.pattern.match(self.low, at):
                return Hit(at, match.end(), cue)
        return None

    def denied(self, start: int, at: int, stop: int) -> bool:
        """Whether the clause before an offset, or what directly follows another, denies what is between them."""
        if self.at("refutes", stop):
            return True
        last = bisect_left(self._denials, at, key=itemgetter(0)) - 1
        if last < 0 or self._denials[last].start < start:
            return False
        end = self._denial_ends[last]  # of all denials before, the one that reaches furthest is the hardest to escape
        clause = bisect_right(self._clauses, at) - 1
        ends_before = clause >= 0 and self._clauses[clause] > end
        return not ends_before and not _FINITE.search(self.low, end, at)

    @cached_property
    def _denials(self) -> list[Hit]:
        """The cues that deny, without those inside a harmless one (``not only``)."""
        harmless = self.hits("harmless")
        ends = [*accumulate((hit.end for hit in harmless), max)]
        denials = []
        for hit in self.hits("denies"):
            last = bisect_right(harmless, hit.start, key=itemgetter(0)) - 1
            if last < 0 or ends[last] < hit.end:
                denials.append(hit)
        return denials

    @cached_property
    def _denial_ends(self) -> list[int]:
        """The furthest end of the denials so far."""
        return [*accumulate((hit.end for hit in self._denials), max)]

    @cached_property
    def _clauses(self) -> list[int]:
        """The ends of what separates clauses."""
        return [boundary.end() for boundary in _CLAUSE.finditer(self.low)]


_STOP = re.compile(r"[.!?;\n。！？；][.!?;\n]*[\"')\]]{0,3}")
_GOES_ON = re.compile(r"(?:(?:^|\W)[A-Za-z]|\b(?:e\.g|i\.e|vs|[Ff]ig|approx|[Nn]o|Dr|St|Mt|Eq))$")
_FAR = 200
_VERDICT = re.compile(
    r"[:→-]\s{0,3}(?:no|yes|wrong|right|correct|incorrect|true|false)\b\s{0,3}(?:[.;,]|$|\n)|[✓✔✅✗✘❌←]",
    re.IGNORECASE,
)
_LISTED = 3
_CUT = 400
_OPEN = frozenset("=+-*/(,_\\{[^:")
_ROOM = 15  # so much more than the options themselves an item of an echoed list may have
_NUMBER = re.compile(r"\d+")
NO_WORD = re.compile(r"[\s.,;:!?()\[\]{}\"'*\-–—]+")


def stops(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Ends of sentences; not inside a number, behind a mark or behind an abbreviation."""
    for stop in _STOP.finditer(text, start, end):
        at, after = stop.span()
        if text[at] in ".!?;" and "\n" not in stop.group():
            if after < len(text) and not text[after].isspace():
                continue
            if text[at] == "." and after - at == 1 and _GOES_ON.search(text, max(start, at - 6), at):
                continue
        yield stop


def sentence_end(text: str, at: int, end: int) -> int:
    """End of the sentence at an offset."""
    return next((stop.start() for stop in stops(text, at, end)), end)


def sentence_start(text: str, at: int) -> int:
    """Start of the sentence at an offset, as far as it matters."""
    first = max(0, at - _FAR)
    return max((stop.end() for stop in stops(text, first, at)), default=first)


class ReplyView:
    """A reply as it is weighed: its clean text, the cues it has, and the options."""

    def __init__(self, body: Body, offer: Offer, cues: CueTable, question: str = "") -> None:
        self.question = question
        self.body, self.text, self.offer = body, body.text(), offer
        self.cued = Cued(lower(self.text), cues)
        self.weights = cues.weights

    @cached_property
    def nouns(self) -> tuple[str, ...]:
        """The nouns for options that the reply uses."""
        return tuple(noun for noun in NOUNS if noun in self.cued.low)

    @cached_property
    def letters(self) -> list[Mention]:
        """Every mark recognisable by its markup, with its own text where that follows."""
        text, size, offer = self.text, len(self.text), self.offer
        letters = [mark for mark in letters_in(text, 0, size, offer, self.nouns) if mark.options != (-1,)]
        return [with_text(mark, text, size, offer)[0] for mark in letters]

    @cached_property
    def bare_letters(self) -> list[Mention]:
        """Every capital letter alone that may be a mark."""
        letters = bare_letters_in(self.text, 0, len(self.text), self.offer)
        return [with_text(mark, self.text, len(self.text), self.offer)[0] for mark in letters]

    @cached_property
    def lists(self) -> list[list[Mention]]:
        """Letters that begin the items of a list."""
        return runs(self.text, self.offer)

    @cached_property
    def listed(self) -> frozenset[int]:
        """Positions of these letters."""
        return frozenset(mark.start for run in self.lists for mark in run)

    @cached_property
    def cut_off(self) -> bool:
        """Whether a long reply stops in the middle of a sentence or formula."""
        before, tail = self.text.rstrip()[-2:-1], self.text.rstrip()[-1:]
        return len(self.text) > _CUT and (tail.isalnum() or tail in _OPEN) and before not in ("\n", "(")

    @cached_property
    def echoes(self) -> list[tuple[int, int]]:
        """Stretches that only repeat the options: letters of a list, and hardly more than their texts."""
        offer, spans = self.offer, []
        for run in self.lists:
            if any(self._is_judged(mark) for mark in run):
                continue
            whole = sum(len(offer.texts[mark.options[0]]) for mark in run[:-1] if mark.options[0] < offer.count)
            last = run[-1]
            if last.options[0] < offer.count:
                last = with_text(last, self.text, len(self.text), offer)[0]
            ends = len(run) >= _LISTED and last.end + _ROOM >= self._last_word
            if len(run) < offer.count and not ends:
                continue
            if run[-1].start - run[0].end <= whole + _ROOM * len(run):
                begin, furthest = run[-1].end, run[-1].end + _ROOM + offer.longest
                ends_at = (self.text.find("\n", begin, furthest), self.text.find("nswer", begin, furthest + 5) - 1)
                line = min((at for at in ends_at if at >= 0), default=len(self.text))
                spans.append((run[0].start, max(last.end, min(line, furthest))))
        return spans

    def _is_judged(self, mark: Mention) -> bool:
        """Whether a verdict follows an item of a list (``A: no``) before the next could begin."""
        first = bisect_left(self._verdicts, (mark.end,))
        return first < len(self._verdicts) and self._verdicts[first][1] <= mark.end + self.offer.longest + _ROOM

    @cached_property
    def _verdicts(self) -> list[tuple[int, int]]:
        return [verdict.span() for verdict in _VERDICT.finditer(self.text)]

    @cached_property
    def _last_word(self) -> int:
        """Where the last character stands that is part of a word."""
        end = len(self.text)
        while end and NO_WORD.match(self.text, end - 1):
            end -= 1
        return end

    def own_hits(self, group: str) -> list[Hit]:
        """The cues of a group in the reply's own words."""
        hits = self.cued.hits(group)
        return [hit for hit in hits if not self.is_echo(hit.start)] if hits and self.lists else hits

    def is_echo(self, at: int) -> bool:
        """Whether an offset is in an echo."""
        last = bisect_right(self._echo_starts, at) - 1
        return last >= 0 and at < self._echo_ends[last]

    @cached_property
    def _echo_starts(self) -> list[int]:
        return [start for start, _ in self.echoes]

    @cached_property
    def _echo_ends(self) -> list[int]:
        """The last end of the echoes so far, since one may reach into the next."""
        return [*accumulate((end for _, end in self.echoes), max)]

    @cached_property
    def last_conclusion(self) -> int:
        """Where the last word stands that draws a conclusion; -1 where there is none."""
        conclusions = [hit.start for hit in self.cued.hits("concludes") if hit.cue.name == "therefore"]
        return max(conclusions, default=-1)

    @cached_property
    def spots(self) -> list[int]:
        """Positions of everything that may name an option."""
        return sorted([*self.openers, *(mention.start for mention in (*self.letters, *self.bare_letters))])

    @cached_property
    def openers(self) -> list[int]:
        """Positions of words with which an option begins."""
        text, starts, cued = self.text, self.offer.starts, self.cued
        if not cued.low.isascii():
            tokens = [(token.start(), first_form(token[0])) for token in tokens_in(text, 0, len(text))]
            return [at for at, form in tokens if form in starts or not form.isascii() or not form.isalpha()]
        words = [word for word, form in zip(cued.words, map(first_form, cued.words), strict=True) if form in starts]
        found = [at for word in words for at in cued.starts(word, 0, len(text))]
        positions = [at for at in found if self.offer.may_begin(text, at, len(text))]
        if any(not word[0].isalpha() for word in starts):
            positions += [number.start() for number in _NUMBER.finditer(cued.low)]
        return sorted(positions)
