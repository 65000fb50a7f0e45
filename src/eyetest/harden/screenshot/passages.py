"""What a page shows of an item, as plain data: paragraphs, formulas, tables, code and the places of pictures.

A text is shown, never carried out: what looks like a tag, a style sheet or code of any language is letters here.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from eyetest.harden.screenshot.inline import Formula, split_formulas, whole_formula
from eyetest.prompts.building import Placer
from eyetest.records import PLACEHOLDER, Item, Part, Picture, Words

Block = dict[str, Any]
"""One thing below another, of a ``kind``: paragraph, formula, table, code or picture."""
_MOST_COLUMNS = 12
"""A table of more would not fit on any page; it is shown as it is written."""
LONGEST_WORD = 24
"""In letters; a longer run without a space may be broken after so many, or sooner where lines are shorter."""
_MEASURED = 6
_FENCE = re.compile(r"^```[^\n`]*\n(.*?)\n?```[ \t]*$", re.DOTALL | re.MULTILINE)
_RULE = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$")
_WORD = re.compile(r"[^\s\u2e80-\u9fff\uac00-\ud7af]+")
_HIDDEN = re.compile("[\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff\u00ad]")
"""What turns the direction of writing around, and what has no width: no reader sees it, and it must not act."""
_RIGHT_TO_LEFT = ("R", "AL")


def visible(text: str) -> str:
    """A text without what cannot be seen: controls, overrides of direction, characters without width."""
    kept = "".join(
        one if one in "\n\t" or unicodedata.category(one) not in ("Cc", "Cs") else " "
        for one in text.replace("\r\n", "\n").replace("\r", "\n")
    )
    return _HIDDEN.sub("", unicodedata.normalize("NFC", kept)).replace("\t", "    ")


def breakable(text: str, longest: int = LONGEST_WORD) -> str:
    """The same with places where a run of letters that is too long for a line may be broken."""

    def broken(match: re.Match[str]) -> str:
        run = match[0]
        return "\u200b".join(run[at : at + longest] for at in range(0, len(run), longest))

    return _WORD.sub(broken, text) if len(text) > longest else text


def direction(text: str, without: str = "ltr") -> str:
    """Which way a paragraph is written: as its first letter that has a direction is; ``without`` any, as others."""
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


def _begins_table(line: str, below: str) -> bool:
    return 0 < line.count("|") <= _MOST_COLUMNS + 1 and "|" in below and _RULE.match(below) is not None


class Passages:
    """The parts of one item, each a list of blocks. ``unread`` counts formulas shown as their source."""

    def __init__(self, item: Item, longest_word: int = LONGEST_WORD) -> None:
        self.unread, self._longest = 0, min(longest_word, LONGEST_WORD)
        self._words: list[str] = []
        earlier = [text for turn in item.history for text in (turn.question, turn.answer)]
        self._parts: list[Part] = [Picture(image) for image in item.images]
        self._placer = Placer((*earlier, *item.texts), self._parts)
        self.direction = direction("\n".join(visible(one) for one in (*earlier, item.hint, item.question)))
        self.pictures = [self._picture(part) for part in self._placer.unnamed]
        self.turns = [{"question": self._part(t.question), "answer": self._part(t.answer)} for t in item.history]
        self.hint = self._part(item.hint)
        self.question = self._part(item.question)
        self.options = [self._part(choice.text, whole=True) for choice in item.choices]
        text = "\n".join(self._words)
        self.text = text
        self.language = language(text)

    @property
    def parts(self) -> dict[tuple[str, int], list[Block]]:
        """The blocks of each part that has a box."""
        numbered = enumerate(self.options, 1)
        return {("hint", 1): self.hint, ("question", 1): self.question} | {
            ("option", number): blocks for number, blocks in numbered
        }

    def as_data(self) -> dict[str, Any]:
        """What the page template is given of it."""
        return {
            "pictures": self.pictures,
            "turns": self.turns,
            "hint": self.hint,
            "question": self.question,
            "options": self.options,
            "language": self.language,
            "direction": self.direction,
            "widest": self._widest(),
        }

    def _widest(self) -> list[str]:
        """The longest runs that cannot be broken; whether they fit in a line is measured."""
        words = _WORD.findall(self.text)
        pieces = {piece for word in words for piece in breakable(word, self._longest).split("\u200b")}
        return sorted(pieces, key=lambda piece: (-len(piece), piece))[:_MEASURED]

    def _part(self, text: str, *, whole: bool = False) -> list[Block]:
        blocks: list[Block] = []
        for part in self._placer.parts(text):
            if isinstance(part, Words):
                blocks += self._blocks(visible(part.text).strip("\n "), whole=whole)
            else:
                blocks.append(self._picture(part))
        return blocks

    def _picture(self, part: Part) -> Block:
        assert isinstance(part, Picture)
        number = next(number for number, one in enumerate(self._parts, 1) if one is part)
        return {"kind": "picture", "number": number, "width": part.image.width, "height": part.image.height}

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
            if len(waiting) > 1 and _begins_table(waiting[0], waiting[1]):
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
        return {
            "kind": "table",
            "columns": width,
            "rows": [[self._cell(cell) for cell in row + [""] * (width - len(row))] for row in cells],
        }

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
            runs += [self._run(part)] if isinstance(part, Formula) else self._said(part)
        return runs

    def _run(self, formula: Formula) -> dict[str, Any]:
        self._words.append(formula.source)
        return {"formula": formula.nodes, "alone": formula.alone}

    def _said(self, text: str) -> list[str]:
        self._words.append(text)
        return [breakable(text, self._longest)]
