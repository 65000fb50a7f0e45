"""Options inside texts and the golds that name them; letters (``A. cat``) are no part of an option."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import takewhile
from string import ascii_uppercase
from typing import Any, Literal, NamedTuple, get_args

from eyetest.errors import InputError, param
from eyetest.records import MAX_CHOICES, letter
from eyetest.tabular.table import parse_array, parse_list, parse_object

GoldStyle = Literal["letter", "text", "index", "number"]
GOLD_STYLES: tuple[GoldStyle, ...] = get_args(GoldStyle)
_STYLES = (r"\(({})\)\s*", r"({})[)、]\s*", r"({})\.\s+", r"({}):\s+")
_TIGHT = r"({})\.(?=\S)"
_FEWEST_TIGHT = 3  # ``A.M.`` and ``B.C.`` are no marked options; three in a row are
# ``(A) and (B)`` and ``(A) is larger`` refer to something that is named A.
_GOES_ON = re.compile(r"(?:and|or|only|is|are|was|has|will|nor|but|then)\b|[&,;=→]|[<>+/-]\s", re.IGNORECASE)
_HEADER = re.compile(r"(?:\A|\n)[ \t]*(?:Options|Choices)[ \t]*:\s*\Z", re.IGNORECASE)
_LAYOUTS: tuple[tuple[str, str, str], ...] = (
    (r"(?:(?<=:)|(?<=, )|(?<=[:\n] ))", "{}: ", ", "),  # after a header
    *((r"(?<=\n)", f"{mark} ", "\n") for mark in ("({})", "{}.", "{})", "{}:")),
    *((r"(?<![\w(])", mark, "") for mark in ("({})", "{})")),
)
"""Options inside a question: what precedes a mark, the mark, the text between options ("" if free)."""


class Offered(NamedTuple):
    """The question and options of a row."""

    question: str  # without the options, if they were inside it
    names: tuple[str, ...] = ()  # the letters that the file gives the options; there may be gaps
    texts: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()  # the options with their letters, as written in the file


def plain_offer(texts: Sequence[str], question: str = "") -> Offered:
    """Options with the usual letters and none in their texts."""
    return Offered(question, tuple(letter(i) for i in range(len(texts))), tuple(texts), tuple(texts))


_LABELS = ("label", "id", "key", "letter", "idx", "index")
_TEXTS = ("text", "content", "option", "value", "choice")


def listed_options(value: Any) -> dict[str, str] | None:
    """The options that a value lists, by letter; None where it lists none.

    It may be a list or an array, also one written as text (JSON, Python, NumPy), an object by letter, an object of
    texts beside their labels, or a list of objects that have both.
    """
    if isinstance(value, str):
        value = _read_literal(value)
    elif hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return _options_by_name(value)
    if not isinstance(value, list | tuple):
        return None
    if len(value) == 1 and isinstance(value[0], list):
        value = value[0]  # one item of MMMU-Pro's release is wrapped twice
    if value and all(isinstance(part, dict) for part in value):
        return _options_of_objects(value)
    if not all(isinstance(part, str | int | float) for part in value):
        return None
    if len(value) > MAX_CHOICES:
        return {str(position): str(part) for position, part in enumerate(value)}  # there are no letters for so many
    return {letter(position): str(part) for position, part in enumerate(value)}


def _read_literal(text: str) -> Any:
    """The list or object that a text spells; None where it spells neither."""
    if text.lstrip().startswith("{"):
        return parse_object(text)
    parts = parse_list(text)
    return parse_array(text) if parts is None else parts


def _options_by_name(record: dict[str, Any]) -> dict[str, str] | None:
    """The options of an object: its values by letter or number, or texts in one list and labels in another."""
    texts = next((record[name] for name in _TEXTS if isinstance(record.get(name), list)), None)
    if texts is not None:
        labels = next((record[name] for name in _LABELS if isinstance(record.get(name), list)), None)
        if labels is not None and len(labels) == len(texts):
            return _labelled(labels, texts)
        return None
    filled = {name: text for name, text in record.items() if text is not None}
    if not filled:
        return {}
    return _labelled([*filled], [*filled.values()])


def _options_of_objects(objects: Sequence[dict[str, Any]]) -> dict[str, str] | None:
    """The options of a list of objects, each with a label and a text."""
    for label_name in _LABELS:
        for text_name in _TEXTS:
            if all(label_name in part and text_name in part for part in objects):
                return _labelled([part[label_name] for part in objects], [part[text_name] for part in objects])
    return None


def _labelled(labels: Sequence[Any], texts: Sequence[Any]) -> dict[str, str] | None:
    """Texts by their letters, in the order of these; numbers as labels become letters."""
    if not labels or not all(isinstance(text, str | int | float) for text in texts):
        return None
    names = [str(label).strip().strip("().:").upper() for label in labels]
    if len(set(names)) < len(names):
        return None
    if all(len(name) == 1 and name in ascii_uppercase for name in names):
        return {name: str(text) for name, text in sorted(zip(names, texts, strict=True))}
    if all(name.isascii() and name.isdigit() for name in names):
        ordered = sorted(zip(map(int, names), texts, strict=True))
        return {letter(position): str(text) for position, (_, text) in enumerate(ordered)}
    return None


_HIDDEN = ("", "?")
_LETTERS = re.compile(r"\(?([A-Za-z])\)?[.:]?")
_SEVERAL = re.compile(r"[A-Z](?:\s*(?:[,;]\s*)?[A-Z])+")
_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?")


def is_missing(answer: Any) -> bool:
    """Whether a choice item's answer is withheld, as in held-back test sets."""
    return answer is None or (isinstance(answer, str) and answer.strip() in _HIDDEN) or answer == []


def find_gold(answer: Any, offered: Offered, style: GoldStyle) -> tuple[int, ...] | None:
    """Positions of the right options, or None where the answer matches none of them."""
    if isinstance(answer, list | tuple):
        golds = [find_gold(part, offered, style) for part in answer]
        return None if None in golds else tuple(sorted({i for part in golds if part for i in part}))
    return _FINDERS[style](answer, offered)


def _by_letter(answer: Any, offered: Offered) -> tuple[int, ...] | None:
    text = answer.strip() if isinstance(answer, str) else ""
    text = text.upper() if "," in text else text
    match = _LETTERS.fullmatch(text)
    names = [match[1].upper()] if match else re.findall("[A-Z]", text) if _SEVERAL.fullmatch(text) else []
    if not names or names != sorted(set(names)) or not {*names} <= {*offered.names}:
        return None
    return tuple(map(offered.names.index, names))


def _by_text(answer: Any, offered: Offered) -> tuple[int, ...] | None:
    text = str(answer)
    stripped, cells = ([option.strip() for option in options] for options in (offered.texts, offered.cells))
    for wanted, known in ((text, list(offered.texts)), (text.strip(), stripped), (text.strip(), cells)):
        if wanted in known:
            return (known.index(wanted),)
    numbers = [i for i, option in enumerate(stripped) if _NUMBER.fullmatch(option)]
    equal = [i for i in numbers if _NUMBER.fullmatch(text.strip()) and float(stripped[i]) == float(text)]
    return (equal[0],) if len(equal) == 1 else None  # spreadsheets write 0.50 as 0.5


def _by_index(answer: Any, offered: Offered, first: int = 0) -> tuple[int, ...] | None:
    is_text = isinstance(answer, str) and re.fullmatch(r"\d{1,2}", answer.strip()) is not None
    is_number = isinstance(answer, int) and not isinstance(answer, bool)
    position = int(answer) - first if is_text or is_number else -1
    return (position,) if 0 <= position < len(offered.texts) else None


_FINDERS: dict[GoldStyle, Callable[[Any, Offered], tuple[int, ...] | None]] = {
    "letter": _by_letter, "text": _by_text, "index": _by_index, "number": partial(_by_index, first=1),
}  # fmt: skip


def choose_style(sample: Iterable[tuple[Any, Offered]], where: str) -> GoldStyle:
    """The style in which every sampled answer, or else most of them, identifies an option."""
    answers = [(answer, offered) for answer, offered in sample if not is_missing(answer)]
    readings = {style: [find_gold(*pair, style) for pair in answers] for style in GOLD_STYLES}
    fits = {style: sum(gold is not None for gold in golds) for style, golds in readings.items()}
    fitting = [style for style in GOLD_STYLES if fits[style] == max(fits.values())]
    for style in fitting[1:]:
        if readings[style] != readings[fitting[0]]:
            both = f"answers can be read as {fitting[0]} or as {style}, with different results"
            hint = f"say which with {param('gold_style', fitting[0])} or {param('gold_style', style)}"
            raise InputError(f"{where}: {both}; {hint}")
    return fitting[0]


def without_letters(options: Sequence[str]) -> tuple[str, ...]:
    """The options without the letters that all of them have, in order and in one style."""
    texts, expected = tuple(options), [letter(position) for position in range(len(options))]
    while (bare := next((rest for letters, rest in _readings(texts) if letters == expected), None)) is not None:
        texts = bare
    return texts


def bring_letters(options: Sequence[str]) -> bool:
    """Whether all options have letters in one style, each a different one, in any order."""
    expected = [letter(position) for position in range(len(options))]
    return any(sorted(letters) == expected for letters, _ in _readings(options))


def _readings(options: Sequence[str]) -> Iterator[tuple[list[str], tuple[str, ...]]]:
    """The capital letters and the remaining texts in every style that all of two or more options have."""
    for pattern in _patterns(len(options)):
        matches = [match for match in takewhile(bool, map(pattern.match, options)) if match]
        texts = tuple(match.string[match.end() :] for match in matches)
        if len(matches) == len(options) and _say_something(texts):
            yield [match[1].upper() for match in matches], texts


@cache
def _patterns(options: int) -> Sequence[re.Pattern[str]]:
    styles = (*_STYLES, _TIGHT) if options >= _FEWEST_TIGHT else _STYLES if options > 1 else ()
    return [re.compile(r"\s*" + style.format(kind)) for style in styles for kind in ("[A-Z]", "[a-z]")]


def _say_something(rests: Sequence[str]) -> bool:
    """Whether texts without their letters are still options: none is empty, a duplicate or half a sentence."""
    stripped = [rest.strip() for rest in rests]
    return all(stripped) and len(set(stripped)) == len(stripped) and not any(map(_GOES_ON.match, stripped))


def split_options(text: str) -> tuple[str, tuple[str, ...]] | None:
    """The question without its options, and these; None where there are none or they cannot be separated."""
    for before, mark, between in _LAYOUTS:
        starts = _run_starts(text, before, mark)
        head = text[: starts[0]] if starts else ""
        header = _HEADER.search(head)
        if len(starts) < 2 or (between == ", " and not _is_clear(text, header, len(starts))):
            continue
        ends = [*(start - len(between) for start in starts[1:]), len(text)]
        width = len(mark.format("A"))
        bodies = [text[start + width : end] for start, end in zip(starts, ends, strict=True)]
        if not between:
            bodies = [body.strip().rstrip(",;").rstrip() for body in bodies[:-1]] + [bodies[-1].strip()]
        question = head[: header.start()] if header else head.removesuffix("\n") if between else head.rstrip()
        if between or all(bodies):
            return question, tuple(bodies)
    return None


def _is_clear(text: str, header: re.Match[str] | None, options: int) -> bool:
    """Whether options stand directly after a header, and no mark stands twice among them."""
    body = text[header.end() :] if header else ""
    return body.startswith("A: ") and all(body.count(f", {letter(i)}: ") == 1 for i in range(1, options))


def _run_starts(text: str, before: str, mark: str) -> list[int]:
    """Where marks of consecutive letters begin: the last A of the text, and each next letter after it."""
    patterns = (re.compile(before + re.escape(mark.format(letter(at)))) for at in range(MAX_CHOICES))
    *_, first = None, *next(patterns).finditer(text)
    starts = [] if first is None else [first.start()]
    for pattern in patterns if starts else ():
        if (match := pattern.search(text, starts[-1] + 1)) is None:
            break
        starts.append(match.start())
    return starts
