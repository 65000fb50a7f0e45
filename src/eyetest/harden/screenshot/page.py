"""An item's page as plain data (paragraphs, formulas, tables, code, images; markup stays text), set by typst without
packages; texts reach it as JSON strings, images are pasted afterwards.
"""

import io
import random
import re
import shutil
import tempfile
import unicodedata
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from PIL import Image, ImageChops, ImageDraw

from eyetest.errors import EyetestError, MissingExtraError
from eyetest.harden.screenshot.formulas import Formula, split_formulas, whole_formula
from eyetest.harden.screenshot.style import EXTRA, folders, frame_words, letters_a_line, missing, page_style
from eyetest.probes.images import flattened
from eyetest.prompts.building import Placer
from eyetest.records import PLACEHOLDER, ImagePart, ImageRef, Item, Part, Words

Block = dict[str, Any]
"""A block of a ``kind``: paragraph, formula, table, code or image."""
_MOST_COLUMNS = 12  # A table of more would not fit on any page; it is shown as it is written
LONGEST_WORD = 24  # in letters; longer runs may be broken after so many, or sooner where lines are shorter
_MEASURED = 6  # how many of the longest runs that cannot be broken the page measures against its lines
_FENCE = re.compile(r"^```[^\n`]*\n(.*?)\n?```[ \t]*$", re.DOTALL | re.MULTILINE)
_RULE = re.compile(r"^\s*+\|?\s*+:?-{2,}:?\s*+(\|\s*+:?-{2,}:?\s*+)*\|?\s*+$")
_WORD = re.compile(r"[^\s\u2e80-\u9fff\uac00-\ud7af]+")
# Direction overrides and zero-width characters: invisible, and must not act
_HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff\u00ad]")
_RIGHT_TO_LEFT = ("R", "AL")


def visible(text: str) -> str:
    """A text without invisible characters: controls, direction overrides, zero-width characters."""
    kept = "".join(
        sign if sign in "\n\t" or unicodedata.category(sign) not in ("Cc", "Cs") else " "
        for sign in text.replace("\r\n", "\n").replace("\r", "\n")
    )
    return _HIDDEN.sub("", unicodedata.normalize("NFC", kept)).replace("\t", "    ")


def breakable(text: str, longest: int = LONGEST_WORD) -> str:
    """The text with break opportunities in runs of letters that are too long for a line."""

    def broken(match: re.Match[str]) -> str:
        run = match[0]
        return "\u200b".join(run[at : at + longest] for at in range(0, len(run), longest))

    return _WORD.sub(broken, text) if len(text) > longest else text


def direction(text: str, without: str = "ltr") -> str:
    """Direction of a paragraph, by its first letter that has one; ``without`` any, by the others."""
    for sign in PLACEHOLDER.sub("", text):
        kind = unicodedata.bidirectional(sign)
        if kind in _RIGHT_TO_LEFT:
            return "rtl"
        if kind == "L":
            return "ltr"
    return without


def language(text: str) -> str:
    """The language whose letter forms Chinese characters take; empty where there are none."""
    if any("\u3040" <= sign <= "\u30ff" for sign in text):
        return "ja"
    if any("\uac00" <= sign <= "\ud7af" for sign in text):
        return "ko"
    return "zh" if any("\u2e80" <= sign <= "\u9fff" for sign in text) else ""


class Passages:
    """The parts of one item, each a list of blocks. ``unread`` counts formulas shown as their source."""

    def __init__(self, item: Item, longest_word: int = LONGEST_WORD) -> None:
        self.unread, self._longest = 0, min(longest_word, LONGEST_WORD)
        self._words: list[str] = []
        earlier = [text for turn in item.history for text in (turn.question, turn.answer)]
        self._parts: list[Part] = [ImagePart(image) for image in item.images]
        self._placer = Placer((*earlier, *item.texts), self._parts)
        self.direction = direction("\n".join(visible(sign) for sign in (*earlier, item.hint, item.question)))
        self.images = [self._image(part) for part in self._placer.unnamed]
        self.turns = [{"question": self._part(t.question), "answer": self._part(t.answer)} for t in item.history]
        self.hint = self._part(item.hint)
        self.question = self._part(item.question)
        self.options = [self._part(choice.text, whole=True) for choice in item.choices]
        self.text = "\n".join(self._words)
        self.language = language(self.text)

    @property
    def parts(self) -> dict[tuple[str, int], list[Block]]:
        """The blocks of each part that has a box."""
        options = {("option", number): blocks for number, blocks in enumerate(self.options, 1)}
        return {("hint", 1): self.hint, ("question", 1): self.question, **options}

    def as_data(self) -> dict[str, Any]:
        """Data of the page template."""
        names = ("images", "turns", "hint", "question", "options", "language", "direction")
        words = _WORD.findall(self.text)
        pieces = {piece for word in words for piece in breakable(word, self._longest).split("\u200b")}
        widest = sorted(pieces, key=lambda piece: (-len(piece), piece))[:_MEASURED]
        return {name: getattr(self, name) for name in names} | {"widest": widest}

    def _part(self, text: str, *, whole: bool = False) -> list[Block]:
        blocks: list[Block] = []
        for part in self._placer.parts(text):
            if isinstance(part, Words):
                blocks += self._blocks(visible(part.text).strip("\n "), whole=whole)
            else:
                blocks.append(self._image(part))
        return blocks

    def _image(self, part: Part) -> Block:
        assert isinstance(part, ImagePart)
        number = next(number for number, sign in enumerate(self._parts, 1) if sign is part)
        return {"kind": "image", "number": number, "width": part.image.width, "height": part.image.height}

    def _blocks(self, text: str, *, whole: bool) -> Iterator[Block]:
        """Code between fences, tables between lines of pipes, the rest as paragraphs."""
        pieces = _FENCE.split(text)
        for index, piece in enumerate(pieces):
            if index % 2:
                self._words.append(piece)
                yield {"kind": "code", "text": breakable(piece, self._longest)}
            else:
                yield from self._flow(piece, whole=whole)

    def _flow(self, text: str, *, whole: bool) -> Iterator[Block]:
        lines: list[str] = []
        waiting = text.split("\n")
        while waiting:
            bars, below = waiting[0].count("|"), waiting[1] if len(waiting) > 1 else ""
            if 0 < bars <= _MOST_COLUMNS + 1 and "|" in below and _RULE.match(below):
                yield from self._paragraphs("\n".join(lines), whole=False)
                lines = []
                rows = [waiting[0]]
                waiting = waiting[2:]
                while waiting and "|" in waiting[0]:
                    rows.append(waiting.pop(0))
                yield self._table(rows)
            else:
                lines.append(waiting.pop(0))
        yield from self._paragraphs("\n".join(lines), whole=whole)

    def _table(self, rows: list[str]) -> Block:
        cells = [[cell.strip() for cell in row.strip().strip("|").split("|", _MOST_COLUMNS - 1)] for row in rows]
        width = max(map(len, cells))
        full = [[self._cell(cell) for cell in row + [""] * (width - len(row))] for row in cells]
        return {"kind": "table", "columns": width, "rows": full}

    def _cell(self, text: str) -> list[Any]:
        return [run if isinstance(run, str) else run | {"alone": False} for run in self._runs(text)]

    def _paragraphs(self, text: str, *, whole: bool) -> Iterator[Block]:
        for paragraph in re.split(r"\n\s*\n", text):
            if not paragraph.strip():
                continue
            if whole and (formula := whole_formula(paragraph)):
                yield {"kind": "paragraph", "direction": "ltr", "runs": [self._run(formula)]}
                continue
            way = direction(paragraph, self.direction)
            runs: list[Any] = []
            for run in self._runs(paragraph.strip("\n")):
                if isinstance(run, dict) and run["alone"]:
                    if runs:
                        yield {"kind": "paragraph", "direction": way, "runs": runs}
                        runs = []
                    yield {"kind": "formula", "formula": run["formula"]}
                else:
                    runs.append(run)
            if any(not isinstance(run, str) or run.strip() for run in runs):
                yield {"kind": "paragraph", "direction": way, "runs": runs}

    def _runs(self, text: str) -> list[Any]:
        parts, unread = split_formulas(text)
        self.unread += unread
        runs: list[Any] = []
        for part in parts:
            if isinstance(part, Formula):
                runs.append(self._run(part))
            else:
                self._words.append(part)
                runs.append(breakable(part, self._longest))
        return runs

    def _run(self, formula: Formula) -> dict[str, Any]:
        self._words.append(formula.source)
        return {"formula": formula.nodes, "alone": formula.alone}


class Box(NamedTuple):
    """Position of a part in pixels of the image; numbers count from 1 within a kind of part."""

    part: str
    number: int
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Composed:
    """An item's page, and the boxes that layout gave its parts (question, hint, turn, image, option)."""

    image: Image.Image
    boxes: tuple[Box, ...]


MAX_PAGE_PIXELS = 60_000_000
PIXELS_AN_INCH = 96  # at resolution 1, the template's pixel size
_POINTS = 72 / PIXELS_AN_INCH
_LEAST_SHARE = 0.4  # A formula that has to be made smaller than that to stay on the page cannot be read
_CORNERS = "query(<corner>).map(one => (one.value, one.location().position()))"
_SHARES = "query(<shrunk>).map(one => one.value)"
_WIDE = "query(<wide>).map(one => one.value)"


class CannotShow(EyetestError):  # noqa: N818 (such an item goes to review)
    """An item that no page can show; the message is short, to be counted."""


class Typesetter:
    """Sets pages one after another; fonts are looked up once."""

    def __init__(self) -> None:
        try:
            import typst  # noqa: PLC0415 (an extra)
        except ImportError:
            raise MissingExtraError(
                f"screenshots need typst, which is not installed: pip install '{EXTRA}'"
            ) from None
        self._errors = (typst.TypstError, RuntimeError)
        self._root = Path(tempfile.mkdtemp(prefix="eyetest-page-"))
        weakref.finalize(self, shutil.rmtree, self._root, ignore_errors=True)
        template = self._root / "page.typ"
        template.write_bytes(files(__package__).joinpath("page.typ").read_bytes())
        fonts = typst.Fonts(include_system_fonts=False, font_paths=[str(folder) for folder in folders()])
        self._compiler = typst.Compiler(
            str(template), root=str(self._root), font_paths=fonts, ignore_system_fonts=True, sys_inputs={"page": "{}"}
        )

    def set_page(self, data: dict[str, Any], resolution: float) -> tuple[Image.Image, tuple[Box, ...]]:
        """Set the page without its images, and give where its parts lie."""
        ppi = PIXELS_AN_INCH * resolution
        try:
            made, warnings = self._compiler.compile_with_warnings(
                format="png", ppi=ppi, sys_inputs={"page": msgspec.json.encode(data).decode()}, timestamp=0
            )
            corners, shares, wide = (
                msgspec.json.decode(self._compiler.eval(query)) for query in (_CORNERS, _SHARES, _WIDE)
            )
        except self._errors as error:
            raise CannotShow(f"the page cannot be set: {str(error).splitlines()[0][:120]}") from None
        if warnings:
            raise CannotShow(f"the page cannot be set: {str(warnings[0].message)[:120]}")
        if not isinstance(made, bytes):
            raise CannotShow("the page runs over several")
        if shares and min(shares) < _LEAST_SHARE:
            raise CannotShow("a formula is too wide for the page")
        if wide:
            raise CannotShow("a word is too wide for its line")
        image = _decoded(made)
        return image, _boxes(corners, resolution / _POINTS, image.size)


def _decoded(data: bytes) -> Image.Image:
    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as page:
            if page.width * page.height > MAX_PAGE_PIXELS:
                raise CannotShow("too long for one page")
            return page.convert("RGB")
    except Image.DecompressionBombError:
        raise CannotShow("too long for one page") from None


def _boxes(corners: list[Any], scale: float, size: tuple[int, int]) -> tuple[Box, ...]:
    """Boxes from their corners; a part that leaves the page would be cut off, and is refused."""
    starts: dict[tuple[str, int], tuple[float, float]] = {}
    boxes = []
    for (part, number, end), position in corners:
        if position["page"] != 1:
            raise CannotShow("the page runs over several")
        x, y = (float(position[axis].removesuffix("pt")) * scale for axis in ("x", "y"))
        if not end:
            starts[part, number] = x, y
        else:
            boxes.append(Box(part, number, *starts[part, number], x, y))
    for box in boxes:
        if min(box.left, box.top) < -0.5 or box.right > size[0] + 0.5 or box.bottom > size[1] + 0.5:
            raise CannotShow(f"{box.part} {box.number} does not fit on the page")
    return tuple(boxes)


_TINTS = {
    "neutral": (226, 228, 233),
    "blue": (205, 222, 250),
    "warm": (248, 226, 192),
    "green": (203, 234, 211),
}
_DARKER = 0.13  # how much of a tint a dark page takes
_LINES_APART = 32


def paint_background(page: Image.Image, factors: Mapping[str, str], chance: random.Random) -> Image.Image:
    """The page with a gradient or the lines of paper, which darkens light pages and lightens dark ones."""
    kind, dark = factors["look_background"], factors["look_theme"] == "dark"
    if kind == "flat":
        return page
    tint = _TINTS[factors["look_colour"]]
    far = tuple(round(_DARKER * value) for value in tint) if dark else tint
    near = (0, 0, 0) if dark else (255, 255, 255)
    if kind == "gradient":
        turn = chance.randrange(4)
        small = Image.new("RGB", (2, 2))
        corners = (near, far, far, near), (far, far, near, near), (near, near, far, far)
        small.putdata(corners[min(turn, 2)])
        field = small.resize(page.size, Image.Resampling.BILINEAR)
    else:
        field, squared = Image.new("RGB", page.size, near), chance.random() < 0.5
        pen = ImageDraw.Draw(field)
        for at in range(0, max(page.size), _LINES_APART):  # regular enough not to disturb letters
            pen.line(((0, at), (page.width, at)), far)
            if squared:
                pen.line(((at, 0), (at, page.height)), far)
    return ImageChops.screen(page, field) if dark else ImageChops.multiply(page, field)


def scaled(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    """An image in RGB on white, at a size."""
    image = flattened(image)
    return image if image.size == size else image.resize(size, Image.Resampling.BICUBIC, reducing_gap=2.0)


def as_png(image: Image.Image) -> bytes:
    """Encode a page as PNG."""
    file = io.BytesIO()
    image.save(file, "PNG", compress_level=1)
    return file.getvalue()


LONGEST_PAGE = 20_000
"""In letters: a line counts as 40, an image as 800. Longer pages are refused as unreadable."""
_LINE, _IMAGE = 40, 800


def compose(
    item: Item,
    factors: Mapping[str, str],
    chance: random.Random,
    typesetter: Typesetter,
    opened: Callable[[ImageRef], Image.Image],
) -> tuple[Composed, Passages]:
    """Compose the page of an item in a look, with its images. The gold is not used."""
    earlier = (text for turn in item.history for text in (turn.question, turn.answer))
    worth = sum(len(text) + _LINE * text.count("\n") for text in (*item.texts, *earlier))
    if worth + _IMAGE * len(item.images) > LONGEST_PAGE:
        raise CannotShow("too long for one page")
    passages = Passages(item, letters_a_line(factors))
    if letters := missing(passages.text):
        raise CannotShow(f"no typeface has {', '.join(f'U+{ord(letter):04X}' for letter in letters[:5])}")
    data = {
        "style": page_style(factors, passages.language),
        "words": frame_words(chance),
        "item": passages.as_data(),
    }
    page, boxes = typesetter.set_page(data, float(factors["look_resolution"]))
    page = paint_background(page, factors, chance)
    for box in boxes:
        if box.part == "image":
            left, top = round(box.left), round(box.top)
            size = (max(1, round(box.right) - left), max(1, round(box.bottom) - top))
            page.paste(scaled(opened(item.images[box.number - 1]), size), (left, top))
    return Composed(page, boxes), passages
