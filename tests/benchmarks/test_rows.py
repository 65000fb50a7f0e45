"""How rows become items: the tables of ``rows.yaml``, and what a table cannot say."""

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from eyetest.benchmarks import ImageStore, ReadOptions, parse_map
from eyetest.benchmarks import options as option_texts
from eyetest.benchmarks.options import find_gold, plain_offer, split_options
from eyetest.benchmarks.rows import KNOWN_COLUMNS, RESERVED, ItemReader, find_columns, plain_row, plan
from eyetest.errors import InputError, ItemError
from eyetest.records import Choice, Item, Lineage, Turn
from eyetest.tabular.table import Row, Table
from tests.conftest import png
from tests.support.refusals import refusal

TABLES: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("rows.yaml").read_text("utf-8"))
ANIMALS = ["cat", "dog", "bird", "fish"]
WHERE = "table.jsonl row 1"


class MemoryTable(Table):
    """Rows that lie in memory."""

    def __init__(self, *rows: dict[str, Any], folder: Path = Path()) -> None:
        super().__init__(folder / "table.jsonl")
        self._rows = rows

    def rows(self) -> Iterator[Row]:
        return (Row(f"table.jsonl row {number}", row) for number, row in enumerate(self._rows, 1))


def read_items(*rows: dict[str, Any], folder: Path = Path("/nowhere"), **read: Any) -> list[Item]:
    """Every row as an item; the images themselves are thrown away."""
    with TemporaryDirectory() as to:
        store = ImageStore(Path(to))
        reader = ItemReader(MemoryTable(*rows, folder=folder), msgspec.convert(read, ReadOptions), store)
        return [reader.item(row, number) for number, row in enumerate(reader)]


def summary(item: Item) -> dict[str, Any]:
    fields = msgspec.to_builtins(item)
    empty = dict.fromkeys(("references", "history", "lineage"), ()) | {"tags": {}, "hint": ""}
    options = [choice.text for choice in item.choices]
    found = {"options": options, "gold": item.gold, "images": [image.width for image in item.images]}
    return {**empty, **fields, **found}


def lists(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


CASES = [
    (group.get("base", {}), group.get("read", {}), rows if isinstance(rows, list) else [rows], expected)
    for group in TABLES["reading"]
    for rows, expected in group["cases"]
]


@pytest.mark.parametrize(("base", "read", "rows", "expected"), CASES)
def test_rows_become_items(base: dict[str, Any], read: dict[str, Any], rows: list[Any], expected: Any) -> None:
    rows = [base | row for row in rows]
    if isinstance(expected, str):
        with pytest.raises(ItemError, match=rf"row {len(rows)}: {re.escape(expected)}") as raised:
            read_items(*rows, **read)
        assert str(raised.value).isprintable()
        return
    wanted = expected if isinstance(expected, list) else [expected]
    found = [lists(summary(item)) for item in read_items(*rows, **read)]
    assert [{name: item[name] for name in want} for item, want in zip(found, wanted, strict=True)] == wanted


NAMES = [(field, column) for field, columns in KNOWN_COLUMNS.items() for column in columns if field != "question"]
KNOWN = [(f"question {column}", {"question": "question", field: column}, "") for field, column in NAMES]


@pytest.mark.parametrize("case", [*KNOWN, *TABLES["layouts"]])
def test_columns_are_found(case: Any) -> None:
    columns, expected, tags, *read = case
    options = msgspec.convert(read[0] if read else {}, ReadOptions)
    if isinstance(expected, str):
        with pytest.raises(InputError, match=re.escape(expected)):
            find_columns(columns.split(), options, "mine.tsv")
    else:
        layout = find_columns(columns.split(), options, "mine.tsv")
        assert (layout.fields, layout.tag_columns) == (expected, tuple(tags.split()))


@pytest.mark.parametrize(("pairs", "expected"), TABLES["maps"])
def test_map_pairs(pairs: list[str], expected: Any) -> None:
    if isinstance(expected, str):
        with pytest.raises(InputError, match=re.escape(expected)):
            parse_map(pairs)
    else:
        assert parse_map(pairs) == expected


@pytest.mark.parametrize("case", [*TABLES["golds"], ("index", 10**30, None), ("number", "9" * 5000, None)])
def test_golds(case: Any) -> None:
    style, answer, expected, *options = case
    found = find_gold(answer, plain_offer(options[0] if options else ANIMALS), style)
    assert found == (None if expected is None else tuple(expected))


def test_what_counts_as_a_held_back_answer() -> None:
    assert all(map(option_texts.is_missing, (None, "", "?", " ? ", "\n", [])))
    assert not any(map(option_texts.is_missing, ("A", "??", "None", "nan", 0, False, [""], ["?"], ())))


@pytest.mark.parametrize("case", TABLES["styles"])
def test_the_style_of_golds_is_found_or_asked_for(case: Any) -> None:
    answers, expected, *options = case
    sample = [(answer, plain_offer(options[0] if options else ANIMALS)) for answer in answers]
    if isinstance(expected, str):
        assert option_texts.choose_style(sample, "mine.tsv") == expected
    else:
        hint = "mine.tsv: .*--gold-style {} or --gold-style {}".format(*expected)
        with pytest.raises(InputError, match=hint):
            option_texts.choose_style(sample, "mine.tsv")


@pytest.mark.parametrize("case", TABLES["inside"])
def test_options_inside_a_question(case: list[Any]) -> None:
    text, *expected = case
    assert split_options(text) == ((expected[0], tuple(expected[1])) if expected else None)


@pytest.mark.parametrize(("options", "texts"), TABLES["marks"])
def test_letters_are_no_part_of_options(options: list[str], texts: list[str]) -> None:
    assert option_texts.without_letters(options) == tuple(texts)
    assert option_texts.bring_letters(options) == (options != texts)
    assert not option_texts.bring_letters(texts)


def test_letters_in_another_order_stay() -> None:
    assert option_texts.bring_letters(["B. cat", "A. dog"])
    assert option_texts.without_letters(["B. cat", "A. dog"]) == ("B. cat", "A. dog")


@pytest.mark.parametrize("values", [{"question": "x" * 101}, {"options": ["x" * 101, "y"]}, {"hint": "x" * 101}])
def test_a_text_too_long_is_refused(values: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyetest.benchmarks.rows.MAX_FIELD", 100)
    with pytest.raises(ItemError, match=f"{next(iter(values))}: found 101 characters, expected at most 100"):
        read_items({"question": "What?", "options": ["x", "y"], "answer": "B", **values})


def test_a_file_of_few_lettered_questions_has_none_inside() -> None:
    rows = [{"question": "What?\nOptions: A: x, B: y", "answer": "A"}, {"question": "Which?", "answer": "B"}]
    assert not plan(MemoryTable(*rows), ReadOptions()).inline_options


def test_images_are_read_in_the_order_of_their_columns_from_the_folder_the_user_names(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/b.png").write_bytes(png(size=(2, 2)))
    row = {"question": "What?", "answer": "x", "image_2": "b.png", "image_1": png(size=(1, 1)), "image_3": None}
    store = ImageStore(tmp_path / "store")
    reader = ItemReader(MemoryTable(row, folder=tmp_path), ReadOptions(images=tmp_path / "photos"), store)
    assert [image.width for image in reader.item(next(iter(reader)), 0).images] == [1, 2]
    assert list(reader.loader.files) == [tmp_path / "photos" / "b.png"]


def test_deeply_nested_tags_and_long_texts_do_not_crash() -> None:
    text, row = "[" * 100_000, {"question": "What?", "answer": "x"}
    assert read_items({**row, "tags": text})[0].tags == {"tags": text}
    with pytest.raises(ItemError, match="eyetest: found"):
        read_items({**row, "eyetest": f'{{"tags": {text}'})
    long = {"question": "What?", "options": ["a", "b"], "answer": "x\n" * 100_000}
    assert len(refusal(read_items, long, error=ItemError)) < 200
    blanks = " " * 12_000 + "?"
    assert split_options(f"{blanks}\nA. x\nB. y") == (blanks, ("x", "y"))


TEXT = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ["A", "?", "[1]", "['x']", "0", "nan", " "]
)
NAME = st.text("abAB_1 ", min_size=1, max_size=6).filter(str.strip) | st.sampled_from(sorted(RESERVED))
VALUE = st.booleans() | st.integers() | TEXT | st.lists(TEXT, max_size=2)
ITEM = st.builds(
    Item,
    id=TEXT,
    question=TEXT,
    choices=st.lists(st.builds(Choice, TEXT, st.booleans()), max_size=26, unique_by=lambda c: c.text).map(tuple),
    hint=TEXT,
    history=st.lists(st.builds(Turn, TEXT, TEXT), max_size=2).map(tuple),
    description=TEXT,
    group=TEXT,
    lineage=st.lists(st.builds(Lineage, TEXT, seed=st.none() | st.integers(0, 9)), max_size=2).map(tuple),
    tags=st.dictionaries(NAME, VALUE, max_size=4),
)
OPEN = st.builds(Item, id=st.just("1"), question=TEXT, references=st.lists(TEXT, max_size=3).map(tuple))
TWICE = Item(
    id="1", question="What?", choices=(Choice("x", True), Choice("y"), Choice("x", True)), tags={"unit": None}
)


@given(item=ITEM | OPEN | st.just(TWICE))
def test_the_same_item_is_read_from_its_row(item: Item) -> None:
    assert read_items({"question": "", "options": None, **plain_row(item)}) == [item]


def test_the_row_of_an_item() -> None:
    bare: dict[str, Any] = {"id": "1", "question": "What?"}
    assert plain_row(Item(**bare)) == bare
    choices = tuple(Choice(text, i != 1) for i, text in enumerate(("cat", "dog", "bird")))
    answers = {"options": ["cat", "dog", "bird"], "answer": ["cat", "bird"], "answer_letter": "AC"}
    assert plain_row(Item(**bare, choices=choices)) == bare | answers
    item = Item(**bare, references=("x", "y"), history=(Turn("Who?", "Me"),), hint="h", tags={"A": "mine", "b": 2})
    others = {
        "hint": "h",
        "history": ({"question": "Who?", "answer": "Me"},),
        "eyetest": {"tags": {"A": "mine"}},
        "b": 2,
    }
    assert plain_row(item) == bare | {"answer": ["x", "y"]} | others
    assert plain_row(item, text_tags=True)["eyetest"]["tags"] == {"A": "mine", "b": 2}
