"""Results of commands: they print themselves, show themselves in a notebook and serialise themselves."""

import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import fill
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from eyetest.commands.lazy import cards, pl, printed
from eyetest.errors import InputError, as_named, counted, param

if TYPE_CHECKING:
    from eyetest.benchmarks import Benchmark
    from eyetest.records import Item

MOST_ROWS = 100
"""Rows of a table that a terminal shows; CSV and JSON hold all."""
LONGEST_SHOWN = 10_000
"""Characters of one text that are shown; a terminal needs minutes to lay out ten million."""
_WIDE = 1_000
_GAP = 2
_VISIBLE = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {127: 0x2421}
_VISIBLE |= dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)


def safe(text: str, longest: int | None = LONGEST_SHOWN) -> str:
    """Text from a dataset for a terminal: control characters made visible, a text above the limit cut to its ends."""
    if longest is not None and len(text) > longest:
        half = longest // 2
        text = f"{text[:half]} … {len(text) - 2 * half:,} characters … {text[-half:]}"
    return as_named(text).encode("utf-8", "replace").decode().replace("\r\n", "\n").translate(_VISIBLE)


class Result:
    """What a command found. A subclass with a table overrides `frame`, any other `__rich__` and `as_json`."""

    title: str = ""
    table: "pl.DataFrame | None" = None
    notes: Sequence[str] = ()
    """What a reader has to know beside the result; the command line prints notes to standard error."""
    text: RenderableType | None = None
    data: Any = None
    html: str | None = None
    """What a terminal, programs (as JSON) and a notebook get in place of the table."""
    above: "Benchmark | Item | None" = None
    """What a notebook shows above it."""
    exit_code: int = 0
    """What the command line exits with."""

    @cached_property
    def frame(self) -> "pl.DataFrame":
        """The result as one table; bounds of an interval are columns ``x_low`` and ``x_high``."""
        if self.table is None:
            raise InputError(f"{param('output')}: this result is not one table; use table or json")
        return self.table

    def as_json(self) -> Any:
        """Everything in the result, as values that JSON can hold."""
        if self.data is not None:
            return self.data
        return {"rows": printed.plain(self.frame).to_dicts(), "notes": list(self.notes)}

    def __rich__(self) -> RenderableType:
        return estimates(self.frame) if self.text is None else self.text

    def to_latex(self) -> str:
        """The table for a paper."""
        return printed.as_latex(self.frame)

    def to_markdown(self) -> str:
        """The table for a model card or an issue."""
        return printed.as_markdown(self.frame)

    def __repr__(self) -> str:
        return "\n".join([rendered(self.__rich__()), *(f"note: {line}" for line in self.notes)])

    def _repr_html_(self) -> str:
        above = "" if self.above is None else self.above._repr_html_()
        return above + (cards.card(self.title, self.frame, self.notes) if self.html is None else self.html)


def rendered(renderable: RenderableType) -> str:
    """A renderable as plain text."""
    console = Console(file=io.StringIO(), width=_WIDE, highlight=False, markup=False, emoji=False, no_color=True)
    with console.capture() as text:
        console.print(renderable, crop=False)
    return "\n".join(line.rstrip() for line in text.get().rstrip().splitlines())


class Columns:
    """A table that never cuts a number: in a narrow terminal the last columns are left out, and a line names them."""

    def __init__(self, names: Sequence[str], cells: Sequence[Sequence[str]], words: Collection[str]) -> None:
        """``cells`` by column; columns named in ``words`` are left-aligned and may be wrapped."""
        self.names, self.cells, self.words = names, cells, words

    def _widths(self, name: str, cells: Sequence[str]) -> tuple[int, int]:
        """The width at which no word and no number is broken, and that at which nothing is wrapped."""
        whole = [word for cell in cells for word in cell.split()] if name in self.words else cells
        lines = [line for text in (name, *cells) for line in text.split("\n")]
        return max(map(cell_len, (*name.split(), *whole)), default=0), max(map(cell_len, lines))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, count = options.max_width if console.is_terminal else _WIDE, len(self.names)
        widths = [self._widths(name, cells) for name, cells in zip(self.names, self.cells, strict=True)]
        while (left := width - sum(least + _GAP for least, _ in widths[:count]) + _GAP) < 0 and count > 2:
            count -= 1
        table = Table(box=None, header_style="dim", pad_edge=False)
        for name, (least, most) in zip(self.names[:count], widths, strict=False):
            more = max(0, min(left, most - least))
            left -= more
            table.add_column(name, justify="left" if name in self.words else "right", width=least + more)
        for row in zip(*self.cells[:count], strict=True):
            table.add_row(*(Text(cell) for cell in row))
        wide = max(width, sum(most + _GAP for _, most in widths[:count]))
        yield from console.render(table, options.update(width=wide, max_width=wide))
        if left_out := self.names[count:]:
            more_columns = f"{counted(len(left_out), 'more column')} ({', '.join(left_out)})"
            yield Text(f"{more_columns}: widen the terminal", "dim")


class Lines:
    """Lines of text: a terminal wraps them between words, but no path; a file gets them whole, as styled ones are."""

    def __init__(self, *lines: str | Text, style: str = "") -> None:
        self.lines, self.style = lines, style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in self.lines:
            if isinstance(line, Text):
                yield Text.assemble(line, no_wrap=True, overflow="ignore")
            else:
                wide = options.max_width if console.is_terminal else _WIDE
                text = fill(safe(line), wide, break_long_words=False, break_on_hyphens=False)
                yield Text(text, self.style, no_wrap=True, overflow="ignore")


def table(words: Sequence[str], numbers: Sequence[str], rows: Iterable[Sequence[object]]) -> Columns:
    """Columns of words, then columns of numbers, from rows."""
    cells = [[safe(str(cell)) for cell in row] for row in rows]
    names = [*words, *numbers]
    return Columns(names, list(zip(*cells, strict=True)) or [()] * len(names), words)


def estimates(frame: "pl.DataFrame", most: int = MOST_ROWS) -> RenderableType:
    """A table of estimates: an interval stands beside its value; of a long table the first rows."""
    shown = printed.texts_of(frame, most)
    words = [name for name in shown if printed.is_text(frame, name)]
    columns = Columns(list(shown), [[safe(cell) for cell in cells] for cells in shown.values()], words)
    if len(frame) <= most:
        return columns
    return Group(columns, Text(f"{most:,} of {len(frame):,} rows; {param('output', 'csv')} prints all", "dim"))


@dataclass(repr=False, eq=False)
class Found(Result):
    """A table, and what a terminal, programs and a notebook get in its place where that is anything else."""

    title: str
    table: "pl.DataFrame | None" = None
    notes: Sequence[str] = ()
    text: RenderableType | None = None
    data: Any = None
    html: str | None = None
    above: "Benchmark | Item | None" = None
    exit_code: int = 0


def listing(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]], **more: Any) -> Found:
    """Rows of words, all of them and in full."""
    frame = pl.DataFrame(rows, schema=list(columns), orient="row", infer_schema_length=None)
    return Found(title, frame, **{"text": table(columns, [], rows)} | more)


class Written(Found):
    """What a command wrote: one line for people, below ``counts`` where there are any, and its facts for programs."""

    def __init__(
        self, line: str, facts: Mapping[str, Any], notes: Sequence[str] = (), counts: "pl.DataFrame | None" = None
    ) -> None:
        written = Lines(Text(safe(line)))
        text = written if counts is None else Group(estimates(counts), written)
        super().__init__("", counts, notes, text, {**facts, "notes": list(notes)})
        self.line, self.facts = line, dict(facts)

    @property
    def frame(self) -> "pl.DataFrame":
        """The counts, or else the facts as one row; a fact with several values is left out."""
        plain = {name: fact for name, fact in self.facts.items() if not isinstance(fact, list | dict)}
        return pl.DataFrame([plain]) if self.table is None else self.table


class NewBenchmark(Written):
    """A benchmark that a command wrote."""

    def __init__(
        self,
        benchmark: "Benchmark",
        line: str,
        facts: Mapping[str, Any],
        notes: Sequence[str],
        counts: "pl.DataFrame | None" = None,
    ) -> None:
        super().__init__(line, {"benchmark": str(benchmark.path), "items": len(benchmark), **facts}, notes, counts)
        self.benchmark = benchmark

    def _repr_html_(self) -> str:
        notes = cards.card("notes", pl.DataFrame(), self.notes) if self.notes else ""
        return cards.benchmark_card(self.benchmark) + notes
