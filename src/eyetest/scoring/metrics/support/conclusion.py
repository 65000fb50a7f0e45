r"""Where an answer says what it concludes: the part that is compared with the gold, as whole texts.

They are nested forms of one claim: all of a short reply, what it puts into ``\boxed{}`` or states, that without a
remark behind it, and the formula with which it ends. None of them is a part of a formula.
"""

import re

from eyetest.scoring.metrics.support.formula_tokens import LONGEST, tokenise, undressed
from eyetest.scoring.metrics.support.whole_answers import can_be_unit, spelt

_TAGGED = re.compile(r"<answer>([^<]{1,500})|\\f?box(?:ed)? ?\{", re.IGNORECASE)
_LONGEST_BOX = 300
_MOST_TAGGED = 50
_ANSWER = re.compile(r"\banswer\b(?: is| was| would be| should be|s are)?\b[ :=*]{0,4}(?:that )?", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?。])\s+(?=[^\s])|\n+")


def stated(text: str) -> str | None:
    r"""What stands in the last ``<answer>`` or ``\boxed{}``, or behind the last ``answer is``; None without one."""
    if tagged := tagged_answers(text):
        return tagged[-1]
    announced = list(_ANSWER.finditer(text))
    last = announced[-1] if announced else None
    rest = text[last.end() :].strip() if last else ""
    return rest or None


def tagged_answers(text: str) -> list[str]:
    r"""What stands in the last of ``<answer>`` and ``\boxed{}``, in order."""
    last = list(_TAGGED.finditer(text))[-_MOST_TAGGED:]
    answers = ((match[1] or _boxed(text, match.end())) for match in last)
    return [inner for inner in answers if inner.strip()]


def _boxed(text: str, start: int) -> str:
    """What stands between braces that match; nothing where they do not."""
    depth = 1
    for at in range(start, min(len(text), start + _LONGEST_BOX)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return text[start:at]
    return ""


def first_sentence(text: str) -> str:
    """The text up to its first full stop."""
    return _SENTENCE_END.split(text.strip(), maxsplit=1)[0]


def last_sentence(text: str) -> str:
    """The text behind its last full stop but the final one."""
    return _SENTENCE_END.split(text.strip())[-1]


_SHORT = 200
_MOST_BOXES = 6
_MARK = re.compile(r"(?:\\text\s?\{)?\(?[A-J]\)(?:\s?\})?[:.]?\s+(?=\S)")
_REMARK = re.compile(
    r"\s?\((?=[^()]{0,200}[a-z]{3})[^()]{1,200}\)[\s.*]*$"
    r"|,? (?:because|since|as|which|where|when|so that|by|if)\b.*$",
    re.DOTALL,
)
_OUTSIDE = frozenset(("word", "unknown"))
_JOINING = frozenset(("to", "through", "plus", "minus", "times", "over", "by", "than", "not"))
"""Words before a formula that make it a part of something else."""


def final_answers(answer: str) -> list[str]:
    """The texts that may be compared with a gold, each as a whole."""
    boxes = list(dict.fromkeys(tagged_answers(answer)))
    said = stated(answer)
    texts = [answer.strip()] if len(answer.strip()) <= _SHORT else []
    if boxes:
        texts += [boxes[-1], ", ".join(boxes)] if 1 < len(boxes) <= _MOST_BOXES else [boxes[-1]]
    else:
        texts.append(first_sentence(said) if said else last_sentence(answer))
    for text in list(texts):
        bare = _REMARK.sub("", _MARK.sub("", text.strip(), count=1))
        texts += [bare, last_formula(bare)]
    return [text for text in dict.fromkeys(texts) if text]


def last_formula(text: str) -> str:
    """The formula with which a sentence ends, with the unit behind it: all that follows the last other word."""
    plain = undressed(text[-LONGEST:]).strip(" .,;:!?\"'“”‘’")
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
