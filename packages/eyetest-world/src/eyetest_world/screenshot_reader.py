"""``reader:owl-m``: a stand-in for models that read screenshots, made of an OCR engine and a toy model.

Question, options and the largest image are found by their positions on the page and go to the toy model as a plain
prompt, so that the vision setting can be run from end to end on the synthetic world. Option letters are what engines
misread most, so they only help: what stands below the question, in a row or a column of its own, is an option.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from statistics import median
from threading import Lock
from typing import NamedTuple

import msgspec
import numpy as np
import scipy
from numpy.typing import NDArray
from PIL import Image

from eyetest.errors import EyetestError
from eyetest.models.base import Backend, Call, CallError, Images, Surroundings
from eyetest.ocr import Engine, ReadLine, ReadWord, choose_engine
from eyetest.records import (
    MAX_CHOICES,
    GrayImage,
    ImagePart,
    ImageRef,
    Message,
    ModelEntry,
    Prompt,
    Response,
    Words,
    letter,
)
from eyetest_world.toy_models import EmbeddedModel

Rectangle = tuple[int, int, int, int]  # left, top, right and bottom, in pixels
_SMALLER = 2  # by how much a page is made smaller to look for its image
_STEP = 24.0  # by how much neighbours differ in a colour where there is an edge
_LONG = 40
"""A straight edge of so many pixels belongs to a frame, or to the image's own sides, which are found later."""
_NEAR, _LEAST_SIDE, _SLIMMEST = 10, 18, 5.0
_LEAST_MASS, _LEAST_DENSITY = 50, 0.02
"""Pixels of edges in an image, and their share; what has fewer is the outline of a frame."""
_REACH = 1.5  # how far beyond what is drawn in it an image may go on, as a share of that
_MOST_TEXT = 0.15  # the share of an image that words may cover
_DOT = 8  # pixels of an edge that stands alone, up to which it belongs to the page's texture
_BESIDE = 4  # pixels on either side of an edge that are compared
_FAINTEST, _CLEAR = 2.0, 0.1
"""How much the ground changes at an image's side, at least, in a colour and as a share of the greatest change."""


def largest_image(page: Image.Image, texts: Iterable[tuple[float, float, float, float]]) -> Rectangle | None:
    """The image on a page on which words stand at these places; None where there is none."""
    small = page.convert("RGB").reduce(_SMALLER)
    pixels = np.asarray(small, np.float32)
    written = _written(pixels.shape[:2], list(texts))
    edges = _edges(pixels) & ~written
    dots, _ = scipy.ndimage.label(edges, np.ones((3, 3)))
    edges &= (np.bincount(dots.ravel()) > _DOT)[dots]
    joined = scipy.ndimage.maximum_filter(edges, 2 * _NEAR + 1)
    labels, _ = scipy.ndimage.label(joined)
    best, region = 0.0, None
    for number, (down, across) in enumerate(scipy.ndimage.find_objects(labels), 1):
        inside = edges[down, across] & (labels[down, across] == number)
        ((rows, columns),) = scipy.ndimage.find_objects(inside.astype(np.uint8))
        width, height, mass = columns.stop - columns.start, rows.stop - rows.start, int(inside.sum())
        slim = max(height / width, width / height) > _SLIMMEST
        if min(height, width) < _LEAST_SIDE or slim or mass < max(_LEAST_MASS, _LEAST_DENSITY * width * height):
            continue
        left, top = across.start + columns.start, down.start + rows.start
        own = left, top, left + width, top + height
        for sides in (_to_sides(pixels, ~written, own), own):
            within = written[sides[1] : sides[3], sides[0] : sides[2]]
            if within.mean() <= _MOST_TEXT and mass * within.size**0.5 > best:
                best, region = mass * within.size**0.5, sides
    if region is None:
        return None
    left, top, right, bottom = (_SMALLER * side for side in region)
    return left, top, min(right, page.width), min(bottom, page.height)


def _edges(pixels: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Where neighbours differ, without long straight lines."""
    edges = np.zeros(pixels.shape[:2], bool)
    edges[:, 1:] |= np.abs(np.diff(pixels, axis=1)).max(axis=2) > _STEP
    edges[1:] |= np.abs(np.diff(pixels, axis=0)).max(axis=2) > _STEP
    lines = np.zeros_like(edges)
    for axis in (0, 1):
        run = scipy.ndimage.minimum_filter1d(edges.astype(np.uint8), _LONG, axis=axis)
        lines |= scipy.ndimage.maximum_filter1d(run, _LONG, axis=axis, origin=-1) > 0
    return edges & ~lines


def _written(shape: tuple[int, ...], texts: Sequence[tuple[float, float, float, float]]) -> NDArray[np.bool_]:
    """Where words stand. What is much higher than most of them is a part of the image that was taken for one."""
    written = np.zeros(shape, bool)
    usual = float(np.median([bottom - top for _, top, _, bottom in texts])) if texts else 0.0
    for text in texts:
        left, top, right, bottom = (round(value / _SMALLER) for value in text)
        if text[3] - text[1] <= 1.8 * usual:
            written[max(0, top - 2) : bottom + 2, max(0, left - 2) : right + 2] = True
    return written


def _to_sides(pixels: NDArray[np.float32], free: NDArray[np.bool_], region: Rectangle) -> Rectangle:
    """The region, widened to where the ground changes along a whole side: an image has a ground of its own."""
    left, top, right, bottom = region
    reach_x, reach_y = round(_REACH * (right - left)) + 6, round(_REACH * (bottom - top)) + 6
    rows, columns = slice(top, bottom), slice(left, right)
    across, down = _profile(pixels[rows], free[rows], 0), _profile(pixels[:, columns], free[:, columns], 1)
    return (
        _side(across, left, -1, reach_x),
        _side(down, top, -1, reach_y),
        _side(across, right, 1, reach_x),
        _side(down, bottom, 1, reach_y),
    )


def _profile(pixels: NDArray[np.float32], free: NDArray[np.bool_], axis: int) -> NDArray[np.float32]:
    """The mean colour along an axis of what is no text; where all is text, that of its neighbour."""
    counts = free.sum(axis=axis)
    sums: NDArray[np.float32] = (pixels * free[..., None]).sum(axis=axis)
    known = np.flatnonzero(counts)
    if not len(known):
        return np.zeros_like(sums)
    nearest = known[np.clip(np.searchsorted(known, np.arange(len(counts))), 0, len(known) - 1)]
    profile: NDArray[np.float32] = (sums[nearest] / counts[nearest, None]).astype(np.float32)
    return profile


def _side(profile: NDArray[np.float32], edge: int, direction: int, reach: int) -> int:
    """The nearest change of the ground from an edge outwards; the edge itself where there is none."""
    start = edge + direction * (_BESIDE + 1)
    outwards = range(start, edge + direction * reach, direction)
    changes = [
        float(np.abs(profile[at : at + _BESIDE].mean(axis=0) - profile[at - _BESIDE : at].mean(axis=0)).max())
        for at in outwards
        if _BESIDE <= at <= len(profile) - _BESIDE
    ]
    least = max(_FAINTEST, _CLEAR * max(changes, default=0.0))
    for step, change in enumerate(changes):
        if change > least and change == max(changes[step : step + _BESIDE]):
            return outwards[step]
    return edge


_MARK = re.compile(r"[(\[{<‘'~]*[(CG]?([A-Z@©®][c@©®]?|[80614])?[)\]}>.:,]+|[@©®]{1,2}")
"""A mark as engines read it: in brackets or before a stop, where a circle may be a C or a sign, and C be Cc or Gc."""
_ALONE = re.compile(r"[A-Z@©®]|Cc|Gc|[(\[]\w|\w[)\]]")  # what is one where a gap comes after it
_MERGED = re.compile(r"(?P<mark>\(?[A-Z@©®][).])(?P<rest>\w\S*)")
_DUST = "|~‘’—_-«»“”"
_ENDS_QUESTION = re.compile(r"\?\W*$|[a-z]{2}[.:]$")
_APART = 2.5  # heights of a line from one line of a paragraph to the next, at most
_WRAPPED = 1.5  # the same for a line that goes on with an option
_GAP = 1.1  # heights of a line between words that belong to different columns, at least
_FARTHEST, _FURTHER = 6.0, 1.6
"""Heights of a line from one option to the next, at most, and how much more than before; below that is the frame."""


class QuestionPage(NamedTuple):
    """What stands on a page; options in the order of their letters."""

    question: str
    options: tuple[str, ...]
    image: Rectangle | None

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


def understand(image: Image.Image, lines: Iterable[ReadLine]) -> QuestionPage:
    """Take a page apart."""
    words = [part for line in lines for word in line.words for part in _unmerged(word)]
    region = largest_image(image, [word[1:] for word in words])
    if region is not None:
        left, top, right, bottom = region
        words = [word for word in words if not (left <= word.middle[0] <= right and top <= word.middle[1] <= bottom)]
    rows = _rows(words)
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
    while first:
        below, above = rows[first], rows[first - 1]
        if below.middle - above.middle > _APART * max(below.height, above.height):
            break
        first -= 1
    return " ".join(row.text for row in rows[first : last + 1])


def _options(rows: Sequence[_WordRow], last: int) -> tuple[str, ...]:
    """What stands below the question, row by row: each column of a row is an option, unless it goes on with one."""
    options: list[_ReadOption] = []
    pitches: list[float] = []
    for number in range(last + 1, len(rows)):
        row, pitch = rows[number], rows[number].middle - rows[number - 1].middle
        if options and (pitch > _FARTHEST * row.height or (pitches and pitch > _FURTHER * median(pitches))):
            break
        pitches += [pitch] if options else []
        for segment in _segments(row):
            words = [word.text for word in segment]
            marked = _is_mark(words[0], alone=len(words) > 1)
            words = words[1:] if marked else words
            above = [option for option in options if abs(option.left - segment[0].left) < 4 * row.height]
            if not marked and options and options[-1].marked and not options[-1].words:
                options[-1].words.extend(words)
            elif not marked and above and above[-1].marked and pitch <= _WRAPPED * row.height:
                above[-1].words.extend(words)
            else:
                options.append(_ReadOption(segment[0].left, words, marked))
    return tuple(" ".join(option.words) for option in _real_options(options))


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


def _real_options(options: Sequence[_ReadOption]) -> list[_ReadOption]:
    """The options without what the frame says below them: rows without a mark at the end, where most have one."""
    shown = [option for option in options if option.words][:MAX_CHOICES]
    if sum(option.marked for option in shown) * 2 > len(shown):
        while shown and not shown[-1].marked:
            shown.pop()
    return shown


_BATCH = 8
_READERS = 2
_PAGES_KEPT = 4_000
_INSTRUCTION = "Answer with the letter of the correct option, without any explanation."
"""What the embedded model receives where it was asked for a transcript, which is not its work."""


class ReadPage(NamedTuple):
    """A page that was read: its words as a question, and the image cut out of it."""

    read: QuestionPage
    image: ImagePart | None


class ReadPages:
    """Pages read once, and the images cut out of them beside those of the benchmark."""

    def __init__(self, images: Images, engine: Engine) -> None:
        self._images, self._engine = images, engine
        self._pages: dict[str, ReadPage] = {}
        self._cut_out: dict[str, Image.Image] = {}
        self._lock = Lock()

    def open(self, part: ImagePart | GrayImage) -> Image.Image:
        """An image, decoded: one of the benchmark's, or one that was cut out of it."""
        cut_out = None if isinstance(part, GrayImage) else self._cut_out.get(part.image.sha256)
        return self._images.open(part) if cut_out is None else cut_out

    def page(self, part: ImagePart) -> ReadPage:
        """What stands on a page."""
        if known := self._pages.get(part.image.sha256):
            return known
        image = self._images.open(part)
        read = understand(image, self._engine.read(image))
        page = ReadPage(read, None)
        with self._lock:
            if read.image is not None:
                cut_out = image.crop(read.image)
                data = cut_out.tobytes()
                digest = sha256(b"%d %d " % cut_out.size + data).hexdigest()
                page = ReadPage(read, ImagePart(ImageRef(digest, "png", *cut_out.size, len(data))))
                self._cut_out[digest] = cut_out
            self._pages[part.image.sha256] = page
            if len(self._pages) > _PAGES_KEPT:
                old = self._pages.pop(next(iter(self._pages)))
                self._cut_out.pop(old.image.image.sha256 if old.image else "", None)
        return page


class ReaderModel(EmbeddedModel):
    """An embedded model that gets what an OCR engine read; whatever is no screenshot it answers as it is."""

    likelihoods = False
    batch = _BATCH

    def __init__(self, name: str, entry: ModelEntry, surroundings: Surroundings) -> None:
        engine = choose_engine()
        self._pages = ReadPages(surroundings.images, engine)
        super().__init__(name, entry, msgspec.structs.replace(surroundings, images=self._pages))
        self.settings = {"reader": engine.name, **self.settings}
        self._readers = ThreadPoolExecutor(_READERS, "reader")

    async def close(self) -> None:
        """End the readers."""
        self._readers.shutdown(wait=False)

    async def answer_many(self, calls: Sequence[Call]) -> list[Response | CallError]:
        """Read all pages, then answer them together."""
        loop = asyncio.get_running_loop()
        prepared = await asyncio.gather(*(loop.run_in_executor(self._readers, self._plain, call) for call in calls))
        asked = [one for one in prepared if isinstance(one, Call)]
        replies = iter(await super().answer_many(asked) if asked else [])
        answers = [next(replies) if isinstance(one, Call) else one for one in prepared]
        return [self._with_transcript(call, answer) for call, answer in zip(calls, answers, strict=True)]

    def _plain(self, call: Call) -> Call | CallError:
        """The call with its page read out, if it shows one."""
        if call.asked.modality != "screenshot":
            return call
        try:
            prompt = self._read_out(call.request.prompt, call.asked.ask == "ocr")
        except EyetestError as error:
            return CallError("bad-request", str(error))
        return msgspec.structs.replace(call, request=msgspec.structs.replace(call.request, prompt=prompt))

    def _read_out(self, prompt: Prompt, transcribe: bool) -> Prompt:
        """The same prompt with question, options and image in the page's place."""
        *before, last = prompt.messages
        page = self._pages.page(_shown(last))
        instruction = _INSTRUCTION if transcribe else last.text.partition("\n")[2] or last.text
        images = () if page.image is None else (page.image,)
        words = Words(f"{page.read.text}\n\n{instruction}")
        return msgspec.structs.replace(prompt, messages=(*before, Message("user", (*images, words))))

    def _with_transcript(self, call: Call, answer: Response | CallError) -> Response | CallError:
        """The page's words before the answer, where they were asked for."""
        if isinstance(answer, CallError) or call.asked.modality != "screenshot" or call.asked.ask != "ocr":
            return answer
        text = self._pages.page(_shown(call.request.prompt.messages[-1])).read.text
        return msgspec.structs.replace(answer, text=f"{text}\nAnswer: {answer.text}")


def _shown(message: Message) -> ImagePart:
    """The page that a message shows."""
    for part in message.parts:
        if isinstance(part, ImagePart):
            return part
    raise CallError("bad-request", "a screenshot without an image")


BACKEND = Backend(
    "reader", "a stand-in that reads screenshots by OCR and asks an embedded model: reader:owl-m", ReaderModel
)
