"""An item's page as plain data: paragraphs, formulas, tables, code and images; markup stays text."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from eyetest.harden.screenshot.formulas import Formula, split_formulas, whole_formula
from eyetest.prompts.building import Placer
from eyetest.records import PLACEHOLDER, ImagePart, Item, Part, Words

Block = dict[str, Any]
"""A block of a ``kind``: paragraph, formula, table, code or image."""
_MOST_COLUMNS = 12  # A table of more would not fit on any page; it is shown as it is written
LONGEST_WORD = 24  # in letters; longer runs may be broken after so many, or sooner where lines are shorter
_MEASURED = 6  # how many of the longest runs that cannot be broken the page measures against its lines
_FENCE = re.compile(r"^```[^\n`]*\n(.*?)\n?```[ \t]*$", re.DOTALL | re.MULTILINE)
_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$")
_WORD = re.compile(r"[^\s\u2e80-\u9fff\uac00-\ud7af]+")
# Direction overrides and zero-width characters: invisible, and must not act
_HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff\u00ad]")
_RIGHT_TO_LEFT = ("R", "AL")


def visible(text: str) -> str:
    """A text without invisible characters: controls, direction overrides, zero-width characters."""
    kept = "".join(
        one if one in "\n\t" or unicodedata.category(one) not in ("Cc", "Cs") else " "
        for one in text.replace("\r\n", "\n").replace("\r", "\n")
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
    for one in PLACEHOLDER.sub("", text):
        kind = unicodedata.bidirectional(one)
        if kind in _RIGHT_TO_LEFT:
            return "rtl"
        if kind == "L":
            return "ltr"
    return without


def language(text: str) -> str:
    """The language whose letter forms Chinese characters take; empty where there are none."""
    if any("\u3040" <= one <= "\u30ff" for one in text):
        return "ja"
    if any("\uac00" <= one <= "\ud7af" for one in text):
        return "ko"
    return "zh" if any("\u2e80" <= one <= "\u9fff" for one in text) else ""


class Passages:
    """The parts of one item, each a list of blocks. ``unread`` counts formulas shown as their source."""

    def __init__(self, item: Item, longest_word: int = LONGEST_WORD) -> None:
        self.unread, self._longest = 0, min(longest_word, LONGEST_WORD)
        self._words: list[str] = []
        earlier = [text for turn in item.history for text in (turn.question, turn.answer)]
        self._parts: list[Part] = [ImagePart(image) for image in item.images]
        self._placer = Placer((*earlier, *item.texts), self._parts)
        self.direction = direction("\n".join(visible(one) for one in (*earlier, item.hint, item.question)))
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
        number = next(number for number, one in enumerate(self._parts, 1) if one is part)
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
