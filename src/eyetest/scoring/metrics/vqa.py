"""VQA match: ten people answered, and an answer counts as right as far as they agree with it."""

from collections import Counter
from collections.abc import Sequence

from eyetest.scoring.metrics.base import Context
from eyetest.scoring.metrics.support.texts import spaced

_ARTICLES = {"a", "an", "the"}
_NUMBERS = "zero one two three four five six seven eight nine ten"
_DIGITS = {"none": "0"} | {word: str(number) for number, word in enumerate(_NUMBERS.split())}
_BLANKED = str.maketrans(dict.fromkeys(';/[]"{}()=+\\_-><@`,?!', " "))
"""Signs that part words. Apostrophes (possessives), colons (times) and $ % & # * stay."""


def _contractions() -> dict[str, str]:
    """Contractions by their spelling without apostrophe, but for those that are words: well, were, ill, its …"""
    forms = {
        "n't": "ai are ca could did does do had has have is might must need ought should was were wo would",
        "'ve": "could i might must should they we who would you",
        "'re": "they what who you",
        "'ll": "it that they what who you",
        "'d": "how it that there they what where who why you",
        "'s": "he here how she that there what when where who why",
        "'m": "i",
    }
    spelled = [stem + ending for ending, stems in forms.items() for stem in stems.split()]
    spelled += ["y'all", "o'clock", "ma'am", "'twas"]
    return {form.replace("'", ""): form for form in spelled}


_CONTRACTIONS = _contractions()


def _without_marks(text: str) -> str:
    """No commas inside numbers, no points but decimal ones."""
    kept = []
    for i, char in enumerate(text):
        if char == "." and not text[i + 1 : i + 2].isdigit():
            continue
        if char == "," and text[i - 1 : i].isdigit() and text[i + 1 : i + 2].isdigit():
            continue
        kept.append(char)
    return "".join(kept)


def vqa_normalise(text: str) -> str:
    """The normalisation that the VQA challenge describes, on answer and references alike.

    Lower case; points go unless a digit follows, commas go between digits; other punctuation parts words,
    apostrophes and colons excepted; number words up to ten become digits and ``none`` 0; articles go;
    contractions get back an apostrophe they lack. The challenge's program, unlike its description, glues
    words together when one of its signs stands beside a blank elsewhere in the answer: we follow the description.
    """
    words = _without_marks(spaced(text.lower())).translate(_BLANKED).split()
    words = [_DIGITS.get(word, word) for word in words]
    return " ".join(_CONTRACTIONS.get(word, word) for word in words if word not in _ARTICLES)


class VqaMatch:
    """min(1, matches / 3) against all references but one, averaged over the one left out.

    So of ten references four that match give 1, three give 0.9, one gives 0.3. With two references nothing
    exceeds 1/3. A single reference has to be matched exactly.
    """

    name = "vqa"
    summary = "agreement with human answers, leave-one-out min(1, matches/3) (VQAv2, OK-VQA, TextVQA)"

    def score(self, answer: str, references: Sequence[str], context: Context) -> float | None:
        """The agreement; None without references."""
        count = len(references)
        if not count:
            return None
        matches = Counter(map(vqa_normalise, references))[vqa_normalise(answer)]
        if count == 1:
            return float(matches)
        others = matches * min(1.0, (matches - 1) / 3) + (count - matches) * min(1.0, matches / 3)
        return min(1.0, others / count)


METRICS = (VqaMatch(),)
