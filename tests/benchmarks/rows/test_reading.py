import itertools
from pathlib import Path
from typing import Any

import pytest

from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows import ItemReader, ReadOptions, reading
from eyetest.benchmarks.rows.layout import GoldStyle
from eyetest.benchmarks.rows.reading import plan
from eyetest.errors import InputError, ItemError
from eyetest.records import Choice, Lineage, Turn
from eyetest.tabular.table import Row
from tests.benchmarks.rows.memory import MemoryRows, read_item, read_items
from tests.conftest import png

ANIMALS = ["cat", "dog", "bird"]
WHERE = "table.jsonl row 1"


def choice_row(**values: Any) -> dict[str, Any]:
    return {"question": "What?", "options": ANIMALS, **values}


def error_of(*rows: dict[str, Any], options: ReadOptions | None = None) -> ItemError:
    with pytest.raises(ItemError) as raised:
        read_item(*rows, options=options)
    assert str(raised.value) == (
        f"{raised.value.where}: {raised.value.field}: found {raised.value.found}, expected {raised.value.expected}"
    )
    return raised.value


def test_every_field_of_an_item_is_read() -> None:
    item = read_item(
        choice_row(
            id="q1",
            answer="B",
            hint="furry",
            history=[{"question": "Who?", "answer": "Me"}],
            description="a photo",
            group="g",
            lineage=[{"step": "drawn", "seed": 3}],
            category="animals",
        )
    )
    assert (item.id, item.question, item.hint) == ("q1", "What?", "furry")
    assert (item.description, item.group) == ("a photo", "g")
    assert item.choices == (Choice("cat"), Choice("dog", correct=True), Choice("bird"))
    assert item.history == (Turn("Who?", "Me"),)
    assert item.lineage == (Lineage("drawn", seed=3),)
    assert item.tags == {"category": "animals"}
    assert item.references == ()


def test_a_row_without_id_is_named_by_its_number() -> None:
    items = read_items(MemoryRows({"question": "a", "answer": "x"}, {"question": "b", "answer": "y"}))
    assert [item.id for item in items] == ["0", "1"]


@pytest.mark.parametrize(("value", "expected"), [(7, "7"), ("07", "07"), (None, ""), (1.5, "1.5")])
def test_an_id_is_text(value: Any, expected: str) -> None:
    assert read_item({"id": value, "question": "a", "answer": "x"}).id == expected


@pytest.mark.parametrize(
    ("answer", "letter", "gold"),
    [
        ("dog", "B", (1,)),
        ("B", "B", (1,)),
        (1, "B", (1,)),
        (2, "B", (1,)),
        (None, "b", (1,)),
        ("?", "(B)", (1,)),
        (["cat", "bird"], "AC", (0, 2)),
        (["A", "C"], ["A", "C"], (0, 2)),
        ("dog", None, (1,)),
        ("dog", "?", (1,)),
        ("C", "", (2,)),
        (None, None, ()),
        ("?", " ? ", ()),
        ([], "", ()),
    ],
)
def test_gold_by_answer_letter(answer: Any, letter: Any, gold: tuple[int, ...]) -> None:
    assert read_item(choice_row(answer=answer, answer_letter=letter)).gold == gold


@pytest.mark.parametrize(
    ("answer", "letter"), [("cat", "B"), ("A", "B"), (["cat"], "AB"), (["cat", "dog"], "A"), ("cow", "B"), (0, "B")]
)
def test_an_answer_that_contradicts_the_letter_is_refused(answer: Any, letter: str) -> None:
    error = error_of(choice_row(answer=answer, answer_letter=letter))
    assert (error.where, error.field, error.expected) == (WHERE, "answer", "what answer_letter says")


def test_of_two_equal_options_the_letter_says_which() -> None:
    assert read_item(choice_row(options=["x", "y", "x"], answer="x", answer_letter="C")).gold == (2,)


@pytest.mark.parametrize("letter", ["D", "AD", 1, "dog"])
def test_an_answer_letter_without_its_option_is_refused(letter: Any) -> None:
    error = error_of(choice_row(answer_letter=letter))
    assert (error.field, error.expected) == ("answer_letter", "one of the 3 options (A, B, C)")


def test_an_answer_that_is_no_option_says_where_what_and_what_else() -> None:
    error = error_of(choice_row(answer="E"))
    assert str(error) == f"{WHERE}: answer: found 'E', expected one of the 3 options (A, B, C)"
    assert (error.where, error.field, error.found) == (WHERE, "answer", "'E'")


@pytest.mark.parametrize(
    ("style", "answer", "gold"),
    [("index", 1, (1,)), ("number", 1, (0,)), ("text", "dog", (1,)), ("letter", "A", (0,))],
)
def test_the_user_says_how_answers_are_given(style: GoldStyle, answer: Any, gold: tuple[int, ...]) -> None:
    assert read_item(choice_row(answer=answer), options=ReadOptions(gold_style=style)).gold == gold


def test_the_style_is_taken_from_all_rows() -> None:
    items = read_items(MemoryRows(choice_row(answer=1), choice_row(answer=0)))
    assert [item.gold for item in items] == [(1,), (0,)]
    items = read_items(MemoryRows(choice_row(answer=1), choice_row(answer=3)))
    assert [item.gold for item in items] == [(0,), (2,)]


def test_a_text_among_letters_is_found_by_its_text() -> None:
    items = read_items(MemoryRows(choice_row(answer="A"), choice_row(answer="B"), choice_row(answer="bird")))
    assert [item.gold for item in items] == [(0,), (1,), (2,)]


@pytest.mark.parametrize(("answer", "gold"), [("A", (0,)), ("D", (2,)), ("AD", (0, 2)), ("d", (2,))])
def test_gaps_among_option_columns_do_not_shift_the_gold(answer: str, gold: tuple[int, ...]) -> None:
    item = read_item({"question": "What?", "A": "cat", "B": "dog", "C": None, "D": "fish", "answer": answer})
    assert [choice.text for choice in item.choices] == ["cat", "dog", "fish"]
    assert item.gold == gold


def test_an_absent_option_in_one_row_does_not_touch_the_others() -> None:
    rows = MemoryRows(
        {"question": "a", "A": "1", "B": "2", "C": "3", "answer": "C"},
        {"question": "b", "A": "1", "B": None, "C": "3", "answer": "C"},
        {"question": "c", "A": "1", "B": "2", "C": None, "answer": "B"},
    )
    items = read_items(rows)
    assert [[c.text for c in item.choices if c.correct] for item in items] == [["3"], ["3"], ["2"]]


@pytest.mark.parametrize("answer", ["C", "BC", "E", "DE"])
def test_an_answer_that_names_a_gap_is_refused(answer: str) -> None:
    error = error_of({"question": "What?", "A": "cat", "B": "dog", "C": None, "D": "fish", "answer": answer})
    assert (error.field, error.expected) == ("answer", "one of the 3 options (A, B, D)")


def test_mapped_option_columns_are_lettered_in_their_order() -> None:
    row = {"question": "What?", "right": "cat", "wrong": "dog", "worse": None, "answer": "A"}
    item = read_item(row, options=ReadOptions(fields={"options": "right+wrong+worse"}))
    assert item.choices == (Choice("cat", correct=True), Choice("dog"))


@pytest.mark.parametrize(
    "options",
    [
        ["x", "None"],
        "['x', 'None']",
        '["x", "None"]',
        ("x", "None"),
        {"A": "x", "B": "None"},
        {"A": "x", "B": "None", "C": None},
    ],
)
def test_forms_of_an_option_list(options: Any) -> None:
    assert read_item(choice_row(options=options, answer="B")).choices == (Choice("x"), Choice("None", correct=True))


@pytest.mark.parametrize("options", [None, "", "  ", "[]", [], {}])
def test_a_row_without_options_is_a_text_item(options: Any) -> None:
    item = read_item(choice_row(options=options, answer="a dog"))
    assert (item.choices, item.references) == ((), ("a dog",))


@pytest.mark.parametrize("options", ["cat or dog", "[['cat']]", ["cat", None], 5, "[__import__('os')]"])
def test_what_is_no_list_of_options_is_refused(options: Any) -> None:
    error = error_of(choice_row(options=options, answer="A"))
    assert (error.where, error.field, error.expected) == (WHERE, "options", "a list of options")


@pytest.mark.parametrize(
    ("options", "answer", "right"),
    [
        ({"A": "cat", "B": None, "C": "bird", "D": "fish"}, "C", "bird"),
        ({"B": "dog", "A": "cat"}, "A", "cat"),
    ],
)
def test_letters_of_an_option_mapping_are_its_keys(options: dict[str, Any], answer: str, right: str) -> None:
    item = read_item(choice_row(options=options, answer=answer))
    assert [choice.text for choice in item.choices if choice.correct] == [right]


@pytest.mark.parametrize(
    ("answer", "references"),
    [
        ("a dog", ("a dog",)),
        ("['a dog', 'dog']", ("a dog", "dog")),
        (["a dog", "dog", None, 3], ("a dog", "dog", "3")),
        (42, ("42",)),
        (0, ("0",)),
        (2.5, ("2.5",)),
        ("[", ("[",)),
        ("[see above]", ("[see above]",)),
        ("[2003, 2004]", ("[2003, 2004]",)),
        (None, ()),
        ([], ()),
    ],
)
def test_references_of_a_text_item(answer: Any, references: tuple[str, ...]) -> None:
    assert read_item({"question": "What?", "answer": answer}).references == references


@pytest.mark.parametrize("field", ["question", "hint", "description", "group"])
@pytest.mark.parametrize(("value", "expected"), [(b"\xff\xfe", "UTF-8 text"), ({"a": 1}, "text"), (["a"], "text")])
def test_what_is_no_text_is_refused(field: str, value: Any, expected: str) -> None:
    error = error_of({"question": "What?", "answer": "x", field: value})
    assert (error.where, error.field, error.expected) == (WHERE, field, expected)


@pytest.mark.parametrize("values", [{"question": "x" * 101}, {"options": ["x" * 101, "y"]}, {"hint": "x" * 101}])
def test_a_text_too_long_is_refused(values: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_FIELD", 100)
    error = error_of(choice_row(**values, answer="B"))
    assert (error.field, error.found, error.expected) == (next(iter(values)), "101 characters", "at most 100")


def test_options_inside_the_question_are_taken_out() -> None:
    item = read_item({"question": "What?\nOptions: A: a cat, B: a dog", "answer": "B"})
    assert item.question == "What?"
    assert item.choices == (Choice("a cat"), Choice("a dog", correct=True))


@pytest.mark.parametrize("answer", ["dog", "4"])
def test_options_inside_the_question_stay_where_answers_are_no_letters(answer: str) -> None:
    question = "What?\nOptions: A: a cat, B: a dog"
    item = read_item({"question": question, "answer": answer})
    assert (item.question, item.choices) == (question, ())


@pytest.mark.parametrize("answers", [["A", None, "B"], ["A", "AB", "B"], [None, None, None]])
def test_options_inside_the_question_are_found_beside_held_back_and_double_answers(answers: list[Any]) -> None:
    rows = [{"question": "What?\nOptions: A: a cat, B: a dog", "answer": answer} for answer in answers]
    assert [len(item.choices) for item in read_items(MemoryRows(*rows))] == [2, 2, 2]


def test_a_question_whose_options_cannot_be_told_apart_is_refused() -> None:
    row = {"question": "What?\nOptions: A: x, B: y", "answer": "A"}
    rows = MemoryRows(*[row] * 9, {"question": "What?\nOptions: A: x, B: y, B: z", "answer": "A"})
    with pytest.raises(ItemError, match=r"row 10: question: found no distinct options"):
        read_items(rows)


def test_a_file_of_few_lettered_questions_has_none_inside() -> None:
    rows = [{"question": "What?\nOptions: A: x, B: y", "answer": "A"}, {"question": "Which?", "answer": "B"}]
    assert not plan(MemoryRows(*rows), ReadOptions()).inline_options


def test_a_file_without_rows_is_refused() -> None:
    rows = MemoryRows()
    rows.columns = ("question",)
    with pytest.raises(InputError, match=r"table\.jsonl holds no items"):
        plan(rows, ReadOptions())


def test_a_plan_reads_only_the_first_rows() -> None:
    class Endless(MemoryRows):
        def __iter__(self) -> Any:
            row = Row(0, WHERE, {"question": "What?", "answer": "x"})
            return itertools.islice(itertools.repeat(row), 10_000_000)

    assert plan(Endless({"question": "", "answer": ""}), ReadOptions()).question == "question"


def test_images_are_read_in_the_order_of_their_columns(tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(png(size=(2, 2)))
    row = {"question": "What?", "answer": "x", "image_2": "b.png", "image_1": png(size=(1, 1)), "image_3": None}
    rows = MemoryRows(row, folder=tmp_path)
    [item] = read_items(rows)
    assert [image.width for image in item.images] == [1, 2]


def test_a_gap_among_images_is_refused() -> None:
    error = error_of({"question": "What?", "answer": "x", "image_1": None, "image_2": png()})
    assert str(error) == f"{WHERE}: image_1: found nothing, expected an image, since image_2 has one"


def test_a_bad_image_names_row_and_column(tmp_path: Path) -> None:
    with pytest.raises(ItemError) as raised:
        read_items(MemoryRows({"question": "What?", "answer": "x", "image": "../gone.png"}, folder=tmp_path))
    error = raised.value
    assert (error.where, error.field) == (WHERE, "image")
    assert "which leaves" in error.found
    assert error.expected == "a PNG, JPEG, GIF, WebP, BMP or TIFF"


def test_image_paths_start_at_the_folder_the_user_names(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.png").write_bytes(png())
    rows = MemoryRows({"question": "What?", "answer": "x", "image": "a.png"}, folder=tmp_path)
    store = ImageStore(tmp_path / "store")
    reader = ItemReader(rows, ReadOptions(images=tmp_path / "photos"), store)
    [row] = reader
    assert len(reader.item(row).images) == 1
    assert list(reader.loader.files) == [tmp_path / "photos" / "a.png"]
    store.finish()


def test_a_reader_says_what_it_reads_from_where(tmp_path: Path) -> None:
    rows = MemoryRows({"index": 1, "prompt": "What?", "A": "x", "B": "y", "answer": "A", "split": "test"})
    reader = ItemReader(rows, ReadOptions(), ImageStore(tmp_path))
    assert reader.layout.fields == {"id": "index", "question": "prompt", "options": "A+B", "answer": "answer"}


@pytest.mark.parametrize(
    ("values", "tags"),
    [
        ({"category": "x", "level": 3, "empty": None}, {"category": "x", "level": 3}),
        ({"tags": {"id": "old", "A": 1}}, {"id": "old", "A": 1}),
        ({"tags": '{"id": "old"}', "category": "x"}, {"id": "old", "category": "x"}),
        ({"tags": "indoor, night"}, {"tags": "indoor, night"}),
        ({"tags": ["indoor", "night"]}, {"tags": ["indoor", "night"]}),
        ({"tags": None}, {}),
    ],
)
def test_tags(values: dict[str, Any], tags: dict[str, Any]) -> None:
    assert read_item({"question": "What?", "answer": "x", **values}).tags == tags


@pytest.mark.parametrize("value", [b"\x00", {"bytes": b"\x00", "path": None}, [{"bytes": b"\x00"}]])
def test_bytes_in_a_tag_are_refused_with_a_way_out(value: Any) -> None:
    row = {"question": "What?", "answer": "x", "blob": value}
    error = error_of(row)
    assert (error.field, error.found) == ("blob", "bytes")
    assert "--drop blob" in error.expected
    assert read_item(row, options=ReadOptions(drop=("blob",))).tags == {}


@pytest.mark.parametrize("value", ['[{"question": "Who?", "answer": "Me"}]', [{"question": "Who?", "answer": "Me"}]])
def test_history_as_records_or_as_json(value: Any) -> None:
    assert read_item({"question": "What?", "answer": "x", "history": value}).history == (Turn("Who?", "Me"),)


@pytest.mark.parametrize("field", ["history", "lineage"])
@pytest.mark.parametrize("value", ["not json", "[1]", [{"question": 5}], {"a": 1}, 7, '[{"other": "x"}]'])
def test_malformed_records_are_refused(field: str, value: Any) -> None:
    error = error_of({"question": "What?", "answer": "x", field: value})
    assert (error.where, error.field) == (WHERE, field)
    assert error.expected.startswith("a list of records")


@pytest.mark.parametrize("field", ["history", "lineage"])
def test_empty_records_are_none(field: str) -> None:
    assert getattr(read_item({"question": "What?", "answer": "x", field: ""}), field) == ()


def test_deeply_nested_tags_do_not_crash() -> None:
    text = "[" * 100_000
    assert read_item({"question": "What?", "answer": "x", "tags": text}).tags == {"tags": text}
    assert error_of({"question": "What?", "answer": "x", "lineage": f'[{{"step": {text}'}).field == "lineage"


def test_messages_stay_short_whatever_was_found() -> None:
    error = error_of(choice_row(answer="x\n" * 100_000))
    assert len(str(error)) < 200
    assert str(error).isprintable()


MARKED = ["A. cat", "B. dog", "C. bird"]


@pytest.mark.parametrize("answer", ["B", "b", "(B)", "B.", "B. dog", "dog"])
@pytest.mark.parametrize("options", [MARKED, str(MARKED), dict(zip("ABC", MARKED, strict=True))])
def test_options_are_read_without_their_letters(options: Any, answer: str) -> None:
    item = read_item({"question": "What?", "options": options, "answer": answer})
    assert [choice.text for choice in item.choices] == ANIMALS
    assert item.gold == (1,)


@pytest.mark.parametrize(
    ("answers", "golds"), [((1, 3, 2), (0, 2, 1)), (("1", "3", "(2)"), (0, 2, 1)), ((0, 2, 1), (0, 2, 1))]
)
def test_numbered_options_are_named_by_their_number_unless_answers_count_from_0(answers: Any, golds: Any) -> None:
    options = ["1) cat", "2) dog", "3) bird"]
    rows = [{"question": "What?", "options": options, "answer": answer} for answer in answers]
    items = read_items(MemoryRows(*rows))
    assert [item.gold for item in items] == [(gold,) for gold in golds]
    assert [choice.text for choice in items[0].choices] == ANIMALS


@pytest.mark.parametrize("empty", [None, [], "", "[]"])
def test_options_inside_one_question_of_many(empty: Any) -> None:
    rows = [choice_row(answer="A"), {"question": "Who?\nA. me\nB. you", "options": empty, "answer": "B"}]
    rows += [{"question": "See A. me and B. you. Who?", "options": empty, "answer": "us"}]
    rows += [{"question": "Which figure (A, B or C) fits?", "options": empty, "answer": "C"}]
    items = read_items(MemoryRows(*rows))
    assert [choice.text for choice in items[1].choices] == ["me", "you"]
    assert (items[1].question, items[1].gold) == ("Who?", (1,))
    assert (items[2].choices, items[2].references) == ((), ("us",))
    assert ([choice.text for choice in items[3].choices], items[3].gold) == (["A", "B", "C"], (2,))
    assert items[3].question == "Which figure (A, B or C) fits?"


@pytest.mark.parametrize("named", ["gone.png", ["gone.png"], 17, "https://example.org/x.png", {"path": "gone.png"}])
def test_a_missing_image_is_refused_or_kept_by_its_name(named: Any) -> None:
    row = {"question": "What?", "answer": "x", "image": named}
    assert error_of(row).field == "image"
    item = read_item(row, options=ReadOptions(images_required=False))
    assert item.images == ()
    assert item.tags == {"image": "gone.png" if isinstance(named, dict) else named}


def test_a_damaged_image_is_refused_all_the_same() -> None:
    row = {"question": "What?", "answer": "x", "image": b"no image"}
    assert error_of(row, options=ReadOptions(images_required=False)).field == "image"


def test_a_column_of_another_name_is_taken_where_it_holds_images() -> None:
    item = read_item({"question": "What?", "answer": "x", "img": png()})
    assert len(item.images) == 1
    assert read_item({"question": "What?", "answer": "x", "image_id": 17}).tags == {"image_id": 17}
