"""A page with a question on it, taken apart by what can be seen: question, options behind their marks.

Nothing is known of the page but its pixels and the words that an engine read on it. Marks are what engines misread
most, so they are a help and no more: what stands below the question, in a row or a column of its own, is an option.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from PIL import Image

from eyetest.ocr.base import ReadLine, ReadWord
from eyetest.ocr.picture_region import Rectangle, largest_picture
from eyetest.records import MAX_CHOICES, letter

_MARK = re.compile(r"[(\[{<‘'~]*[(CG]?([A-Z@©®][c@©®]?|[80614])?[)\]}>.:,]+|[@©®]{1,2}")
"""A mark as engines read it: in brackets or before a stop, where a circle may be a C or a sign, and C be Cc or Gc."""
_ALONE = re.compile(r"[A-Z@©®]|Cc|Gc|[(\[]\w|\w[)\]]")
"""What is one where a gap comes after it."""
_MERGED = re.compile(r"(?P<mark>\(?[A-Z@©®][).])(?P<rest>\w\S*)")
_DUST = "|~‘’—_-«»“”"
_ENDS_QUESTION = re.compile(r"\?\W*$|[a-z]{2}[.:]$")
_APART = 2.5
"""Heights of a line from one line of a paragraph to the next, at most."""
_WRAPPED = 1.5
"""The same for a line that goes on with an option."""
_GAP = 1.1
"""Heights of a line between words that belong to different columns, at least."""
_FAR, _FURTHER = 6.0, 1.6
"""Heights of a line from one option to the next, at most, and how much more than before; below that is the frame."""


@dataclass(frozen=True)
class QuestionPage:
    """What stands on a page."""

    question: str
    options: tuple[str, ...]
    """In the order of their marks, A first."""
    picture: Rectangle | None

    @property
    def text(self) -> str:
        """Question and options, one below the other."""
        return "\n".join((self.question, *(f"{letter(i)}. {text}" for i, text in enumerate(self.options))))


class _WordRow(NamedTuple):
    """Words at one height, from left to right."""

    words: list[ReadWord]

    @property
    def middle(self) -> float:
        return median(word.middle[1] for word in self.words)

    @property
    def height(self) -> float:
        return max(1.0, median(word.bottom - word.top for word in self.words))

    @property
    def text(self) -> str:
        return " ".join(word.text for word in self.words)


class _ReadOption(NamedTuple):
    left: float
    words: list[str]
    marked: bool


def understand(picture: Image.Image, lines: Iterable[ReadLine]) -> QuestionPage:
    """Take a page apart."""
    words = [part for line in lines for word in line.words for part in _unmerged(word)]
    region = largest_picture(picture, [word[1:] for word in words])
    rows = _rows([word for word in words if region is None or not _is_within(word, region)])
    last = _last_of_question(rows)
    if last < 0:
        return QuestionPage(" ".join(row.text for row in rows), (), region)
    return QuestionPage(_question(rows, last), _options(rows, last), region)


def _unmerged(word: ReadWord) -> list[ReadWord]:
    """A word apart from the mark before it, ``A)green``, and without dust and strokes of a frame."""
    word = word._replace(text=word.text.strip(_DUST))
    if not word.text:
        return []
    merged = _MERGED.fullmatch(word.text)
    if not merged:
        return [word]
    cut = word.left + (word.right - word.left) * len(merged["mark"]) / len(word.text)
    return [word._replace(text=merged["mark"], right=cut), word._replace(text=merged["rest"], left=cut)]


def _is_within(word: ReadWord, region: Rectangle) -> bool:
    (x, y), (left, top, right, bottom) = word.middle, region
    return left <= x <= right and top <= y <= bottom


def _rows(words: Sequence[ReadWord]) -> list[_WordRow]:
    """Words in rows from top to bottom. A word belongs to the row whose middle it covers."""
    rows: list[list[ReadWord]] = []
    for word in sorted(words, key=lambda one: one.middle[1]):
        reach = 0.6 * max(word.bottom - word.top, 8.0)
        if rows and word.middle[1] - median(one.middle[1] for one in rows[-1]) < reach:
            rows[-1].append(word)
        else:
            rows.append([word])
    return [_WordRow(sorted(row, key=lambda one: one.left)) for row in rows]


def _last_of_question(rows: Sequence[_WordRow]) -> int:
    """The last row of the question: it ends as sentences do, or the row below it begins with the first mark."""
    below = range(len(rows) - 1)
    asked = [number for number in below if re.search(r"\?\W*$", rows[number].text)]
    marked = [number for number in below if re.match(r"[(\[]?A[).\]:]", rows[number + 1].text)]
    ended = [number for number in below if _ENDS_QUESTION.search(rows[number].text) and len(rows[number].words) > 2]
    return next((numbers[-1] for numbers in (asked, marked, ended) if numbers), -1)


def _question(rows: Sequence[_WordRow], last: int) -> str:
    """The paragraph that ends with this row; lines further up are headings."""
    first = last
    while first and rows[first].middle - rows[first - 1].middle <= _APART * max(
        rows[first].height, rows[first - 1].height
    ):
        first -= 1
    return " ".join(row.text for row in rows[first : last + 1])


def _options(rows: Sequence[_WordRow], last: int) -> tuple[str, ...]:
    """What stands below the question, row by row: each column of a row is an option, unless it goes on with one."""
    options: list[_ReadOption] = []
    pitches: list[float] = []
    for number in range(last + 1, len(rows)):
        row, pitch = rows[number], rows[number].middle - rows[number - 1].middle
        if options and (pitch > _FAR * row.height or (pitches and pitch > _FURTHER * median(pitches))):
            break
        pitches += [pitch] if options else []
        for segment in _segments(row):
            words, marked = _without_mark(segment)
            above = [option for option in options if abs(option.left - segment[0].left) < 4 * row.height]
            if not marked and options and options[-1].marked and not options[-1].words:
                options[-1].words.extend(words)
            elif not marked and above and above[-1].marked and pitch <= _WRAPPED * row.height:
                above[-1].words.extend(words)
            else:
                options.append(_ReadOption(segment[0].left, words, marked))
    return tuple(" ".join(option.words) for option in _shown(options))


def _segments(row: _WordRow) -> list[list[ReadWord]]:
    """The columns of a row: they begin after a gap that no mark is before, or with a mark."""
    segments: list[list[ReadWord]] = []
    for word in row.words:
        gap = word.left - segments[-1][-1].right if segments else 0.0
        after_mark = bool(segments) and len(segments[-1]) == 1 and _is_mark(segments[-1][0].text, alone=True)
        if segments and (after_mark or gap <= _GAP * row.height) and not _is_mark(word.text):
            segments[-1].append(word)
        else:
            segments.append([word])
    return segments


def _is_mark(text: str, *, alone: bool = False) -> bool:
    return bool((len(text) <= 4 and _MARK.fullmatch(text)) or (alone and _ALONE.fullmatch(text)))


def _without_mark(segment: Sequence[ReadWord]) -> tuple[list[str], bool]:
    """The words of an option without its mark, and whether there was one."""
    first, *rest = [word.text for word in segment]
    marked = _is_mark(first, alone=bool(rest))
    return (rest if marked else [first, *rest]), marked


def _shown(options: Sequence[_ReadOption]) -> list[_ReadOption]:
    """The options without what the frame says below them: rows without a mark at the end, where most have one."""
    shown = [option for option in options if option.words][:MAX_CHOICES]
    if sum(option.marked for option in shown) * 2 > len(shown):
        while shown and not shown[-1].marked:
            shown.pop()
    return shown
