r"""Numbers and lists of numbers, compared by value (``docs/scoring.md``).

An answer gives the first number in its last ``<answer>…`` or ``\boxed{…}`` or behind its last ``answer is``; else the
last one that follows ``is``, ``equals`` or ``=``; else its last number. A part of a formula (``18\pi``, ``1:3``) is
none, but a formula that comes to a number is. It is right within half a unit of the gold's last decimal, or of the
tag ``precision``; a gold without decimals and the tag ``answer_type: integer`` ask for the very number. A gold of
several numbers asks for the same numbers in the same order.
"""

import re
from functools import partial
from itertools import pairwise

import msgspec

from eyetest.scoring.metrics import BestReference, Context
from eyetest.scoring.metrics.same_text import exact
from eyetest.text import Level, Quantity, equal_numbers, find_quantities, plain_text, read_number, read_numbers, same
from eyetest.text.expressions import can_be_unit, read_expression, spelt, value_of
from eyetest.text.folding import EDGES, LONGEST, undressed
from eyetest.text.formulas import tokenise
from eyetest.text.numbers import READ, is_interval, is_part, unit_name, unit_of

_TAGGED = re.compile(r"<answer>([^<]{1,500})|\\f?box(?:ed)? ?\{", re.IGNORECASE)
_LONGEST_BOX = 300
_MOST_TAGGED = 50
_ANSWER = re.compile(r"\banswer\b(?: is| was| would be| should be|s are)?\b[ :=*]{0,4}(?:that )?", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?。])\s+(?=[^\s])|\n+")


def stated(text: str) -> str | None:
    r"""What stands in the last ``<answer>`` or ``\boxed{}``, or behind the last ``answer is``; None without one."""
    if tagged := _tagged_answers(text):
        return tagged[-1]
    ends = [announced.end() for announced in _ANSWER.finditer(text)]
    return next((rest for end in reversed(ends) if (rest := text[end:].strip())), None)


_ANNOUNCED = re.compile(
    r"\banswers?[ *_]{0,4}(?:(?:is|was|are|would be|should be)\b[ *_]{0,4}:?|[:=])[ *_]{0,4}(?=\S)", re.IGNORECASE
)


def announcement(text: str) -> str | None:
    r"""What a reply gives as its answer in so many words: ``<answer>``, ``\boxed{}``, ``answer is``, ``answer:``."""
    if tagged := _tagged_answers(text):
        return tagged[-1]
    announced = list(_ANNOUNCED.finditer(text))
    return text[announced[-1].end() :] if announced else None


def _tagged_answers(text: str) -> list[str]:
    r"""Contents of the last of ``<answer>`` and ``\boxed{}``, in order."""
    last = list(_TAGGED.finditer(text))[-_MOST_TAGGED:]
    answers = ((match[1] or _boxed(text, match.end())) for match in last)
    return [inner for inner in answers if inner.strip()]


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
        texts += [bare, _last_formula(bare)]
    return [text for text in dict.fromkeys(texts) if text]


def _last_formula(text: str) -> str:
    """The formula that ends a sentence, with its unit: all that follows the last other word."""
    plain = undressed(text[-LONGEST:]).strip(EDGES.replace("*", "").replace("`", ""))
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
    r"(?:\b(?:is|are|was|were|equals|equal to|be)|[=≈:])[ *~$\\(]*(?:(?:about|approximately|"
    r"approx\.?|roughly|around|exactly|only|just|equal to|a total of) ?)?[ *~≈$\\(]*$",
    re.IGNORECASE,
)
_CUE_LENGTH = 40
_OR = re.compile(r" ?[^\W\d]{0,12} ?,? ?\bor ?[$€£]?", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"(?<![\d.,(\[{])(\d{1,3}(?:\.\d{3})+|\d+),(\d{1,2}|\d{4,})(?![\d,]|\.\d)")
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
    if given and (_is_alternative(given) or len({q.value for q in read_numbers(stated(text) or text)}) > 1):
        return None
    return _computed(text) if given is None or is_part(given.plain, given.quantity) else given.quantity


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


def _given(text: str) -> _Given | None:
    plain, quantities = _quantities(text)
    if (announced := stated(plain)) and (concluded := find_quantities(announced)):
        return _Given(announced, concluded[0], True)
    is_cut = len(text) > _CUT_LENGTH and text.rstrip()[-1:].isalnum()
    if is_cut:
        since = len(plain.rstrip()) - sum(map(len, _SENTENCE_END.split(plain.strip())[-2:])) - 1
        quantities = [quantity for quantity in quantities if quantity.start >= since]
    for quantity in reversed(quantities):
        if _COMES_NEXT.search(plain[max(0, quantity.start - _CUE_LENGTH) : quantity.start]):
            return _Given(plain, quantity, True)
    return _Given(plain, quantities[-1], False) if quantities else None


def _computed(text: str) -> Quantity | None:
    for candidate in final_answers(text) if _DIGIT.search(text) else ():
        expression = read_expression(candidate)
        if expression and (computed := value_of(expression)):
            return Quantity(computed[0], unit=unit_of(computed[1]))
    return None


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
    return _DECIMAL_COMMA.sub(lambda number: f"{number[1].replace('.', '')}.{number[2]}", text)


def matches_number(answer: str, reference: str, context: Context) -> bool | None:
    """Whether an answer gives the number or list that the reference is; None where the reference is neither."""
    if gold := read_number(reference):
        answer = decimal_points(answer) if gold.decimals else answer
        final = final_number(answer)
        if final is not None and same_number(final, gold, context):
            return True
        odd = len(answer) <= _SHORT and _SEPARATED.search(answer) is not None
        return odd and same(answer, reference, Level.VALUE, partial(same_number, context=context))
    if golds := read_numbers(reference):
        numbers = _listed(answer)
        if len(numbers) != len(golds) or is_interval(first_sentence(stated(answer) or answer[-READ:])):
            return False
        return all(same_number(*pair, context) for pair in zip(numbers, golds, strict=True))
    return None


def number(answer: str, reference: str, context: Context) -> float:
    """1 for the same number or list. A reference that is neither, or tagged as text, is matched exactly."""
    matched = None if context.tags.get("answer_type") == "text" else matches_number(answer, reference, context)
    return exact(answer, reference, context) if matched is None else float(matched)


METRICS = (BestReference("number", "the same number or list of numbers, however written", number),)
