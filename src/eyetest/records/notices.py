"""Notices that a call failed, sent as if they were replies of the model."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec

# A reply that is a notice of a service about a failed call must not count as wrong. Words that count for a notice are
# those of services; a reply in the first person, or one that commits to an option or describes an image, is an
# answer, whatever errors it mentions.

_LONGEST, _LONGEST_SENTENCES, _LONGEST_DOCUMENT = 600, 400, 20_000
_TRACE = "Traceback (most recent call last)"
_ERROR_NAMES = ("error", "errors")
_TEXT_NAMES = ("detail", "details", "message", "msg", "reason")
_FENCE = "```"
_FENCE_HEAD = re.compile(r"\w*\s*")
_LEAD = re.compile(r"\W{0,3}(?:final )?answer\W{0,3}[:：]\W{0,3}", re.IGNORECASE)
_LONGEST_BARE = 3  # a phrase of so many words behind "Answer:" is what is read in an image
_LONGEST_PHRASE = 120
_LONGEST_SHOWN_PHRASE, _MOST_SHOWN_WORDS = 60, 7
_LEAST, _LEAST_BY_WORD = 3, 0.2
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|[。！？!?\n]+")
_NAMES = re.compile(r"""(['"`“「])[^'"`”」]{1,60}(['"`”」])|\S*[\d/]\S*""")  # of models, numbers, addresses
_LETTER = re.compile(r"\w")
_OPTION_LETTER = re.compile(r"^\W{0,3}[a-z0-9][.):]\W{0,3}")
_LEAST_SHARE = 0.35
_SIGN = 0.25  # so much less of a reply has to speak of a service for each further sign that it does
_FIRST_PERSON = re.compile(r"\bi(?:'m| am| can|'ll| will| do)?\b|\bmy\b")
_OF_IMAGES = re.compile(r"\b(?:image|picture|photo|figure|diagram|chart|graph|screenshot|question)s?\b")
LASTING = ("content-filter", "auth", "bad-request")  # failures that would recur


# White space, characters without a shape, and tokens that end a text: a reply of these alone says nothing
_BLANK = re.compile(
    r"(?:[\s\x00-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202f"
    r"\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U000e0000-\U000e0fff]"
    r"|<\|[\w-]{1,30}\|>|</?s>|<(?:pad|eos|bos|unk|end_of_turn|eot)>|\[(?:EOS|PAD|UNK)\])*+",
    re.IGNORECASE,
)


def is_blank(text: str) -> bool:
    """Whether a reply says nothing: only white space, characters without a shape, and tokens that end a text."""
    return _BLANK.fullmatch(text) is not None


class _Language(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words of a language: parts of a service, what became of them, what to do about it; words of answers."""

    subjects: list[str]
    predicates: list[str]
    pleas: list[str]
    answers: list[str]
    context: list[str] = []  # other words that stand beside these
    least: float = 0.78  # the least share of a reply that its words have to cover
    letters: str = ""  # its script, where it is not Latin
    stems: str = ""  # parts of words, separated by |, one of which is in every notice

    def may_fit(self, folded: str) -> bool:
        """Whether a reply can be a notice in this language at all: a fast test."""
        if self.letters:
            return not folded.isascii() and re.search(self.letters, folded) is not None
        return any(stem in folded for stem in self.stems.split("|"))


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file with the words."""

    hints: str
    weights: dict[int, list[str]]
    answers: list[str]
    kinds: dict[str, str]
    title: str
    fields: list[str]
    alone: list[str]
    marks: list[str]
    stated: list[str]
    reported: list[str]
    languages: dict[str, _Language]
    empty: list[str]
    persona: str
    topics: str
    reading: str


@cache
def _file() -> _File:
    return msgspec.yaml.decode(files(__package__).joinpath("notices.yaml").read_bytes(), type=_File, strict=False)


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """The patterns of a list of the file as one."""
    return re.compile("|".join(getattr(_file(), name)))


@cache
def _weighed_words(weight: int) -> re.Pattern[str]:
    return re.compile("|".join(_file().weights[weight]))


@cache
def _words(language: str, role: str) -> re.Pattern[str]:
    """The words of a language in a role as one pattern."""
    return re.compile("|".join(getattr(_file().languages[language], role)) or r"(?!)")


def is_expected(reply: str, texts: Iterable[str]) -> bool:
    """Whether an item asks for such a reply, so that it is an answer, although it could be a notice.

    ``texts``: the question and the options. The reply is an option, names an option of several words, or the item
    itself speaks of errors of programs and services, or asks what is written and gets a short phrase. The answer key
    is not consulted: a wrong answer about an error is an answer as well. A service that repeats one phrase for many
    items is named by `eyetest.results.suspects`.
    """
    folded_texts = [_folded(text) for text in texts]
    folded = _folded(reply)
    bare = _without_marks(folded)
    for text in folded_texts[1:]:
        option = _without_marks(text)
        is_named = len(option.split()) > 1 and option in bare
        if option and (bare == option or is_named):
            return True
    if any(re.search(_file().topics, text) for text in folded_texts):
        return True
    is_phrase = len(bare) <= _LONGEST_SHOWN_PHRASE and len(bare.split()) <= _MOST_SHOWN_WORDS
    return is_phrase and any(re.search(_file().reading, text) for text in folded_texts[:1])


def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _without_marks(folded: str) -> str:
    """The text without punctuation around it and without the letter of an option before it."""
    return _OPTION_LETTER.sub("", folded).strip(" .!?:;,…*\"'`()[]{}")


def failure_notice(text: str) -> str:
    """A countable word for why a call failed, if a reply says nothing else; else empty."""
    reply = _unwrapped(text.strip())
    is_document = reply.startswith(("<", "{", "[", _TRACE))
    if not reply or len(reply) > (_LONGEST_DOCUMENT if is_document else _LONGEST):
        return ""
    folded = _folded(reply)
    if _is_notice(reply, folded):
        words = folded.replace("_", " ")
        return next((kind for kind, pattern in _file().kinds.items() if re.search(pattern, words)), "server")
    return ""


def _unwrapped(reply: str) -> str:
    """A reply without a fence around all of it and without "Answer:" before it, where more than a phrase is left."""
    bare = reply
    if reply.startswith(_FENCE) and reply.endswith(_FENCE):
        inner = reply.removeprefix(_FENCE).removesuffix(_FENCE)
        head = _FENCE_HEAD.match(inner) if "\n" in inner else None
        bare = (inner[head.end() :] if head else inner).strip()
    lead = _LEAD.match(bare)
    rest = bare[lead.end() :].rstrip() if lead else bare
    is_phrase = lead is not None and len(rest.split()) <= _LONGEST_BARE
    return reply if is_phrase or not rest else rest


def _is_notice(reply: str, folded: str) -> bool:
    if folded.startswith(("<!doctype html", "<html", "<head")):
        return re.search(_file().title, folded) is not None
    if _is_error_object(reply) or _is_traceback(reply):
        return True
    if len(folded) > _LONGEST or _pattern("reported").search(folded) or _is_data(reply):
        return False
    if len(folded) <= _LONGEST_PHRASE and _pattern("alone").fullmatch(folded.strip(" .!…*\"'")):
        return True
    words = folded.replace("_", " ")
    return _reads_as_notice(words) or _speaks_of_service(words)


def _is_traceback(reply: str) -> bool:
    """Whether a reply is the trace of a program's error, whose last line names the error."""
    return reply.startswith(_TRACE) and '  File "' in reply


def _reads_as_notice(folded: str) -> bool:
    """Whether the weights of English phrases are those of a notice."""
    if not re.search(_file().hints, folded) or _pattern("answers").search(folded):
        return False
    score = 0
    for weight in _file().weights:
        score += weight * len(set(_weighed_words(weight).findall(folded)))
    return score >= max(_LEAST, _LEAST_BY_WORD * len(folded.split()))


def _speaks_of_service(folded: str) -> bool:
    """Whether a sentence says what became of a part of a service, and the reply speaks of little else."""
    if len(folded) > _LONGEST_SENTENCES:
        return False
    languages = [name for name, language in _file().languages.items() if language.may_fit(folded)]
    if not languages or (_pattern("answers").search(folded) and not _is_persona(folded)):
        return False
    return any(_fits(folded, language) for language in languages)


def _is_persona(folded: str) -> bool:
    """Whether the first person in a reply is a service: it speaks of servers and of no image."""
    if re.search(_file().persona, folded) is None or _OF_IMAGES.search(folded):
        return False
    rest = _FIRST_PERSON.sub(" ", folded)
    return _pattern("answers").search(rest) is None


def _fits(folded: str, language: str) -> bool:
    """Whether a reply is a notice in the words of a language."""
    if _words(language, "answers").search(folded):
        return False
    predicates, pleas = _spans(_words(language, "predicates"), folded), _spans(_words(language, "pleas"), folded)
    if not predicates and not pleas:
        return False
    subjects = _spans(_words(language, "subjects"), folded)
    marks = _spans(_pattern("marks"), folded)
    says = bool(predicates) and bool(subjects) and _in_one_sentence(folded, language)
    asks = bool(pleas) and bool(predicates or subjects)
    is_marked = bool(marks) and bool(predicates or subjects)
    if not (says or asks or is_marked):
        return False
    signs = says + asks + is_marked
    least = _file().languages[language].least - _SIGN * (signs - 1)
    context = _spans(_words(language, "context"), folded)
    return _share(folded, subjects | predicates | pleas | marks | context) >= max(least, _LEAST_SHARE)


def _in_one_sentence(folded: str, language: str) -> bool:
    """Whether a subject and a predicate that are not the same words stand in one sentence."""
    for sentence in _SENTENCE.split(folded):
        subjects = _spans(_words(language, "subjects"), sentence)
        predicates = _spans(_words(language, "predicates"), sentence)
        if subjects and predicates and subjects - predicates and predicates - subjects:
            return True
    return False


def _spans(pattern: re.Pattern[str], text: str) -> set[int]:
    """The places of all characters that a pattern matches."""
    places: set[int] = set()
    for match in pattern.finditer(text):
        places.update(range(*match.span()))
    return places


def _share(folded: str, places: set[int]) -> float:
    """The share of the letters that stand at these places, without words that say nothing."""
    empty_places = (_spans(_pattern("empty"), folded) | _spans(_NAMES, folded)) - places
    letters = {match.start() for match in _LETTER.finditer(folded)} - empty_places
    return len(letters & places) / len(letters) if letters else 0.0


def _is_error_object(reply: str) -> bool:
    """Whether a reply is only the JSON of an error: it has an error, a code of one, or a text that is a notice."""
    with suppress(ValueError, RecursionError):
        value = json.loads(reply)
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(value, dict):
            fields = {str(name).casefold(): inner for name, inner in value.items()}
            return fields.keys() <= {*_file().fields} and (_has_error(fields) or _has_text_of_error(fields))
    return False


def _has_error(fields: Mapping[str, Any]) -> bool:
    """Whether the object has an error that is more than a number, or a code, type or flag beside a text."""
    if any(fields.get(name) and not isinstance(fields[name], int | float) for name in _ERROR_NAMES):
        return True
    codes = [fields.get(name) for name in ("code", "status", "status_code")]
    numbers = [code for code in codes if isinstance(code, int) and not isinstance(code, bool)]
    is_code = any(number not in (0, 1, 200) for number in numbers) and bool(fields.keys() & {*_TEXT_NAMES})
    is_status = any(400 <= number < 600 for number in numbers) and "title" in fields
    is_flag = fields.get("success") is False or fields.get("object") == "error" or fields.get("error") is True
    return is_flag or is_code or is_status


def _has_text_of_error(fields: Mapping[str, Any]) -> bool:
    """Whether a message, a detail or a status is a list of problems, or a text that is a notice."""
    for name in (*_TEXT_NAMES, "status"):
        text = fields.get(name)
        if isinstance(text, list | dict) and text:
            return True
        if isinstance(text, str) and (_states_failure(text) or failure_notice(text)):
            return True
    return False


def _states_failure(text: str) -> bool:
    """Whether a text beside a name for messages says that a call failed."""
    return _pattern("stated").fullmatch(text.casefold().strip(" .!")) is not None


def _is_data(reply: str) -> bool:
    """Whether a reply is a JSON object of numbers alone, which says nothing of a service."""
    with suppress(ValueError, RecursionError):
        value = json.loads(reply)
        return isinstance(value, dict) and all(isinstance(inner, int | float) for inner in value.values())
    return False
