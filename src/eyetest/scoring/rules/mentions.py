"""Mentions of options in a reply: by mark, by text or by both; weighed elsewhere."""

import re
from collections.abc import Sequence
from itertools import chain
from string import ascii_letters
from typing import NamedTuple

from eyetest.scoring.rules.options import SIGNS, Beginning, Offer, Word, word_set, words_in

NOUN = r"(?:options?|choices?|answers?|letters?|alternatives?|captions?|statements?|number)"
_BEFORE = (
    rf"\s{{0,9}}(?:(?:the\s{{1,3}})?(?P<noun>{NOUN})\s{{0,3}}[:#]?\s{{0,3}})?(?P<open>[(\[\"'{{]{{0,2}})\s{{0,3}}"
)
_BEHIND = r"(?P<close>\s{0,3}[)\]\"'}]{1,2})?"
_LETTER = re.compile(
    rf"{_BEFORE}(?P<mark>[A-Za-z]){_BEHIND}"
    r"(?![A-Za-z0-9_'^²À-ɏ]|\s?=|-\w|\.\w|\s{0,2}\d{0,2}\s?[+×*/]\s?\d)",
    re.IGNORECASE,
)
_DIGIT = re.compile(rf"{_BEFORE}(?P<mark>\d{{1,2}}){_BEHIND}(?![A-Za-z0-9_'^²%°:/]|[.,]\d|\s?=)", re.IGNORECASE)
_RANKS = ("first", "second", "third", "fourth", "fifth", "one", "two", "three", "four", "five")
_NTH = re.compile(
    rf"\s{{0,9}}(?:[Tt]he\s(?P<nth>first|second|third|fourth|fifth|last)(?:\s(?:of\sthe\s\w+\s)?{NOUN}\b|(?=\.|$|\s(?:and|or)"
    rf"\sthe\s\w+(?:\.|\s{NOUN})))|(?:[Oo]ption|[Cc]hoice|[Nn]umber)\s(?P<count>one|two|three|four|five)\b)"
)
_NAMED = re.compile(r"he (?:first|second|third|fourth|fifth|last) ")
_SEPARATOR = re.compile(
    r"\s{0,3}(?:(?:[,/&+;、和或]\s{0,3})?(?:and|or|und|oder|et|ou|y|o)\s{1,3}|[,/&+;、和或-]\s{0,3}|(?<=[)\]】])\s{0,3}(?=[(\[【]))"
)
_GOES_ON = re.compile(
    r"\s{0,9}(?:$|[.,;:!?)\]\n–—(]|/[A-Za-z]\b|\s[&+]\s|[^\x00-\x7f]|-\s|\s(?:is|are|was|because|since|as|and|or|nor|with|for|but|would|"
    r"seems|due|which|that|has|matches|fits|describes|shows|appears|looks|also|if|then|can|cannot|could|in the|to be|"
    r"perché|porque|weil|est|ist|es|è)\b)",
    re.IGNORECASE,
)  # what follows a bare ``A``, ``I`` or small letter that is a mark and no word
_ENDS = re.compile(r"\s{0,9}(?:$|[.,;:!?)\]\n])")
_BETWEEN = re.compile(r"[\s.):,\-–—=\"'\]}(]{0,12}(?:which is\s)?")
_UNITS = word_set(
    "centimeter kilometer millimeter kilogram meter gram g newton hour minute second s milliliter liter l foot "
    "pound hertz k v w a j pa kw mpa kpa kn % ° c f th st nd rd year cent dollar euro"
)
LABELS = word_set(
    "figure fig image step country point object question table row column example part case section page year "
    "problem circle triangle line option choice pair sample player day week month group set type condition "
    "equation number no class level phase stage side angle vertex edge segment arc node curve axis value"
)
"""Words after which a number is a name, not an amount."""


class Mention(NamedTuple):
    """Options named together (-1: a mark that is not on offer), and how."""

    options: tuple[int, ...]
    start: int
    end: int
    by: str
    dressed: bool = False


def mark_at(text: str, at: int, end: int, offer: Offer) -> Mention | None:
    """The mark, or list of letters, with which a stretch of text begins."""
    first = _one_mark(text, at, end, offer, bare=True)
    if not first:
        return _glued(text, at, end, offer)
    options, start, stop, dressed = [first.options[0]], first.start, first.end, first.dressed
    while len(options) <= offer.count + 1 and (separator := _SEPARATOR.match(text, stop, end)):
        bare = not dressed or text[start - 1 : start] != "(" or "," in separator.group()
        other = _one_mark(text, separator.end(), end, offer, bare=bare)
        if not other or other.options[0] < 0 or text[other.start].islower() != text[start].islower():
            break
        if separator.group() == "-" or (
            text[other.start] in "AI" and not other.dressed and not _GOES_ON.match(text, other.end, end)
        ):
            break
        options.append(other.options[0])
        stop, dressed = other.end, dressed or other.dressed
    return Mention(tuple(dict.fromkeys(options)), start, stop, first.by, dressed)


_GLUED = re.compile(r"\s{0,9}[(\"']?([A-Z]{2,60})[)\"']?(?=[\s.]{0,9}$)")


def _glued(text: str, at: int, end: int, offer: Offer) -> Mention | None:
    """``AC``: letters in order, written as one word that ends the reply; ``BBBB`` is one mark."""
    word = _GLUED.match(text, at, end) if offer.letters == "upper" else None
    indices = [offer.positions[letter] for letter in word[1]] if word else []
    if not word or min(indices) < 0 or word[1] in offer.literal:
        return None
    if len(set(indices)) == 1 and len(indices) > 2:
        return Mention((indices[0],), *word.span(1), "mark", True)
    return Mention(tuple(indices), *word.span(1), "mark", True) if indices == sorted(set(indices)) else None


def _one_mark(text: str, at: int, end: int, offer: Offer, *, bare: bool) -> Mention | None:
    if nth := _NTH.match(text, at, end):
        word = nth["nth"] or nth["count"]
        rank = offer.count - 1 if word == "last" else _RANKS.index(word) % 5
        known = rank < offer.count and word not in offer.starts
        return Mention((rank,), nth.start(nth.lastgroup or 0), nth.end(), "rank", True) if known else None
    match = (_DIGIT if offer.letters == "digit" else _LETTER).match(text, at, end)
    if not match or text.startswith("N/A", match.start("mark")):
        return None
    mark, after = match["mark"], match.end()
    index = offer.positions.get(mark)
    if index is None:
        return None
    opened, closed = bool(match["open"].strip("\"'")), bool(match["close"] and match["close"].strip(" \"'"))
    dressed = opened or closed or bool(match["noun"])
    if not (opened or closed):
        small = mark.islower() or mark.isdigit() or mark in "AI"
        if small and not (_ENDS if mark.islower() and mark != "a" and not match["noun"] else _GOES_ON).match(
            text, after, end
        ):
            return None
        if (not bare and not dressed) or (mark == "I" and index < 0):
            return None
    return Mention((index,), match.start("mark"), after, "mark", dressed)


_BRACKETED = re.compile(r"[(\[](?<![\w)].)\s{0,2}(?:[A-Za-z]|\d{1,2})\s{0,2}[)\],]")
_CLOSED = re.compile(r"[A-Z](?<![\w.'(].)\)(?=[\s.,])")
_AFTER_NOUN = re.compile(
    rf"{NOUN}\s{{1,3}}[(\[\"']{{0,2}}(?:[A-Z](?![\w'-])|\d{{1,2}}(?![\w.])|(?:one|two|three|four|five)\b)",
    re.IGNORECASE,
)
_LINE_MARK = re.compile(r"\n[\s\-•]{0,6}[A-Z][.:](?=\s)")
NOUNS = ("option", "choice", "answer", "letter", "alternative", "caption", "statement", "number")


def letters_in(text: str, start: int, end: int, offer: Offer, nouns: Sequence[str] = NOUNS) -> list[Mention]:
    """Every mark in a stretch of text that is recognisable by its markup."""
    mentions: list[Mention] = []
    opened, closed = "(" in text or "[" in text, ")" in text and offer.letters != "digit"
    dresses = {dress.start() for dress in _BRACKETED.finditer(text, start, end)} if opened else set()
    if closed:
        dresses.update(dress.start() for dress in _CLOSED.finditer(text, start, end))
    if offer.letters != "digit":
        dresses.update(line.end() - 2 for line in _LINE_MARK.finditer(text, start, end))
    for word in _NAMED.finditer(text, start, end) if nouns else ():
        nth = _NTH.match(text, word.start() - 1, end) if word.start() else None
        if nth and (nth.end() > nth.end("nth") or text.startswith(" ", nth.end())):
            dresses.add(nth.start())
    for spelling in (spelling for noun in nouns for spelling in (noun[1:], noun[1:].upper())):
        at = text.find(spelling, start, end)
        while at > 0:
            if named := _AFTER_NOUN.match(text, at - 1, end):
                dresses.add(named.start())
            at = text.find(spelling, at + 1, end)
    at = start
    for dress in sorted(dresses):
        mention = mark_at(text, dress, end, offer) if dress >= at else None
        if mention and text[mention.end : mention.end + 1] in (".", ":"):
            mention = mention._replace(dressed=True)
        if not mention:
            continue
        small = text[mention.start].islower() and not text[mention.start + 1 : mention.start + 2].isalpha()
        if not small or offer.lettered or _is_item(text, mention, dress, end, offer):
            mentions.append(mention)
            at = mention.end
    return mentions


def _is_item(text: str, mention: Mention, at: int, end: int, offer: Offer) -> bool:
    """Whether a small letter is a mark: its line begins with it, or its own text follows."""
    before = text[text.rfind("\n", 0, at) + 1 : at].strip(" -•")
    return not before or with_text(mention, text, end, offer)[0].by == "both"


_BARE = re.compile(r"[A-Z](?<![\w'.(\-∠△⊙].)(?![\w'\-]|\.\w|\s?[=+×<>^)→])")


def bare_letters_in(text: str, start: int, end: int, offer: Offer) -> list[Mention]:
    """Capital letters alone, unless the options or the word before make them names of things."""
    mentions: list[Mention] = []
    if offer.letters == "digit":
        return mentions
    nouns = frozenset() if offer.lettered or offer.labelled else _nouns_of_letters(text, start, end)
    for letter in _BARE.finditer(text, start, end):
        if letter.group() == "I" and not _ENDS.match(text, letter.end()):
            continue
        before = text[max(start, letter.start() - 20) : letter.start()]
        if word := before[len(before[:-1].rstrip(ascii_letters)) : -1] if before[-1:].isspace() else "":
            at = letter.start() - 1 - len(word)
            is_name = word[0].isupper() and text[max(0, at - 2) : at].strip(" \n.!?")
            if word.lower() in LABELS or word in nouns or is_name:
                continue
        mention = mark_at(text, letter.start(), end, offer)
        if not mention or mention.options == (-1,) or (offer.labelled and len(mention.options) == 1):
            continue
        if not mentions or letter.start() >= mentions[-1].end:
            mentions.append(mention)
    return mentions


_NOUN_OF_LETTER = re.compile(r"\b([a-z]{4,20}) ([A-Z])(?![\w'])")
_LETTER_WORDS = word_set(
    "option options choice choices answer answers letter letters alternative statement caption choose chose choosing "
    "pick select selecting with therefore thus hence only either both eliminate exclude reject rule between from "
    "than into that this would could might must should leaves leaving means makes making prefer conclude correct "
    "right wrong"
)


def _nouns_of_letters(text: str, start: int, end: int) -> frozenset[str]:
    """The words before two different letters or more, which name things: ``drug A`` and ``drug B``."""
    letters: dict[str, set[str]] = {}
    for match in _NOUN_OF_LETTER.finditer(text, start, end):
        if match[1] not in _LETTER_WORDS:
            letters.setdefault(match[1], set()).add(match[2])
    return frozenset(noun for noun, marks in letters.items() if len(marks) > 1)


def runs(text: str, offer: Offer) -> list[list[Mention]]:
    """Lists: letters in their order, each at the beginning of a line or in brackets, closely after one another."""
    lists: list[list[Mention]] = []
    if not _SECOND.search(text):
        return lists
    for mark in _items(text, offer):
        last = lists[-1][-1] if lists else None
        if last and "nswer" not in text[last.end : mark.start] and _follows(mark, last, lists[-1], offer):
            lists[-1].append(mark)
        else:
            lists.append([mark])
    return [run for run in lists if len(run) > 1]


def _follows(mark: Mention, last: Mention, run: list[Mention], offer: Offer) -> bool:
    """Whether a mark continues a list: it is the next one, or a new one after hardly more than a text."""
    gap, index = mark.start - last.end, last.options[0]
    if mark.options[0] == index + 1:
        return gap <= offer.longest + _FAR
    near = (len(offer.texts[index]) if index < offer.count else 0) + _NEAR
    return gap <= near and all(mark.options != other.options for other in run)


_FAR = 250
_NEAR = 30
_SECOND = re.compile(r"[B-Jb-j2-9]\s?[).:\]]")  # every list of two or more has one of these
_ITEM = re.compile(r"[).:\]](?:(?<=\W\w.)|(?<=\W\d\d.)|(?<=\W\w\s.))")
_LINE_HEAD = re.compile(r"[\s\-•|\]\[x(]*(?:(?:[Oo]ption|[Cc]hoice)\s{1,3})?$")


_SEPARATORS = frozenset(";；。，,?？:：\n")
"""What stands before an item of a list in a script without blanks: ``A:大;B:小``."""


def _items(text: str, offer: Offer) -> list[Mention]:
    """Letters that begin an item: at the beginning of a line, or between brackets."""
    letters = []
    is_ascii = text.isascii()
    if text[1:2] in (")", ".", ":") and text[0] in offer.positions:
        letters.append(Mention((_rank(text[0]),), 0, 2, "mark", True))
    for item in _ITEM.finditer(text):
        stop = item.start()
        end = stop - 1 if text[stop - 1].isspace() else stop
        at = end - 2 if text[end - 2 : end].isdigit() else end - 1
        if text[at:end] not in offer.positions:
            continue
        is_between = not is_ascii and (at == 0 or text[at - 1] in _SEPARATORS)
        if text[stop] in ".:" and not text[stop + 1 : stop + 2].isspace() and not is_between:
            continue
        if text[stop] in ")]" or is_between or _LINE_HEAD.match(text, text.rfind("\n", 0, at) + 1, at):
            letters.append(Mention((_rank(text[at:end]),), at, stop + 1, "mark", True))
    return letters


def _rank(mark: str) -> int:
    """Index of a mark, on offer or not."""
    return int(mark) - 1 if mark.isdigit() else ord(mark.upper()) - ord("A")


def texts_in(text: str, words: list[Word], offer: Offer) -> list[Mention]:
    """Every option that is named by its whole text, the longest at each word."""
    mentions: list[Mention] = []
    at = 0
    while at < len(words):
        step = 1
        for tokens, index in offer.starts.get(words[at].form, ()):
            size = len(tokens)
            named = size == 1 or tuple(word.form for word in words[at : at + size]) == tokens
            if named and index not in offer.lettered and is_whole(text, words, at, at + size):
                mentions.append(Mention((index,), words[at].start, words[at + size - 1].end, "text"))
                step = size
                break
        at += step
    return mentions


def text_at(text: str, at: int, end: int, offer: Offer) -> Mention | None:
    """The option whose text a stretch begins with, whatever bracket, point or article comes first."""
    between = _BETWEEN.match(text, at, end)
    start = between.end() if between else at
    if start < end and text[start - 1 : start] == "-" and text[start].isdigit():
        start -= 1
    end = min(end, start + 2 * offer.longest + 40)
    if not offer.may_begin(text, start, end):
        return None
    words = words_in(text, start, end)
    first = next(words, None)
    second = next(words, None) if first and first.form == "a" else None
    first = second or first
    if not first or first.start - start > 5:
        return None
    return _text_of(text, Beginning(chain([first], words)), offer)


def _text_of(text: str, beginning: Beginning, offer: Offer) -> Mention | None:
    """The longest option that is the beginning of some words."""
    beginning.reach(1)
    for tokens, index in offer.starts.get(beginning.words[0].form, ()):
        if index in offer.lettered or not beginning.equals(tokens):
            continue
        beginning.reach(len(tokens) + 1)
        words = beginning.words
        if is_whole(text, words, 0, len(tokens)):
            return Mention((index,), words[0].start, words[len(tokens) - 1].end, "text")
    return None


def is_whole(text: str, words: list[Word], first: int, last: int) -> bool:  # noqa: PLR0911 (one a kind of part)
    """Whether the words from first to last are no part of a longer number, formula or amount."""
    if not any(word.form[0].isdigit() or word.form in SIGNS for word in words[first:last]):
        return True
    if first:
        before, gap = words[first - 1], text[words[first - 1].end : words[first].start]
        if (before.form in SIGNS and before.form != ":" and "\n" not in gap) or "^" in gap or before.form in LABELS:
            return False
        if before.form[0].isdigit() and gap.strip(" ()[]") == "":
            return False
        if not gap and before.form.isalpha() and before.form not in _UNITS:
            return False
    if last < len(words):
        after, gap = words[last], text[words[last - 1].end : words[last].start]
        loose = "\n" not in gap and "," not in gap and "." not in gap and ";" not in gap
        if (after.form in SIGNS or after.form == "=") and loose:
            return False
        if after.form[0].isdigit() and loose and gap.strip(" ()[]{}^") in ("", "and"):
            return False
        if not gap and after.form.isalpha() and after.form not in _UNITS:
            return False
    return True


def with_text(mention: Mention, text: str, end: int, offer: Offer) -> tuple[Mention, int | None]:
    """A mark together with its own text behind it; or the other option whose text is there."""
    found = text_at(text, mention.end, end, offer)
    index = mention.options[0]
    if found is None or len(mention.options) > 1:
        return mention, None
    if found.options[0] == index:
        return Mention(mention.options, mention.start, found.end, "both", True), None
    own = offer.forms[index] if index >= 0 else ()
    written = Beginning(words_in(text, found.start, min(end, found.start + 2 * offer.longest + 40)))
    if own and written.equals(own):
        return mention, None
    return mention, found.options[0]
