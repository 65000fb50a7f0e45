r"""Yes or no, as a reply says it: in so many words, in other languages, or by the content that the question asks for.

A reply is read in this order, and the first step that finds something decides:

1. the last verdict that is announced (*the answer is no*, ``\boxed{Yes}``, *so yes*);
2. the first words of the reply (*Yes*, *Correct*, *Nein*, 没有);
3. that it cannot tell, which is no verdict (*there is no definitive answer*);
4. a sentence with the content of the question (``restating.py``): *They are the same* to *Are they the same?*;
5. the only verdict near the beginning and the end.

The words are in ``verdicts.yaml``.
"""

import re

from eyetest.scoring.metrics import BestReference, Context
from eyetest.scoring.restating import Verdict, answer_by_content, read_table, words_of
from eyetest.scoring.rules.cleaning import reply_proper
from eyetest.text import composed

_READ_ENDS = 4_000
_NEAR_END = 300  # a *no* in the middle of a long argument is no verdict
_MEANING: dict[str, Verdict] = dict.fromkeys(words_of("yes"), "yes")
_MEANING |= dict.fromkeys(words_of("no"), "no")
_ENGLISH = "yes|no|true|false"
_ANY = "|".join(sorted(_MEANING, key=len, reverse=True))
_MARKS = r"[\s*_\"'`“‘「『【({\[<>:=#-]{0,12}"
_NOT_NO = rf"(?! (?:\w+ ){{0,2}}?(?:{'|'.join(words_of('not_no'))})\b)"
_VERDICT = rf"(?:yes|true|false|no{_NOT_NO})\b"
_CONCLUDED = re.compile(
    rf"(?:\banswer\b(?: is| would be| should be)?|\\boxed|<answer>){_MARKS}(?P<english>{_ENGLISH})\b"
    rf"|(?:{'|'.join(words_of('announcements'))}|\\boxed|<answer>)(?: ?(?:{'|'.join(words_of('copulas'))}))?"
    rf"{_MARKS}(?P<foreign>{_ANY})(?![^\W_])"
    rf"|(?:^|[.!?,;:] )(?:so|therefore|thus|hence|overall|in conclusion),? (?P<so>{_VERDICT})(?=[\s*]*(?:[.,!]|$))"
)
_FIRST_WORD = re.compile(rf"{_MARKS}(?P<verdict>{_VERDICT})")
_FIRST_FOREIGN = re.compile(rf"{_MARKS}(?P<verdict>{_ANY})(?=[\s*_\"'`”’」』】)}}\]]*(?:[,.!;:，。、！；<-]|$))")
_YES_OPENING = re.compile(rf"{_MARKS}(?:{'|'.join(read_table()['yes_openings'])})")
_NO_OPENING = re.compile(rf"{_MARKS}(?:{'|'.join(read_table()['no_openings'])})")
_ANYWHERE = re.compile(rf"\b{_VERDICT}")
_BOTH = re.compile(r"\b(?:yes or no|yes/no|true or false|true/false|no wait)\b")
_CANNOT_TELL = re.compile(rf"\b(?:{'|'.join(read_table()['cannot_tell'])})")


def read_verdict(text: str, question: str = "") -> Verdict | None:
    """The verdict of a reply to a question; None where it has none, or more than one."""
    if len(text) > 2 * _READ_ENDS:
        text = f"{text[:_READ_ENDS]} {text[-_READ_ENDS:]}"
    lines = [composed(line) for line in text.replace("’", "'").splitlines()]
    plain = _BOTH.sub(" ", " ".join(line for line in lines if line).casefold())
    if verdict := _announced(plain) or _opening(plain):
        return verdict
    if _CANNOT_TELL.search(plain):
        return None
    if question and (verdict := answer_by_content("\n".join(lines), question)):
        return verdict
    ends = plain if len(plain) <= 2 * _NEAR_END else f"{plain[:_NEAR_END]} {plain[-_NEAR_END:]}"
    verdicts = {_MEANING[word] for word in _ANYWHERE.findall(ends)}
    return verdicts.pop() if len(verdicts) == 1 else None


def _announced(plain: str) -> Verdict | None:
    """The last verdict that is announced as the answer, or drawn as the conclusion."""
    announced = list(_CONCLUDED.finditer(plain))
    if not announced:
        return None
    last = announced[-1]
    return _MEANING[last["english"] or last["foreign"] or last["so"]]


def _opening(plain: str) -> Verdict | None:
    """The verdict that a reply begins with."""
    if opening := _FIRST_WORD.match(plain) or _FIRST_FOREIGN.match(plain):
        return _MEANING[opening["verdict"]]
    if _YES_OPENING.match(plain):
        return "yes"
    return "no" if _NO_OPENING.match(plain) else None


def yes_no(answer: str, reference: str, context: Context) -> float | None:
    """1 for the same verdict; None where the reference is neither yes nor no."""
    gold = read_verdict(reference)
    if gold is None:
        return None
    return float(read_verdict(reply_proper(answer), context.question) == gold)


METRICS = (BestReference("yes-no", "the same verdict, yes or no (POPE, MME)", yes_no),)
