"""Forms of replies: the first and the last words of a reply, without what belongs to one question.

Texts of options, option letters, numbers and quotations become ``[option]``, ``[mark]``, ``[number]`` and
``[quote]``. A form is a whole reply (``the answer is [mark]``), a beginning (``option [mark] is correct …``) or an
end (``… the answer is [mark]``). Of the forms that a reply has, it is counted under the one that stands for most
words: the replies that have the form, times the words of the form. Replies of one form are mostly read by one rule,
so a person who looks at a few of them can confirm or refuse the readings of all. A decision holds for the replies
that are counted under its form, so the forms of the file without a decision keep theirs.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from eyetest.errors import InputError
from eyetest.records.tables import mark
from eyetest.scoring.rules import Reply
from eyetest.scoring.rules.cleaning import reply_proper
from eyetest.store.handwritten import convert, read_yaml

FormDecision = Literal["read", "unread"]

_WINDOW = 400  # characters of each end of a reply
_MOST_WORDS = 6
_LEAST_WORDS = 2
_LONGEST_WHOLE = 12  # words of a reply that is a form as a whole
LEAST_REPLIES = 3
_MORE = "…"
_OPTION = "\x00"
_TOKEN = re.compile(
    r"\x00|\"[^\"\n\x00]{1,200}\"|[“«「][^”»」\n\x00]{1,200}[”»」]|\d(?:[\d.,]*\d)?|[A-Za-z]+(?:['’][A-Za-z]+)*|[^\W\d_A-Za-z]+"
)
_QUOTES = '"“«「'
_ARTICLE = re.compile(r" (?!(?:is|was|because|since|as|and|or|for|if)\b)[a-z\x00]")
_NOUN = re.compile(r"\b(?:option|choice|answer|letter)\s$", re.IGNORECASE)
_LONGEST_NOUN = 10


class Ends(NamedTuple):
    """The first and the last words of a reply, and whether the first ones are all."""

    first: tuple[str, ...]
    last: tuple[str, ...]
    is_whole: bool


class FormEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person decides of a form. ``shared_by`` counts the replies that have the form, also those counted under
    another one; it says which of its forms a reply is counted under. The other fields show what is decided.
    """

    form: str
    decision: FormDecision | None = None
    replies: int = 0
    shared_by: int = 0
    readings: dict[str, int] = {}
    probability: float | None = None
    example: str = ""


class FormDecisions(NamedTuple):
    """By form, whether the readings of its replies stand, and the forms that a file of decisions lists."""

    decisions: Mapping[str, FormDecision] = {}
    shared_by: Mapping[str, int] = {}
    """By form of the file, decided or not, how many replies have it; 0 for forms that a person added."""

    @property
    def fingerprint(self) -> str:
        """A short hash of the decisions; empty without any."""
        if not self.decisions:
            return ""
        entries = [sorted(self.decisions.items()), sorted(self.shared_by.items())]
        return blake2b(msgspec.json.encode(entries), digest_size=4).hexdigest()

    def of(self, reply: Reply) -> FormDecision | None:
        """The decision on the form that a reply is counted under; None where it is not decided."""
        form = self.form_of(forms_of(read_ends(reply))) if self.decisions else None
        return None if form is None else self.decisions.get(form)

    def form_of(self, forms: Sequence[str]) -> str | None:
        """The form that a reply is counted under, among the listed ones of its forms, which are ordered by length.

        A form that a person added comes first, and of several of them the longest.
        """
        listed = [form for form in forms if form in self.decisions or form in self.shared_by]
        return max(listed, key=self._weight, default=None)

    def _weight(self, form: str) -> float:
        """For how many words a form stands; infinitely many where it has no count."""
        count = self.shared_by.get(form, 0)
        return count * _size(form) if count else math.inf


def read_decisions(path: Path) -> FormDecisions:
    """The decisions in a YAML file of forms; a form that is decided in two ways is refused."""
    entries = convert(read_yaml(path) or [], list[FormEntry], str(path))
    decisions: dict[str, FormDecision] = {}
    for entry in entries:
        if entry.decision is None:
            continue
        if decisions.setdefault(entry.form, entry.decision) != entry.decision:
            raise InputError(f'{path}: the form "{entry.form}" is decided in two ways')
    if not decisions:
        return FormDecisions()
    return FormDecisions(decisions, {entry.form: entry.shared_by for entry in entries})


def read_ends(reply: Reply) -> Ends:
    """The first and last words of a reply, with placeholders."""
    text = reply_proper(reply.text).strip()
    head = _words(text[:_WINDOW], reply)
    is_whole = len(text) <= _WINDOW and len(head) <= _LONGEST_WHOLE
    if is_whole:
        return Ends(tuple(head), (), True)
    tail = head if len(text) <= _WINDOW else _words(text[-_WINDOW:], reply)
    return Ends(tuple(head[:_MOST_WORDS]), tuple(tail[-_MOST_WORDS:]), False)


def forms_of(ends: Ends) -> list[str]:
    """The forms that a reply has, the longest first, and of equal length beginnings before ends."""
    forms = [" ".join(ends.first)] if ends.is_whole and ends.first else []
    last = ends.first[-_MOST_WORDS:] if ends.is_whole else ends.last
    for size in range(_MOST_WORDS, _LEAST_WORDS - 1, -1):
        if len(ends.first) >= size + ends.is_whole:
            forms.append(f"{' '.join(ends.first[:size])} {_MORE}")
        if len(last) >= size and len(ends.first) >= size + ends.is_whole:
            forms.append(f"{_MORE} {' '.join(last[-size:])}")
    return forms


def name_forms(replies: Sequence[Ends], decisions: FormDecisions) -> list[str]:
    """The form under which each reply is counted: a listed one, else that which stands for most words; ``""`` where
    fewer than `LEAST_REPLIES` replies share a form.
    """
    counts = count_forms(replies)
    names = {ends: _name(forms_of(ends), counts, decisions) for ends in set(replies)}
    return [names[ends] for ends in replies]


def count_forms(replies: Sequence[Ends]) -> Counter[str]:
    """By form how many replies have it, whichever form they are counted under."""
    counts: Counter[str] = Counter()
    for ends, count in Counter(replies).items():
        for form in forms_of(ends):
            counts[form] += count
    return counts


def _name(forms: Sequence[str], counts: Mapping[str, int], decisions: FormDecisions) -> str:
    listed = decisions.form_of(forms)
    if listed is not None:
        return listed
    shared = [form for form in forms if counts[form] >= LEAST_REPLIES]
    return max(shared, key=lambda form: counts[form] * _size(form), default="")


def _size(form: str) -> int:
    """The words of a form; a whole reply is worth one more than its beginning."""
    words = form.split(" ")
    return len(words) - 1 if _MORE in (words[0], words[-1]) else len(words) + 1


def _words(text: str, reply: Reply) -> list[str]:
    """The words of a part of a reply in lower case, with placeholders."""
    text = _without_options(text, reply.options)
    return [_word(match, text, reply) for match in _TOKEN.finditer(text)]


def _without_options(text: str, options: Sequence[str]) -> str:
    """A text with one character in place of each text of an option; single characters are taken for marks."""
    for option in sorted(set(options), key=lambda text: (-len(text), text)):
        if 2 <= len(option) <= _WINDOW:
            text = _replaced(text, option.strip(" ."))
    return text


def _replaced(text: str, option: str) -> str:
    lower = text.lower()
    words = option.lower()
    if len(lower) != len(text) or words not in lower:
        return text
    parts: list[str] = []
    start = 0
    for at in _places(lower, words):
        parts += [text[start:at], _OPTION]
        start = at + len(words)
    return "".join([*parts, text[start:]])


def _places(lower: str, words: str) -> Iterator[int]:
    """Where words stand in a text and are no part of longer ones."""
    at = lower.find(words)
    while at >= 0 and words:
        end = at + len(words)
        is_part = lower[at - 1 : at].isalnum() or lower[end : end + 1].isalnum()
        if not is_part:
            yield at
        at = lower.find(words, end)


def _word(match: re.Match[str], text: str, reply: Reply) -> str:
    word = match[0]
    before = text[match.start() - 1 : match.start()]
    after = text[match.end() : match.end() + 1]
    if word == _OPTION:
        return "[option]"
    if len(word) <= 2 and _is_mark(word, f"{before}{after}", reply):
        is_named = _NOUN.search(text, max(0, match.start() - _LONGEST_NOUN), match.start()) is not None
        if is_named or word not in "AI" or _ARTICLE.match(text, match.end()) is None:
            return "[mark]"
    if word[0].isdigit():
        return "[number]"
    return "[quote]" if word[0] in _QUOTES else word.lower().replace("’", "'")


def _is_mark(word: str, beside: str, reply: Reply) -> bool:
    """Whether a word may be the mark of an option; ``beside``: the characters around it."""
    positions = range(len(reply.options))
    is_dressed = any(character in "()[]{}" for character in beside)
    if reply.letters in ("digit", "lower"):
        style: Literal["digit", "lower"] = "digit" if reply.letters == "digit" else "lower"
        return is_dressed and word in {mark(style, index) for index in positions}
    marks = {mark("upper", index) for index in positions} if reply.letters == "upper" else set(reply.letters)
    return (word.upper() if is_dressed else word) in marks
