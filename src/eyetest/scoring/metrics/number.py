r"""Numbers and lists of numbers, compared by value (``docs/scoring.md``).

An answer gives the first number in its last ``<answer>…`` or ``\boxed{…}`` or behind its last ``answer is``; else the
last one that follows ``is``, ``equals`` or ``=``; else its last number. A part of a formula (``18\pi``, ``1:3``) is
none, but a formula that comes to a number is. It is right within half a unit of the gold's last decimal, or of the
tag ``precision``; a gold without decimals and the tag ``answer_type: integer`` ask for the very number. A gold of
several numbers asks for the same numbers in the same order.
"""

import math
import re
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import pairwise

import msgspec

from eyetest.scoring.conventions import writes_commas
from eyetest.scoring.metrics import BestReference, Context
from eyetest.scoring.metrics.same_text import exact
from eyetest.text import Level, Quantity, equal_numbers, find_quantities, plain_text, read_number, read_numbers, same
from eyetest.text.expressions import are_several, can_be_unit, read_expression, spelt, value_of
from eyetest.text.folding import EDGES, LONGEST, english_joiners, undressed
from eyetest.text.formulas import tokenise
from eyetest.text.numbers import LISTED_DECIMAL, READ, is_interval, is_part, unit_name, unit_of
from eyetest.text.tex import parsable_tex

_TAGGED = re.compile(r"<answer>([^<]{1,500})|\\f?box(?:ed)? ?\{", re.IGNORECASE)
_LONGEST_BOX = 300
_MOST_TAGGED = 50
# What may stand between the boxes of one answer: ``\boxed{1} \text{ and } \boxed{2}``
_BETWEEN_BOXES = re.compile(
    r"(?:[\s$,;&]|\\[ ,;()\[\]]|\\q?quad|\\text\s?\{[^{}]{0,40}\}|and\b|or\b|và\b|et\b|und\b|y\b|e\b|和|与|或){0,12}"
)
_ANSWER_NOUNS = (
    "antwort|lösung|respuesta|resposta|réponse|risposta|răspuns|ответ|відповідь|đáp án|đáp số|câu trả lời|jawaban|"
    "jawapan|cevap|odpowiedź|odpověď|antwoord|svar|svaret|vastaus|válasz|απάντηση"
)
_COPULAS = "ist|lautet|es|é|è|est|este|là|adalah|jest|je|är|er|is|on|είναι"
_FOREIGN_ANSWER = (
    rf"\b(?:{_ANSWER_NOUNS})\b(?: [^\W\d]{{1,12}}){{0,2}}?[ *_]{{0,4}}(?:[:=—–-]|\b(?:{_COPULAS})\b)[ *:_]{{0,4}}"
    r"|(?:答案|答え|正解|解答|答|정답|답)[】\]」]?[ *]{0,4}(?:[:：=】]|是|为|為|は|은|는|(?<=[】\]」]))[ *:：]{0,4}"
    r"|(?:الإجابة|الجواب|الاجابة)(?: [^\W\d]{1,12}){0,2} ?(?::|هي|هو)[ *:]{0,4}|(?:उत्तर|जवाब)(?: है)? ?[:：-][ *]{0,4}"
)
_ANSWER_ABROAD = re.compile(_FOREIGN_ANSWER, re.IGNORECASE)
_FOREIGN_NOUNS = tuple(_ANSWER_NOUNS.split("|"))
_FOREIGN_NOUNS += ("答", "正解", "解答", "정답", "답", "الإجابة", "الجواب", "الاجابة", "उत्तर", "जवाब")
_ANSWER = re.compile(
    r"(?<![^\W_])answer\b(?: is| was| would be| should be|s are)?\b[ :=*]{0,4}(?:that )?|#### ?", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"(?<=[.!?。])\s+(?=[^\s])|(?<=[。！？])(?=[^\s])|\n+")


def stated(text: str) -> str | None:
    r"""What stands in the last ``<answer>`` or ``\boxed{}``, or behind the last ``answer is``; None without one.

    A number that is announced behind the last box takes its place.
    """
    if tagged := _tagged_answers(text):
        later = _LATER_NUMBER.search(text, _end_of_tagged(text))
        return text[later.end() :] if later else tagged[-1]
    ends = sorted(announced.end() for announced in (*_ANSWER.finditer(text), *_announced_abroad(text)))
    return next((rest for end in reversed(ends) if (rest := text[end:].strip())), None)


_ANNOUNCED = re.compile(
    r"(?<![^\W_])answers?[ *_]{0,4}(?:(?:is|was|are|would be|should be)\b[ *_]{0,4}:?|[:=])[ *_]{0,4}(?=\S)",
    re.IGNORECASE,
)
_LATER_NUMBER = re.compile(r"\bfinal answer(?: is)?\b[ :*]{0,4}(?=[$€£-]{0,2}[0-9])", re.IGNORECASE)


def announcement(text: str) -> str | None:
    r"""What a reply gives as its answer in so many words: ``<answer>``, ``\boxed{}``, ``answer is``, ``answer:``."""
    if tagged := _tagged_answers(text):
        return tagged[-1]
    ends = [announced.end() for announced in (*_ANNOUNCED.finditer(text), *_announced_abroad(text))]
    return text[max(ends) :] if ends else None


def _announced_abroad(text: str) -> list[re.Match[str]]:
    """Where an answer is announced in a language other than English, in order."""
    lower = text.lower()
    if len(lower) != len(text):
        return list(_ANSWER_ABROAD.finditer(text))
    starts = {start for noun in _FOREIGN_NOUNS for start in _places(lower, noun)}
    matches = (_ANSWER_ABROAD.match(text, start) for start in sorted(starts))
    return [match for match in matches if match]


def _places(text: str, word: str) -> Iterator[int]:
    """Where a word stands in a text."""
    start = text.find(word)
    while start >= 0:
        yield start
        start = text.find(word, start + len(word))


def _end_of_tagged(text: str) -> int:
    r"""Where the last of ``<answer>`` and ``\boxed{`` begins its content."""
    return max(match.end() for match in _TAGGED.finditer(text))


def _tagged_answers(text: str) -> list[str]:
    r"""Contents of the last of ``<answer>`` and ``\boxed{}``, in order; neighbouring boxes are one list."""
    answers: list[str] = []
    last_end = -1
    for match in list(_TAGGED.finditer(text))[-_MOST_TAGGED:]:
        inner = match[1] or _boxed(text, match.end())
        if not inner.strip():
            continue
        is_neighbour = 0 <= last_end <= match.start() and _BETWEEN_BOXES.fullmatch(text, last_end, match.start())
        is_box = match[1] is None
        last_end = match.end() + len(inner) + 1 if is_box else -1
        if is_box and is_neighbour and inner.strip() not in answers[-1]:
            answers[-1] = f"{answers[-1]}, {inner}"
        else:
            answers.append(inner)
    return answers


def _boxed(text: str, start: int) -> str:
    """Text between matching braces; empty where they do not match."""
    depth = 1
    for at in range(start, min(len(text), start + _LONGEST_BOX)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return text[start:at]
    return ""


def first_sentence(text: str) -> str:
    """The text up to its first full stop."""
    return _SENTENCE_END.split(text.strip(), maxsplit=1)[0]


def conclusion(answer: str) -> str:
    r"""Where words are searched: behind the last ``answer is``, ``<answer>`` or ``\boxed{``, else at the end."""
    announced = stated(answer)
    return first_sentence(announced) if announced else _SENTENCE_END.split(answer.strip())[-1]


_SHORT = 200
_MARK = re.compile(r"(?:\\text\s?\{)?\(?[A-J]\)(?:\s?\})?[:.]?\s+(?=\S)")
_REMARK = re.compile(
    r"\s?\((?=[^()]{0,200}[a-z]{3})[^()]{1,200}\)[\s.*]*$"
    r"|,? (?:because|since|as|which|where|when|so that|by|if)\b.*$",
    re.DOTALL,
)
_SENTENCE_EDGES = EDGES.replace("*", "").replace("`", "") + "。、"
_TYPESET = re.compile(r"\$\$?([^$]{1,400})\$\$?|\\\((.{1,400}?)\\\)|\\\[(.{1,400}?)\\\]", re.DOTALL)
_OUTSIDE = frozenset(("word", "unknown"))
# Words before a formula that make it a part
_JOINING = frozenset(("to", "through", "plus", "minus", "times", "over", "by", "than", "not"))


def final_answers(answer: str) -> list[str]:
    """Texts to compare with a gold: a short reply, what it states, that without a remark, and its last formula."""
    boxes = _tagged_answers(answer)
    texts = [answer.strip()] if len(answer.strip()) <= _SHORT else []
    texts.append(boxes[-1] if boxes else conclusion(answer))
    for text in list(texts):
        bare = _REMARK.sub("", _MARK.sub("", text.strip(), count=1))
        texts += [bare, _last_formula(bare), _last_typeset(text)]
    return [text for text in dict.fromkeys(texts) if text]


_BULLET = re.compile(r"\s{0,8}(?:[-*•+]|[0-9]{1,2}[.)])\s+(\S.{0,100})")


def bulleted_list(answer: str) -> str:
    """The list whose items are the last lines of an answer, as one line; empty where they are none."""
    items: list[str] = []
    for line in reversed(answer.strip()[-LONGEST:].splitlines()):
        match = _BULLET.fullmatch(line)
        if match is None:
            break
        items.append(match[1].strip(EDGES))
    return ", ".join(reversed(items)) if len(items) > 1 else ""


def _last_typeset(text: str) -> str:
    """The last formula that a text sets between dollar signs or TeX brackets."""
    formulas = _TYPESET.findall(text[-LONGEST:])
    return next(part for part in formulas[-1] if part) if formulas else ""


def _last_formula(text: str) -> str:
    """The formula that ends a sentence, with its unit: all that follows the last other word."""
    spelling = english_joiners(undressed(parsable_tex(text[-LONGEST:])))
    plain = spelling.strip(_SENTENCE_EDGES)
    tokens = tokenise(plain) or []
    words = [index for index, token in enumerate(tokens) if token.kind in _OUTSIDE]
    behind = (index for index in words if index and tokens[index - 1].kind not in _OUTSIDE)
    end = next((index for index in behind if can_be_unit(spelt(tokens[index:]))), len(tokens))
    start = next((index for index in range(end - 1, -1, -1) if tokens[index].kind in _OUTSIDE), -1) + 1
    if start and tokens[start - 1].text.lower() in _JOINING:
        return ""
    while start < end and tokens[start].kind in (",", ":", "="):
        start += 1
    return plain[tokens[start].start :] if start < end else ""


_COMES_NEXT = re.compile(
    r"(?:\b(?:is|are|was|were|equals|equal to|be|ist|sind|beträgt|betragen|lautet|es|son|é|são|è|sono|est|sont|vaut|"
    r"vale|mide|là|bằng|adalah|hay|há|gibt es|il y a|có|ada|равен|равна|равно|равны|составляет|дорівнює|jest|wynosi)"
    r"|是|为|為|有|等于|は|은|는|[=≈:])[ *~$\\(]*(?:(?:about|approximately|"
    r"approx\.?|roughly|around|exactly|only|just|equal to|a total of) ?)?[ *~≈$\\(]*$",
    re.IGNORECASE,
)
_CUE_LENGTH = 40
_LONGEST_CONCLUSION = 500
_CONCLUDING = re.compile(
    r"\W{0,6}(?:so|therefore|thus|hence|in total|portanto|por (?:lo )?tanto|donc|also|daher|somit|quindi|vậy|do đó|"
    r"jadi|maka|итак|таким образом|поэтому|отже)\b|\W{0,6}(?:因此|所以|故|したがって|따라서)",
    re.IGNORECASE,
)
_OR = re.compile(r" ?[^\W\d]{0,12} ?,? ?\bor ?[$€£]?", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(
    r"(?<![\d.,(\[])(?:(?=0,)(?:(0),(\d+))|(\d{1,3}(?:[. '’\u00a0\u202f]\d{3})+|\d+),(\d{1,2}|\d{4,}))(?![\d,]|\.\d)"
)
_LONG_DECIMAL_COMMA = re.compile(r"(?<![\d.,(\[])(\d{1,3}),(\d{3})(?![\d,]|\.\d)")
_GROUPED = re.compile(
    r"(?<![\d.,])\d{1,3}(?:(?:\.\d{3}){2,}|(?:[ \u00a0\u202f]\d{3})+|(?:['’]\d{3})+)(?![\d,]|\.\d|/| /)"
)
_GROUPED_POINT = re.compile(r"(?<![\d.,])(\d{1,3})\.(\d{3})(?![\d,]|\.\d|/| /)")
_WHOLE_DECIMAL_COMMA = re.compile(r"[^\d,;]{0,4}\d+,\d+[^\d,;]{0,12}")
_SET = re.compile(r"\$*\s*\\?\{.*\}\s*\$*", re.DOTALL)
# What says the same number again at the end: in another unit, rounded, or by its parts
_REPHRASED = re.compile(
    r"(?:,? (?:which|that) (?:equals|is (?:equal to|about|the same as)|corresponds to|means)\b|, i\.e\.)[^\n]{0,200}$"
    r"|(?<=[0-9}]) ?(?:≈|\\approx) ?[-0-9.,]{1,20}[^\n0-9]{0,20}$| \([^()\n]{1,200}\)[\s.*]{0,5}$"
)
_COMMA_INSIDE = re.compile(r",[0-9]")
_FEWEST_GROUPED = 1_000
_CUT_LENGTH = 400
_BRACKET = re.compile(r"[\[({]([^\[\](){}]{1,2000})[\])}]")
_DIGIT = re.compile("[0-9]")
_SEPARATED = re.compile(r"[0-9][., ][0-9]")


class _Given(msgspec.Struct, frozen=True):
    """A number that an answer gives, and the text around it."""

    plain: str
    quantity: Quantity
    announced: bool


def final_number(text: str) -> Quantity | None:
    """The number or value of a formula that an answer gives; None for one of several."""
    given = _given(text)
    if given and (_is_alternative(given) or _are_several_answers(stated(text) or text)):
        return None
    return _computed(text) if given is None or is_part(given.plain, given.quantity) else given.quantity


def _are_several_answers(text: str) -> bool:
    """Whether an answer is a list of different numbers, or of formulas: ``1, -cos³β``."""
    if len({quantity.value for quantity in read_numbers(text)}) > 1:
        return True
    expression = read_expression(english_joiners(first_sentence(text)))
    return expression is not None and are_several(expression)


def _is_alternative(given: _Given) -> bool:
    """Whether a number has an alternative beside it: ``1978 or 1979``, ``between 3 and 4``."""
    quantities = find_quantities(given.plain)
    for before, after in pairwise(quantities):
        if given.quantity.start not in (before.start, after.start) or before.value == after.value:
            continue
        gap = given.plain[before.end : after.start]
        lead = given.plain[max(0, before.start - _CUE_LENGTH) : before.start].rstrip(" $€£").lower()
        if _OR.fullmatch(gap) or (lead.endswith("between") and gap.strip() == "and"):
            return True
    return False


def announces_number(text: str) -> bool:
    """Whether an answer states that a number is the answer, or what something *is*."""
    given = _given(text)
    return given is not None and given.announced


@lru_cache(maxsize=8)  # one reply is read once for each of its references
def _given(text: str) -> _Given | None:
    plain, quantities = _quantities(text)
    if (announced := stated(plain)) and (concluded := find_quantities(announced)):
        return _Given(announced, concluded[0], True)
    is_cut = len(text) > _CUT_LENGTH and text.rstrip()[-1:].isalnum()
    if is_cut:
        since = len(plain.rstrip()) - sum(map(len, _SENTENCE_END.split(plain.strip())[-2:])) - 1
        quantities = [quantity for quantity in quantities if quantity.start >= since]
    if only_number := _concluded_number(plain, quantities):
        return _Given(plain, only_number, True)
    for place in range(len(quantities) - 1, -1, -1):
        start = quantities[place].start
        if _COMES_NEXT.search(plain[max(0, start - _CUE_LENGTH) : start]):
            return _Given(plain, _total(plain, quantities, place), True)
    return _Given(plain, quantities[-1], False) if quantities else None


def _concluded_number(plain: str, quantities: list[Quantity]) -> Quantity | None:
    """The only number of a last sentence that draws a conclusion: ``So they jumped 67 inches.``"""
    last = _SENTENCE_END.split(plain.strip()[-_LONGEST_CONCLUSION:])[-1]
    if not _CONCLUDING.match(last):
        return None
    start = len(plain.rstrip()) - len(last)
    inside = [quantity for quantity in quantities if quantity.start >= start]
    return inside[0] if len(inside) == 1 else None


def _total(plain: str, quantities: list[Quantity], place: int) -> Quantity:
    """The number before a colon that the numbers behind it add up to (``5 bottles: 3 green and 2 brown``), or the
    number at a place.
    """
    before = quantities[place - 1] if place else None
    if before is None or ":" not in plain[before.end : quantities[place].start]:
        return quantities[place]
    behind = _SENTENCE_END.split(plain[quantities[place].start :], maxsplit=1)[0]
    parts = [
        quantity.value for quantity in quantities[place:] if quantity.end <= quantities[place].start + len(behind)
    ]
    is_sum = len(parts) > 1 and math.isclose(sum(parts), before.value)
    return before if is_sum else quantities[place]


def _computed(text: str) -> Quantity | None:
    for candidate in final_answers(text) if _DIGIT.search(text) else ():
        expression = read_expression(candidate)
        if expression and (computed := value_of(expression)):
            return Quantity(computed[0], unit=unit_of(computed[1]))
    return None


@lru_cache(maxsize=8)
def _quantities(text: str) -> tuple[str, list[Quantity]]:
    plain = plain_text(text, lone_one=False)
    quantities = find_quantities(plain)
    if quantities:
        return plain, quantities
    plain = plain_text(text)
    return plain, find_quantities(plain)


def _listed(text: str) -> list[Quantity]:
    """The list that an answer means, the likeliest of several; empty where it has none."""
    plain, everything = _quantities(text)
    concluded = first_sentence(stated(plain_text(text)) or "")
    lists = (_bracketed(concluded), find_quantities(concluded), _bracketed(plain), everything)
    return next((numbers for numbers in lists if len(numbers) > 1), [])


def _bracketed(plain: str) -> list[Quantity]:
    brackets = [numbers for inner in _BRACKET.findall(plain) if len(numbers := find_quantities(inner)) > 1]
    return brackets[-1] if brackets else []


def same_number(answer: Quantity, gold: Quantity, context: Context) -> bool:
    """Whether the answer is the gold, as far as the gold is precise."""
    precision = context.tags.get("precision")
    allowed = gold.step / 2 if gold.decimals else 0.0
    if context.tags.get("answer_type") == "integer":
        allowed = 0.0
    elif isinstance(precision, int | float) and 0 <= precision <= 15:
        allowed = 0.5 * 10.0**-precision
    if not gold.unit and (unit := context.tags.get("unit")):
        gold = msgspec.structs.replace(gold, unit=unit_name(str(unit)))
    return equal_numbers(answer, gold, allowed)


def decimal_points(text: str) -> str:
    """The same text with points for decimal commas: ``3,14`` and ``1.234,5``, not ``1,234`` or ``(3,14)``."""
    return _DECIMAL_COMMA.sub(_with_point, text) if _COMMA_INSIDE.search(text) else text


def _with_point(number: re.Match[str]) -> str:
    whole, decimals = (number[1], number[2]) if number[1] else (re.sub(r"\D", "", number[3]), number[4])
    return f"{whole}.{decimals}"


def _spellings(answer: str, reference: str, gold: Quantity, context: Context) -> list[str]:
    """An answer with its numbers as different conventions mean them, as far as the gold can tell them apart.

    ``3,5`` is 3.5, and ``12 500`` is 12500. Where the answer, the question or the reference shows that it writes
    decimal commas, ``3,125`` may be 3.125 if the gold is no integer, and ``12.500`` may be 12500 if the gold is an
    integer of four digits or more.
    """
    pointed = decimal_points(answer)
    spellings = [pointed]
    if abs(gold.value) >= _FEWEST_GROUPED and _is_integer(gold):
        spellings.append(_GROUPED.sub(lambda number: re.sub(r"[^0-9]", "", number[0]), pointed))
    with_commas = _spelling_with_commas(spellings[-1], gold)
    if with_commas != spellings[-1] and any(map(writes_commas, (answer, context.question, reference))):
        spellings.append(with_commas)
    if rephrased := _REPHRASED.search(pointed, max(0, len(pointed) - _LONGEST_CONCLUSION)):
        spellings.append(pointed[: rephrased.start()])
    return list(dict.fromkeys(spellings))


def _spelling_with_commas(answer: str, gold: Quantity) -> str:
    """An answer with its numbers as a text with decimal commas means them."""
    if not _is_integer(gold):
        return _LONG_DECIMAL_COMMA.sub(r"\1.\2", answer)
    return _GROUPED_POINT.sub(r"\1\2", answer) if abs(gold.value) >= _FEWEST_GROUPED else answer


def _is_integer(gold: Quantity) -> bool:
    return gold.value == int(gold.value)


def matches_number(answer: str, reference: str, context: Context) -> bool | None:
    """Whether an answer gives the number or list that the reference is; None where the reference is neither."""
    answer = answer[-READ:]
    if gold := read_number(reference):
        return _matches_single(answer, reference, gold, context)
    if _WHOLE_DECIMAL_COMMA.fullmatch(reference.strip()):
        pointed = LISTED_DECIMAL.sub(r"\1.\2", reference)
        if matches_number(answer, pointed, context):
            return True
    golds = read_numbers(reference)
    return _matches_list(answer, reference, golds, context) if golds else None


def _matches_list(answer: str, reference: str, golds: list[Quantity], context: Context) -> bool:
    """Whether an answer gives the numbers of a list, in any order where the reference is a set in braces."""
    if is_interval(first_sentence(stated(answer) or answer[-READ:])):
        return False
    is_set = _SET.fullmatch(reference.strip()) is not None
    for spelling in dict.fromkeys((answer, decimal_points(answer))):
        numbers = _listed(spelling)
        if len(numbers) != len(golds):
            continue
        pairs = zip(_sorted(numbers), _sorted(golds), strict=True) if is_set else zip(numbers, golds, strict=True)
        if all(same_number(number, gold, context) for number, gold in pairs):
            return True
    if same(bulleted_list(answer), reference):
        return True
    is_signed = "±" in answer or "\\pm" in answer
    return is_signed and any(same(text, reference) for text in final_answers(answer[-READ:]))


def _sorted(numbers: list[Quantity]) -> list[Quantity]:
    return sorted(numbers, key=lambda quantity: quantity.value)


def _matches_single(answer: str, reference: str, gold: Quantity, context: Context) -> bool:
    """Whether an answer gives one number, in any convention of writing it."""
    for spelling in _spellings(answer, reference, gold, context):
        final = final_number(spelling)
        if final is not None and same_number(final, gold, context):
            return True
    odd = len(answer) <= _SHORT and _SEPARATED.search(answer) is not None
    return odd and same(answer, reference, Level.VALUE, partial(same_number, context=context))


def number(answer: str, reference: str, context: Context) -> float:
    """1 for the same number or list. A reference that is neither, or tagged as text, is matched exactly."""
    matched = None if context.tags.get("answer_type") == "text" else matches_number(answer, reference, context)
    return exact(answer, reference, context) if matched is None else float(matched)


METRICS = (BestReference("number", "the same number or list of numbers, however written", number),)
