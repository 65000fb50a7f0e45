"""YAML that people, or those who wish them ill, write: a value, or one line that says what is wrong and where."""

import os
from pathlib import Path

import pytest

from eyetest.errors import InputError
from eyetest.store.handwritten import MAX_BYTES, MAX_DEPTH, MAX_NUMBER, MAX_VALUES, parse_yaml, read_yaml

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{one}: &{one} [{', '.join([f'*{before}'] * 10)}]\n" for before, one in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGED = "a: &a {x: 1}\n" + "".join(
    f"{one}: &{one} {{<<: [{', '.join([f'*{before}'] * 10)}]}}\n"
    for before, one in zip("abcdefgh", "bcdefghi", strict=True)
)
BOMBS = {
    "a billion laughs": (LAUGHS, "references unfolded (line 5)"),
    "a billion merges": (MERGED, "references unfolded (line "),
    "a list in itself": ("a: &a [*a]", "refers to itself (line 1)"),
    "an object in itself": ("x: 1\na: &a {b: {c: *a}}", "refers to itself (line 2)"),
    "a merge of itself": ("&a\n<<: *a\n", "refers to itself (line 1)"),
    "no such day": ("x: 1\npublished: 2024-13-45", "'2024-13-45' is no timestamp; put texts in quotes (line 2)"),
    "no such zone": ("a: 2024-01-01 00:00:00 +99:99", "is no timestamp"),
    "an endless number": (f"x: 1\na: {'9' * 6_000}", "a number of 6,000 characters (line 2)"),
    "a number in sixties": (f"a: 1{':1' * 3_000}", "a number of 6,001 characters"),
    "an endless version": (f"%YAML 1.{'9' * 6_000}\n---\na: 1", "extremely long version number (line 1)"),
    "an endless character": ('a: "\\UFFFFFFFF"', "invalid Unicode character escape code (line 1)"),
    "endless lists": ("[" * 100_000, f"nested more than {MAX_DEPTH} deep (line 1)"),
    "endless objects": ("{a: " * 100_000, f"nested more than {MAX_DEPTH} deep (line 1)"),
    "endless indents": ("".join(f"{' ' * n}a:\n" for n in range(200)), "deep (line 50)"),
    "too many values": (f"[{'1,' * MAX_VALUES}]", f"more than {MAX_VALUES:,} values (line 1)"),
    "a name twice": ("a: 1\nb: 2\na: 3", '"a" stands there twice (line 3)'),
    "a tag that runs": ("a: !!python/object/apply:os.system [exit]", "constructor for the tag"),
    "an endless tag": (f"a: !{'x' * 10_000} 1", "constructor for the tag"),
    "half a pair": ('a: "\\ud800"', "invalid Unicode character escape code (line 1)"),
    "a hidden end": ('a: "x\\0y"', "is no text (line 1)"),
    "an end": ("a: 1\nb: \0", "'\\x00' in a text (line 2)"),
    "a colour": (f"a: {'é' * 9}\nb: \x1b[31m{chr(10) * 9}", "'\\x1b' in a text (line 2)"),
    "a tab": ("a:\n\tb: 1", "cannot start any token (line 2)"),
    "a word for a number": ("a: !!int x", "'x' is no int"),
    "nothing for a number": ("a: !!int ''", "'' is no int"),
    "a word for a truth": ("a: !!bool maybe", "'maybe' is no bool"),
    "a word for a day": ("a: !!timestamp soon", "'soon' is no timestamp"),
    "a list for a name": ("? [a]\n: 1", "unhashable key (line 1)"),
    "two documents": ("a: 1\n---\nb: 2", "another document (line 2)"),
    "nothing there": ("a: *b", "undefined alias 'b' (line 1)"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_one_line_that_says_where(tmp_path: Path, name: str) -> None:
    text, message = BOMBS[name]
    path = tmp_path / "b.yaml"
    path.write_bytes(text.encode("utf-8"))
    with pytest.raises(InputError) as caught:
        read_yaml(path)
    assert str(caught.value).startswith(f"{path} is not YAML: ")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400 + len(str(path))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: 1\nb: caf\xe9\n", "bytes that are not UTF-8 (line 2)"),
        ("a: 1".encode("utf-16"), "bytes that are not UTF-8 (line 1)"),
        (b"#" * (MAX_BYTES + 1), "is larger than 1 MB"),
    ],
)
def test_no_text(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "b.yaml").write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_yaml(tmp_path / "b.yaml")
    assert message in str(caught.value)


def test_half_a_pair_in_a_text() -> None:
    with pytest.raises(InputError, match=r"'\\ud800' in a text \(line 2\)"):
        parse_yaml("a: 1\nb: \ud800", "FILE")


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, message in (
        (tmp_path, "is no file"),
        (tmp_path / "pipe", "is no file"),
        (tmp_path / "gone", "No such file"),
    ):
        with pytest.raises(InputError, match=message):
            read_yaml(path)


def test_what_people_need_stays() -> None:
    text = (
        "\ufeffusual: &usual {temperature: 0}\n"
        "a: {<<: *usual, max_tokens: 5}\n"
        "b: *usual\n"
        f"long: {'9' * MAX_NUMBER}\nday: 2024-02-29\ntext: 'é 𝜋 \u2028'\n"
    )
    content = parse_yaml(text, "b.yaml")
    assert content["a"] == {"temperature": 0, "max_tokens": 5}
    assert content["b"] == {"temperature": 0}
    assert content["long"] == int("9" * MAX_NUMBER)
    assert str(content["day"]) == "2024-02-29"
