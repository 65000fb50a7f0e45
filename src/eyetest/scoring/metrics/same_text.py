"""Short texts compared: exact match, edit similarity, words and phrases, VQA match, relaxed numbers."""

import re
from collections import Counter
from collections.abc import Sequence

from rapidfuzz.distance import Levenshtein

from eyetest.scoring.metrics import BestReference, Context, CorpusScore
from eyetest.text import NUMBER_WORDS, Level, composed, folded, parse, same, spaced
from eyetest.text.folding import ARTICLES, bare_words
from eyetest.text.values import TOLERANCE

ALIGNED = 32_768  # characters of a text that are aligned; longer texts are equal or differ wholly


def exact(answer: str, reference: str, _: Context) -> float:
    """1 for texts that differ only in case, white space, Unicode form (NFKC) and outer punctuation: ``. , ; : ! ?``,
    quotes and paired stars. Signs, brackets, units and inner points count.
    """
    return float(folded(answer) == folded(reference))


def edit_similarity(transcript: str, text: str) -> float:
    """1 − edit distance / longer length, on texts with single blanks; case counts. Two empty texts give 1."""
    first, other = spaced(transcript), spaced(text)
    if max(len(first), len(other)) > ALIGNED:
        return float(first == other)
    return Levenshtein.normalized_similarity(first, other)


def anls(answer: str, reference: str, _: Context) -> float:
    """1 − edit distance / longer length, or 0 where half or more differs, on lower-case texts with single blanks."""
    similarity = edit_similarity(answer.lower(), reference.lower())
    return similarity if similarity > 0.5 else 0.0


def mathvista(answer: str, reference: str, context: Context) -> float:
    """1 where the extraction is the gold, letter for letter: an integer, or a float rounded to ``precision``."""
    kind = context.tags.get("answer_type")
    try:
        if kind == "integer":
            answer = str(int(answer.strip()))
        elif kind == "float":
            answer = str(round(float(answer.strip()), int(context.tags.get("precision") or 0)))
    except (ValueError, OverflowError, TypeError):
        return 0.0
    return float(answer == reference)


_WORD_EDGE = re.compile(r"\b", re.ASCII)
_EDGE = "\0"  # written at every edge of a word: a search for a plain text is linear, for a pattern it is not


class WordAccuracy:
    """The share of gold words found whole in the output, of the best reference; pooled over a corpus."""

    name = "words"
    summary = "share of gold words found whole in the output"

    def _count(self, answer: str, references: Sequence[str]) -> tuple[int, int]:
        found = set(bare_words(answer))
        counts = [(sum(word in found for word in gold), len(gold)) for gold in map(bare_words, references) if gold]
        return max(counts, key=lambda count: count[0] / count[1], default=(0, 0))

    def score(self, answer: str, references: Sequence[str], context: Context) -> float | None:
        """The share found in one answer."""
        matched, words = self._count(answer, references)
        return matched / words if words else None

    def score_all(self, answers: Sequence[str], references: Sequence[Sequence[str]]) -> CorpusScore:
        """The share found in all answers together, and in each."""
        counts = [self._count(*pair) for pair in zip(answers, references, strict=True)]
        total = sum(words for _, words in counts)
        items = tuple(matched / words if words else None for matched, words in counts)
        return CorpusScore(sum(matched for matched, _ in counts) / total if total else None, items)


def phrase_reform(answer: str, reference: str, _: Context) -> float:
    """ReForm-Eval's phrase rule: ASCII letters, digits and white space alone count; a gold without any is found."""
    found, phrase = (
        "".join(char for char in text.lower() if (char.isascii() and char.isalnum()) or char.isspace())
        for text in (answer, reference)
    )
    if not phrase:
        return float(bool(found) and not found.isspace())
    inner = _WORD_EDGE.sub(_EDGE, phrase).strip(_EDGE)
    return float(f"{_EDGE}{inner}{_EDGE}" in _WORD_EDGE.sub(_EDGE, found))


_DIGITS = {"none": "0"} | {word: str(number) for word, number in NUMBER_WORDS.items() if number <= 10}
# Signs that part words; apostrophes, colons (times) and $ % & # * stay
_BLANKED = str.maketrans(dict.fromkeys(';/[]"{}()=+\\_-><@`,?!', " "))


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
_IDLE_MARK = re.compile(r"\.(?!\d)|(?<=\d),(?=\d)")  # commas inside numbers, and points but decimal ones


def vqa_normalise(text: str) -> str:
    """The normalisation that the VQA challenge describes (its program differs: it sometimes glues words together)."""
    words = _IDLE_MARK.sub("", spaced(text.lower())).translate(_BLANKED).split()
    words = [_DIGITS.get(word, word) for word in words]
    return " ".join(_CONTRACTIONS.get(word, word) for word in words if word not in ARTICLES)


class VqaMatch:
    """min(1, matches / 3) against all references but one, averaged over the one left out; a single one exactly."""

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


_LONGEST_VALUE = 64
# Units of plain-number golds; other units, fractions and equations are matched exactly
_MONEY = ("", "$", "€", "£", "¥", "₹")
_YEAR = re.compile(r"[0-9]{4}")
_ASKS_WHEN = re.compile(
    r"(?:^|\b(?:since|until|till|by|from) )when\b"
    r"|\b(?:which|what) (?:(?!(?:in|of|for|during|by|per|over|since)\b)\w+ ){0,3}"
    r"(?:years?|decade|century|date|time)\b"
)


def asks_when(question: str) -> bool:
    """Whether a question asks for a time (``when``, ``which year``), and does not only mention one."""
    return _ASKS_WHEN.search(composed(question[:2_000]).casefold()) is not None


def relaxed(answer: str, reference: str, context: Context) -> float:
    """1 for a number within 5 % of the gold (level RELAXED of ``eyetest.text``), or for the same text (as ``exact``).
    A gold of 0 must be met exactly, as must one of four digits where a time is asked for: 2010 is not 2011.
    """
    if folded(answer) == folded(reference):
        return 1.0
    if max(len(answer), len(reference)) > _LONGEST_VALUE:
        return 0.0
    gold, given = parse(reference), parse(answer)
    if not gold.number or not given.number or gold.label or not gold.number.step or gold.number.unit not in _MONEY:
        return 0.0
    is_year = _YEAR.fullmatch(folded(reference)) and asks_when(context.question)
    return float(same(answer, reference, Level.VALUE if is_year else Level.RELAXED))


def _float(text: str) -> float | None:
    try:
        return float(text.rstrip("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        return None


def relaxed_chartqa(answer: str, reference: str, _: Context) -> float:
    """The rule that published ChartQA scores use: what ``float`` reads within 5 %, all else as lower-case text."""
    given, gold = _float(answer), _float(reference)
    if given is not None and gold:
        return float(abs(given - gold) / abs(gold) <= TOLERANCE)
    return float(answer.lower() == reference.lower())


METRICS = (
    BestReference("ocr", "share of characters copied right", lambda copy, text, _: edit_similarity(copy, text)),
    BestReference("mathvista", "MathVista's own rule on an extracted answer: letter for letter", mathvista),
    WordAccuracy(),
    BestReference(
        "phrase-reform",
        "phrase accuracy as ReForm-Eval counts it: a gold without letters is found in any words",
        phrase_reform,
    ),
    BestReference("relaxed-chartqa", "relaxed accuracy as published ChartQA scores count it", relaxed_chartqa),
)
