import pytest

from eyetest.benchmarks.rows.layout import KNOWN_COLUMNS, ItemLayout, ReadOptions, find_columns, parse_map
from eyetest.errors import InputError


def layout_of(columns: str, *, fields: dict[str, str] | None = None, drop: tuple[str, ...] = ()) -> ItemLayout:
    return find_columns(columns.split(), ReadOptions(fields=fields or {}, drop=drop), "mine.tsv")


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([], {}),
        (["question=prompt"], {"question": "prompt"}),
        (["question=prompt,options=choices"], {"question": "prompt", "options": "choices"}),
        (["question=prompt", "id=uid"], {"question": "prompt", "id": "uid"}),
        (["image=photo"], {"images": "photo"}),
        (["images=front+back"], {"images": "front+back"}),
        ([" question = prompt "], {"question": "prompt"}),
        (["question=a=b"], {"question": "a=b"}),
    ],
)
def test_map_pairs(pairs: list[str], expected: dict[str, str]) -> None:
    assert parse_map(pairs) == expected


@pytest.mark.parametrize("pair", ["", "question", "question=", "=prompt", "question=prompt,", "question:prompt"])
def test_a_map_that_is_no_pair_is_refused(pair: str) -> None:
    with pytest.raises(InputError, match="--map takes FIELD=COLUMN pairs"):
        parse_map([pair])


def test_an_unknown_field_near_to_none_lists_them_all() -> None:
    with pytest.raises(
        InputError, match="known: answer, answer_letter, description, group, hint, history, id, images"
    ):
        parse_map(["zzz=prompt"])


NAMES = [(field, column) for field, columns in KNOWN_COLUMNS.items() for column in columns if field != "question"]


@pytest.mark.parametrize(("field", "column"), [*NAMES, ("images", "image_1"), ("options", "A")])
def test_known_names_are_found(field: str, column: str) -> None:
    layout = layout_of(f"question {column}")
    assert layout.fields == {"question": "question", field: column}
    assert layout.tag_columns == ()


def test_the_best_known_name_counts_and_the_others_are_tags() -> None:
    layout = layout_of("prompt question index id category")
    assert (layout.question, layout.id) == ("question", "id")
    assert layout.tag_columns == ("prompt", "index", "category")


def test_numbered_images_are_found_in_their_order() -> None:
    assert layout_of("question image_2 image_10 image_1").images == ("image_1", "image_2", "image_10")


def test_the_users_word_comes_before_known_names() -> None:
    layout = layout_of("question prompt uid id", fields={"question": "prompt", "id": "uid"})
    assert (layout.question, layout.id) == ("prompt", "uid")
    assert layout.tag_columns == ("question", "id")


def test_a_column_that_is_mapped_is_not_taken_for_another_field() -> None:
    layout = layout_of("question prompt", fields={"hint": "question"})
    assert (layout.question, layout.hint) == ("prompt", "question")


def test_several_columns_are_mapped_with_plus() -> None:
    layout = layout_of("question front back right wrong", fields={"images": "front+back", "options": "right+wrong"})
    assert layout.images == ("front", "back")
    assert layout.options == ("right", "wrong")
    assert layout.tag_columns == ()
    assert layout.fields == {"question": "question", "images": "front+back", "options": "right+wrong"}


def test_a_mapped_answer_puts_a_found_answer_letter_out_of_use() -> None:
    assert layout_of("question answer_letter solution", fields={"answer": "solution"}).answer_letter == ""
    both = {"answer": "solution", "answer_letter": "answer_letter"}
    assert layout_of("question answer_letter solution", fields=both).answer_letter == "answer_letter"


@pytest.mark.parametrize(
    ("fields", "drop", "message"),
    [
        ({"images": "promt"}, (), r'--map images: no column "promt"; did you mean "prompt"'),
        ({"images": "prompt+promt"}, (), r'--map images: no column "promt"; did you mean "prompt"'),
        ({}, ("promt",), '--drop: no column "promt"; did you mean "prompt"'),
        ({"question": "question+prompt"}, (), "question"),
    ],
)
def test_columns_that_cannot_be_taken_are_named(fields: dict[str, str], drop: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=rf"mine\.tsv: .*{message}" if "column" in message else message):
        layout_of("question prompt", fields=fields, drop=drop)


def test_a_missing_question_lists_the_columns() -> None:
    with pytest.raises(InputError) as raised:
        layout_of("uid text photo")
    assert "mine.tsv: no column for the question among uid, text, photo;" in str(raised.value)
    assert "--map question=COLUMN" in str(raised.value)


def test_many_and_long_columns_are_listed_in_one_short_line() -> None:
    with pytest.raises(InputError) as raised:
        find_columns([f"column{number}{'x' * 500}" for number in range(300)], ReadOptions(), "mine.tsv")
    assert "(300 columns)" in str(raised.value)
    assert len(str(raised.value)) < 800


def test_a_dropped_column_is_neither_field_nor_tag() -> None:
    layout = layout_of("question hint category split", drop=("hint", "split"))
    assert layout.hint == ""
    assert layout.tag_columns == ("category",)


@pytest.mark.parametrize(
    ("columns", "drop", "expected"),
    [("question A B C", "C", "A+B"), ("question A B C", "A", ""), ("question image_1 image_2", "image_2", "image_1")],
)
def test_a_dropped_option_or_image_is_not_used(columns: str, drop: str, expected: str) -> None:
    layout = layout_of(columns, drop=(drop,))
    assert "+".join(layout.options + layout.images) == expected


@pytest.mark.parametrize(
    ("columns", "options", "tags"),
    [
        ("question A B C D", "ABCD", ""),
        ("D question B A C", "ABCD", ""),
        ("question A B D", "AB", "D"),
        ("question B C", "", "BC"),
        ("question a b", "", "ab"),
        ("question A", "A", ""),
    ],
)
def test_letter_columns_are_options_only_in_a_row_from_a(columns: str, options: str, tags: str) -> None:
    layout = layout_of(columns)
    assert (layout.options, layout.tag_columns) == (tuple(options), tuple(tags))
    assert layout_of(f"{columns} choices").options == ("choices",)


def test_a_letter_column_that_is_mapped_ends_the_options() -> None:
    layout = layout_of("question A B C", fields={"answer": "C"})
    assert (layout.options, layout.answer) == (("A", "B"), "C")
