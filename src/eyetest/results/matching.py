"""Which item of a benchmark each row of an answer file is about, and whether the row says the same as the item.

Rows are joined by content (question and options) before ids, and by ids before row numbers. A row whose question or
options differ from those of the item that its id or number names, and that fit no other item, belongs to another
benchmark. Answer keys may be corrected later, so another key alone is counted and refused only where nothing else
tells items apart.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from eyetest.benchmarks.options import GOLD_STYLES, find_gold, is_missing, plain_offer, split_options, without_letters
from eyetest.errors import InputError, RowError, counted, param, short
from eyetest.records import MAX_CHOICES, Item, letter, order_shown
from eyetest.results.row_content import QuestionText, RowContent, comparable, holds, uncut
from eyetest.runs.importing import Place, RowItem
from eyetest.tabular.table import parse_list

_START = 3  # words by which questions are found inside prompts
_SHORTEST_QUESTION = 3  # words of a question that is looked for inside a text; a shorter one must be a whole line
_MANY = 8  # rows; so many with one and the same key have no keys, but a constant
_SHORTEST_BEGINNING = 15  # characters of a question that was cut off
_LONGEST_PROMPT = 20_000  # words that are searched
_MOST_ALIKE = 100  # items with one question that are compared with a row
_MOST_OTHER_KEYS = 0.1  # of the rows, where only answer keys tell items apart
_FEWEST_OTHER_KEYS = 5  # where questions agree but several items share them
_NOTHING = " only, nothing to compare"
_NUMBERED = "row number"
_SHOWN = 80  # characters of a question in a message


class Comparison(NamedTuple):
    """How what a row says compares with an item; None where it says nothing about it."""

    question: bool | None = None
    options: bool | None = None
    key: bool | None = None
    order: int = 0  # in which order the row has the item's options
    difference: str = ""
    is_reworded: bool = False  # whether one question is the other with words added, and the options agree

    @property
    def is_other(self) -> bool:
        """Whether the row is about another item."""
        return self.question is False or self.options is False

    @property
    def is_same(self) -> bool:
        """Whether the question or the options agree, and nothing differs."""
        return not (self.is_other or self.is_reworded) and (self.question is True or self.options is True)


class ItemTexts:
    """The texts of an item, comparable."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.question = comparable(item.question)
        self.around = comparable(f"{item.hint}\n{item.question}\n{item.description}")
        self.options = tuple(comparable(choice.text) for choice in item.choices)
        self.references = tuple(filter(None, map(comparable, item.references)))

    @property
    def content(self) -> tuple[str, tuple[str, ...]]:
        """The question and the options, in any order."""
        return self.question, tuple(sorted(self.options))

    @property
    def gold(self) -> frozenset[str]:
        """The texts of the right options."""
        return frozenset(self.options[place] for place in self.item.gold)


@dataclass
class Matched:
    """The places of all rows of a file, and how they were found."""

    places: list[Place] = field(default_factory=list)
    ways: Counter[str] = field(default_factory=Counter)  # what rows were matched by, with their numbers
    other_keys: int = 0  # rows whose answer key is not the benchmark's
    first_other_key: str = ""
    shared: int = 0  # rows that are left out because several items have their question
    reordered: int = 0  # rows with the options in another order
    differing: list[str] = field(default_factory=list)  # rows of other items that are left out
    is_by_id: bool = False  # whether rows say nothing but ids, so that they have no places here

    def __post_init__(self) -> None:
        if self.is_by_id:
            self.ways[f"id{_NOTHING}"] += 1

    def notes(self) -> list[str]:
        """What differs between the file and the benchmark, for the user."""
        notes = []
        if self.other_keys:
            number = counted(self.other_keys, "row")
            notes.append(f"{number} with another answer key than the benchmark, which counts: {self.first_other_key}")
        if self.shared:
            number = counted(self.shared, "row")
            why = "several items have the question, and row numbers are not those of the benchmark"
            notes.append(f"{number} left out: {why}")
        if self.reordered:
            number = counted(self.reordered, "row")
            notes.append(f"{number} with the options in another order, which is kept")
        return notes


class ItemIndex:
    """The items of a benchmark, found by what they ask."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.texts = [ItemTexts(item) for item in items]
        self.by_id = {texts.item.id: number for number, texts in enumerate(self.texts)}
        self._by_question: dict[str, list[int]] = defaultdict(list)
        self._lengths: dict[str, set[int]] = defaultdict(set)
        self._by_content: dict[tuple[str, tuple[str, ...]], list[int]] = defaultdict(list)
        self._by_options: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for number, texts in enumerate(self.texts):
            self._by_question[texts.question].append(number)
            self._by_content[texts.content].append(number)
            if texts.options:
                self._by_options[tuple(sorted(texts.options))].append(number)
            words = texts.question.split()
            if len(words) >= _SHORTEST_QUESTION:
                self._lengths[" ".join(words[:_START])].add(len(words))

    def is_unique(self, number: int) -> bool:
        """Whether no other item has the same question and options."""
        return len(self._by_content[self.texts[number].content]) == 1

    def asking(self, content: RowContent) -> list[int]:
        """The items whose question is one of the row's texts or inside one; without texts, those with its options.

        A question that very many items have tells nothing.
        """
        options = tuple(sorted(map(comparable, content.options)))
        if not content.questions:
            return self._by_options.get(options, []) if options else []
        numbers: dict[int, None] = {}
        for text in content.questions:
            for question in self._questions_in(text.text):
                alike = self._by_content.get((question, options)) or self._by_question[question]
                numbers.update(dict.fromkeys(alike if len(alike) <= _MOST_ALIKE else ()))
        return list(numbers)

    def _questions_in(self, text: str) -> list[str]:
        """The longest questions that a text has: the whole of it, one of its lines, or a part."""
        for whole in (text, *text.splitlines()):
            question = comparable(whole)
            if question and question in self._by_question:
                return [question]
        words = comparable(text).split()[:_LONGEST_PROMPT]
        found: list[str] = []
        for start in range(len(words) - _START + 1):
            for length in self._lengths.get(" ".join(words[start : start + _START]), ()):
                question = " ".join(words[start : start + length])
                if question in self._by_question:
                    found.append(question)
        longest = max(map(len, found), default=0)
        return [question for question in found if len(question) == longest]

    @cached_property
    def key_spellings(self) -> dict[str, str]:
        """Answer keys by their SHA-256, as lm-eval writes it: letters, numbers, texts of options and references."""
        spellings = {letter(place) for place in range(MAX_CHOICES)} | {str(number) for number in range(MAX_CHOICES)}
        for texts in self.texts:
            spellings.update(choice.text for choice in texts.item.choices)
            spellings.update(texts.item.references)
        hashes: dict[str, str] = {}
        for spelling in spellings:
            for written in (spelling, f" {spelling}"):
                hashes[hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()] = spelling
        return hashes


def compare(content: RowContent, texts: ItemTexts) -> Comparison:
    """How what a row says compares with an item."""
    question, difference = _compare_question(content, texts)
    options, order = _compare_options(content, texts)
    is_reworded = question is False and options is True and _is_reworded(content, texts)
    if is_reworded:
        question = None
    if options is False and question is not False:
        theirs = ", ".join(content.options) or "other options"
        ours = ", ".join(choice.text for choice in texts.item.choices)
        difference = f"the file has the options {short(theirs, _SHOWN)}, the benchmark {short(ours, _SHOWN)}"
    key = _compare_key(content, texts)
    return Comparison(question, options, key, order, difference, is_reworded)


def _compare_question(content: RowContent, texts: ItemTexts) -> tuple[bool | None, str]:
    """Whether a text of the row is the item's question, contains it, or is a part of it; and where not, the texts."""
    if not content.questions or not texts.question:
        return None, ""
    for text in content.questions:
        if _is_question(comparable(text.text), texts) or _is_line(text.text, texts.question):
            return True, ""
        if _is_beginning(text, texts.question):
            return True, ""
        if text.is_named and comparable(text.text) and holds(texts.around, comparable(text.text)):
            return True, ""
    named = [text for text in content.questions if text.is_named] or content.questions
    theirs, ours = (short(text, _SHOWN) for text in (named[0].text, texts.item.question))
    return False, f"the file asks {theirs}, the benchmark {ours}"


def _is_beginning(text: QuestionText, question: str) -> bool:
    """Whether a text is the beginning of a question, cut off by a spreadsheet or with dots."""
    if not (text.was_cut or text.text.rstrip().endswith(("...", "…"))):
        return False
    beginning = uncut(comparable(text.text))
    return len(beginning) >= _SHORTEST_BEGINNING and question.startswith(beginning)


def _is_reworded(content: RowContent, texts: ItemTexts) -> bool:
    """Whether one question is the other with words added."""
    for text in content.questions:
        shorter, longer = sorted((comparable(text.text).split(), texts.question.split()), key=len)
        rest = iter(longer)
        if shorter and all(word in rest for word in shorter):
            return True
    return False


def _is_question(text: str, texts: ItemTexts) -> bool:
    if text == texts.question:
        return True
    return len(texts.question.split()) >= _SHORTEST_QUESTION and holds(text, texts.question)


def _is_line(text: str, question: str) -> bool:
    return any(comparable(line) == question for line in text.splitlines())


def _compare_options(content: RowContent, texts: ItemTexts) -> tuple[bool | None, int]:
    """Whether the row has the item's options, and in which order."""
    if not texts.options:
        return None, 0
    if content.options:
        return _same_options(tuple(map(comparable, content.options)), texts.options)
    for text in content.questions:
        split = _split_options(text.text)
        if split is not None and len(split[1]) == len(texts.options):
            return _options_in_prompt(tuple(map(comparable, without_letters(split[1]))), texts.options)
    return None, 0


_split_options = lru_cache(maxsize=64)(split_options)  # the same text is compared with several items


def _same_options(theirs: tuple[str, ...], ours: tuple[str, ...]) -> tuple[bool, int]:
    if len(theirs) > len(ours) or any(theirs) != any(ours):
        return False, 0
    if not any(ours):  # options that are images leave no words to compare
        return len(theirs) == len(ours), 0
    padded = theirs + ("",) * (len(ours) - len(theirs))  # a spreadsheet reads the option "None" as an empty cell
    if sum(map(bool, padded)) * 2 >= len(ours) and all(map(_is_option, padded, ours)):
        return True, 0
    if len(set(ours)) < len(ours) or sorted(padded) != sorted(ours):
        return False, 0
    try:
        return True, order_shown([ours.index(option) for option in padded])
    except ValueError:
        return False, 0


def _is_option(theirs: str, ours: str) -> bool:
    """Whether two options are one: also where a spreadsheet wrote ``0.50`` as ``0.5``, or an empty cell."""
    if not theirs or theirs == ours:
        return True
    try:
        return float(theirs.replace(" ", "")) == float(ours.replace(" ", ""))
    except ValueError:
        return False


def _options_in_prompt(theirs: tuple[str, ...], ours: tuple[str, ...]) -> tuple[bool | None, int]:
    """The same of options in a prompt, the last of which may run on into an instruction."""
    last = next((option for option in ours if option == theirs[-1]), "")
    if not last:
        endings = [option for option in ours if option and f"{theirs[-1]} ".startswith(f"{option} ")]
        last = max(endings, key=len, default=theirs[-1])
    is_same, order = _same_options((*theirs[:-1], last), ours)
    if is_same:
        return True, order
    shared = len({*theirs} & {*ours})
    return (False, 0) if shared * 2 < len(ours) else (None, 0)


def _compare_key(content: RowContent, texts: ItemTexts) -> bool | None:
    """Whether one of the row's keys is the item's; None where the row has none that can be read."""
    verdicts: list[bool] = []
    for key in content.keys:
        if not is_missing(key):
            verdict = _is_gold(key, content, texts) if texts.options else _is_reference(key, texts)
            verdicts += [] if verdict is None else [verdict]
    return any(verdicts) if verdicts else None


def _is_gold(key: Any, content: RowContent, texts: ItemTexts) -> bool | None:
    """Whether a key names the right options in any style; None where it names none."""
    if not texts.gold:
        return None
    has_all = len(content.options) == len(texts.options) and all(content.options)
    shown = content.options if has_all else [choice.text for choice in texts.item.choices]
    if isinstance(key, float):
        key = int(key) if key.is_integer() else str(key)
    key = (parse_list(key) or key.strip()) if isinstance(key, str) else key
    if comparable(str(key)) in texts.options:
        return frozenset([comparable(str(key))]) == texts.gold
    offered = plain_offer(shown)
    readings: list[frozenset[str]] = []
    for style in GOLD_STYLES:
        places = find_gold(key, offered, style)
        if places:
            readings.append(frozenset(comparable(shown[place]) for place in places))
    if not readings:
        marked = comparable(str(key)).split()
        is_marked = len(marked) > 1 and len(marked[0]) == 1
        return texts.gold == {_rest_of(marked)} if is_marked and _rest_of(marked) in texts.options else None
    return texts.gold in readings


def _rest_of(words: Sequence[str]) -> str:
    """The text behind the letter of ``B. cat``."""
    signs = (".", ")", ":")
    return " ".join(words[2:] if words[1] in signs else words[1:])


def _is_reference(key: Any, texts: ItemTexts) -> bool | None:
    if not texts.references:
        return None
    parts = key if isinstance(key, list) else parse_list(key) if isinstance(key, str) else None
    written = [comparable(str(part)) for part in (key, *(parts or ()))]
    for part in filter(None, written):
        for reference in texts.references:
            if _is_option(part, reference) or holds(part, reference):
                return True
    return False if any(written) else None


class Matcher:
    """Finds the items of the rows of one file; with ``skips`` rows about other items are left out."""

    def __init__(self, index: ItemIndex, *, skips: bool = False) -> None:
        self._index, self._skips = index, skips
        self.matched = Matched()
        self._differences: list[tuple[int, RowItem, str]] = []
        self._strays: list[tuple[int, int]] = []  # rows with an unknown id, and the items that they fit
        self._confirmed: set[int] = set()  # items that a row agrees with
        self._keys: Counter[bool] = Counter()  # of rows that nothing but their keys tells apart
        self._key_words: set[str] = set()  # the keys of these rows
        self._shared_keys: Counter[bool] = Counter()  # of rows whose question several items have
        self._unsure: list[tuple[int, RowContent]] = []  # rows that only their numbers tell apart
        self._in_place: Counter[bool] = Counter()  # whether rows of unique content are at their numbers

    def add(self, claim: RowItem, content: RowContent) -> None:
        """Place a row."""
        content = self._with_key(content)
        row = len(self.matched.places)
        self.matched.places.append(Place(None))
        candidates = self._candidates(claim, content)
        comparisons = [(number, compare(content, self._index.texts[number])) for number, _ in candidates]
        for (number, way), (_, compared) in zip(candidates, comparisons, strict=True):
            if compared.is_same:
                exact = self._fitting(content) if compared.order else []
                if len(exact) == 1 and exact[0][1].order == 0:
                    self._accept(row, claim, content, *exact[0], "content")
                    return
                self._accept(row, claim, content, number, compared, way)
                if way == _NUMBERED and not self._index.is_unique(number):
                    self._unsure.append((row, content))
                return
        fitting = self._fitting(content)
        if len(fitting) == 1 and (candidates or claim.position is not None):
            self._accept(row, claim, content, *fitting[0], "content")
        elif len(fitting) == 1:
            self._strays.append((row, fitting[0][0]))
            self.matched.places[row] = Place(self._index.texts[fitting[0][0]].item.id, fitting[0][1].order)
        elif candidates and not comparisons[0][1].is_other:
            self._accept(row, claim, content, *comparisons[0], candidates[0][1])
        elif candidates:
            number, compared = comparisons[0]
            name = short(self._index.texts[number].item.id)
            self._differences.append((row, claim, f"item {name} differs: {compared.difference}"))
        elif claim.position is not None:
            size = counted(len(self._index.texts), "item")
            difference = f"doc_id {claim.position} is past the end of the benchmark ({size})"
            self._differences.append((row, claim, difference))

    def pass_over(self) -> None:
        """Count a row that is not wanted."""
        self.matched.places.append(Place(None))

    def _with_key(self, content: RowContent) -> RowContent:
        """The content with the key that its hash stands for, where it is one of the benchmark's."""
        if not content.key_hash or content.keys:
            return content
        key = self._index.key_spellings.get(content.key_hash)
        return content if key is None else content._replace(keys=(key,))

    def _candidates(self, claim: RowItem, content: RowContent) -> list[tuple[int, str]]:
        """The items that a row names, each with how."""
        candidates: dict[int, str] = {}
        ids = content.ids if claim.position is not None else (claim.item,)
        for name in ids:
            if (number := self._index.by_id.get(name)) is not None:
                candidates.setdefault(number, "id")
        if claim.position is not None and claim.position < len(self._index.texts):
            candidates.setdefault(claim.position, _NUMBERED)
        return list(candidates.items())

    def _fitting(self, content: RowContent) -> list[tuple[int, Comparison]]:
        """The items with the content of a row: where there are several, those with its order or its key."""
        numbers = self._index.asking(content)
        fitting = [(number, compare(content, self._index.texts[number])) for number in numbers]
        fitting = [(number, compared) for number, compared in fitting if compared.is_same]
        for is_better in _BETTER:
            better = [pair for pair in fitting if is_better(pair[1])]
            fitting = better or fitting
        return fitting

    def _accept(
        self, row: int, claim: RowItem, content: RowContent, number: int, compared: Comparison, way: str
    ) -> None:
        texts = self._index.texts[number]
        self.matched.places[row] = Place(texts.item.id, compared.order)
        self.matched.reordered += compared.order != 0
        is_unique = compared.is_same and self._index.is_unique(number) and compared.question is True
        self.matched.ways[_way_of(way, compared, is_unique=is_unique)] += 1
        if compared.is_same:
            self._confirmed.add(number)
        if claim.position is not None and is_unique:
            self._in_place[claim.position == number] += 1
        if compared.key is None:
            return
        tallies = self._shared_keys if compared.is_same or compared.is_reworded else self._keys
        if not is_unique and way != "content":
            tallies[compared.key] += 1
            self._key_words.add(str(content.keys))
        if not compared.key:
            self.matched.other_keys += 1
            ours = " ".join(map(letter, texts.item.gold)) or " | ".join(texts.item.references)
            theirs, name = short(content.keys[0]), short(texts.item.id)
            key = f"{claim.where}: the file has {theirs}, the benchmark {short(ours)} for item {name}"
            self.matched.first_other_key = self.matched.first_other_key or key

    def finish(self) -> Matched:
        """The places of all rows; refused where the file is about other items."""
        for row, number in self._strays:
            if number in self._confirmed:
                self.matched.places[row] = Place(None)  # another row is about it, so ids tell items apart
            else:
                self.matched.ways["content"] += 1
        if self._in_place[False] > self._in_place[True]:
            self._leave_numbers()
        self._refuse_other_keys()
        if self._differences and not self._is_larger_file():
            self._leave_out_or_refuse()
        return self.matched

    def _leave_numbers(self) -> None:
        """Place rows without their numbers, which are not those of the benchmark."""
        for row, content in self._unsure:
            fitting = self._fitting(content)
            if len(fitting) == 1:
                number, compared = fitting[0]
                self.matched.places[row] = Place(self._index.texts[number].item.id, compared.order)
            else:
                self.matched.places[row] = Place(None, is_left_out=True)
                self.matched.shared += 1

    def _is_larger_file(self) -> bool:
        """Whether rows were numbered in a larger dataset, of which the benchmark is a part."""
        is_numbered = all(claim.position is not None for _, claim, _ in self._differences)
        return is_numbered and len(self._confirmed) * 2 >= len(self._index.texts)

    def _refuse_other_keys(self) -> None:
        checked, shared = self._keys.total(), self._shared_keys.total()
        if len(self._key_words) == 1 and checked + shared >= _MANY:
            self._forget_keys()
            return
        is_other = self._keys[False] > _MOST_OTHER_KEYS * checked
        others = self._shared_keys[False]
        if is_other or (others >= _FEWEST_OTHER_KEYS and others * 2 > shared):
            number = counted(self.matched.other_keys, "answer key")
            raise InputError(
                f"{self.matched.first_other_key}; {number} of {len(self.matched.places):,} differ, and nothing else "
                f"tells which items these answers are about; name the benchmark that was asked with {param('bench')}"
            )

    def _forget_keys(self) -> None:
        """Take the keys of rows for nothing, since all are the same."""
        self.matched.other_keys = 0
        for way in ("id", _NUMBERED):
            number = self.matched.ways.pop(f"{way}, key", 0) + self.matched.ways.pop(f"{way} only", 0)
            if number:
                self.matched.ways[f"{way}{_NOTHING}"] += number

    def _leave_out_or_refuse(self) -> None:
        _, claim, difference = self._differences[0]
        number, rows = len(self._differences), len(self.matched.places)
        if not self._confirmed:
            message = f"{claim.where}: {difference}; {number:,} of {rows:,} rows differ and none agrees"
            raise InputError(f"{message}: name the benchmark that was asked with {param('bench')}")
        message = f"{claim.where}: {difference}"
        message += f" ({number:,} of {rows:,} rows differ)" if number > 1 else ""
        if not self._skips:
            raise RowError(message)
        for row, claim, difference in self._differences:
            self.matched.places[row] = Place(None, is_left_out=True)
            self.matched.differing.append(f"{claim.where}: {difference}")


_BETTER: tuple[Callable[[Comparison], bool], ...] = (
    lambda compared: compared.options is True,
    lambda compared: compared.order == 0,
    lambda compared: compared.key is True,
)


def _way_of(way: str, compared: Comparison, *, is_unique: bool) -> str:
    """What a row was matched by, in words."""
    if is_unique or way == "content":
        return "content"
    agreeing = [
        name
        for name, verdict in (
            ("question", compared.question),
            ("options", compared.options),
            ("key", compared.key),
        )
        if verdict is True
    ]
    if agreeing:
        return ", ".join((way, *agreeing))
    return f"{way} only" if compared.key is False else f"{way}{_NOTHING}"
