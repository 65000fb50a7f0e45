import json
import subprocess
import sys
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.tabular.table import parse_list

TEXTS = st.lists(st.text(st.characters(codec="utf-8")))


@given(texts=TEXTS)
def test_a_list_in_json_or_python_gives_its_texts(texts: list[str]) -> None:
    assert parse_list(json.dumps(texts)) == parse_list(repr(texts)) == texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", []),
        (" [ ] ", []),
        ("['cat', 'dog']", ["cat", "dog"]),
        ('["cat", "dog"]', ["cat", "dog"]),
        ("\n['cat',\n 'dog',]\n", ["cat", "dog"]),
        ("""['it\\'s', "it's", 'say "it"']""", ["it's", "it's", 'say "it"']),
        ("['None', 'nan', '']", ["None", "nan", ""]),
        ("['a, b', '[c]']", ["a, b", "[c]"]),
        ('["caf\\u00e9", "猫"]', ["café", "猫"]),
        ("[1, -2, 2.50, 1e3]", ["1", "-2", "2.50", "1e3"]),
        ("['one', 2]", ["one", "2"]),
        ("[123456789012345678901234567890]", ["123456789012345678901234567890"]),
    ],
)
def test_texts_and_numbers_of_a_list(text: str, expected: list[str]) -> None:
    assert parse_list(text) == expected


REFUSED = [
    "", "cat", "('cat', 'dog')", "{'cat': 'dog'}", "['cat', 'dog'", "'cat', 'dog']", "[cat, dog]", "[A] and [B]",
    "[1, 2] + [3]", "[['cat'], 'dog']", "[{'a': 1}]", '[["cat"], ["dog"]]', "[null, 1]", "['cat', None]", "[b'cat']",
    "[1 + 2j]", "[...]", "['\0']", "[__import__('os').getpid()]", "[f'{1 + 1}']", "['a' * 9]", "[x for x in 'ab']",
    "[(lambda: 1)()]",
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_flat_list_of_texts_and_numbers_is_refused(text: str) -> None:
    assert parse_list(text) is None


def test_deep_nesting_is_refused_without_a_crash() -> None:
    code = """
from eyetest.tabular.table import parse_list
many = 100_000
print(
    parse_list("[" * many), parse_list("[" * many + "]" * many), parse_list("[" * 190 + "]" * 190),
    parse_list("[" + "-" * many + "1]"), parse_list("[" + "1+" * many + "1]"),
    parse_list("[" + "(" * many + ")" * many + "]"), parse_list("[" + '{"a":' * many + "1" + "}" * many + "]"),
)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["None"] * 7, "")


@pytest.mark.parametrize("size", [300_000, 3_000_000])
@pytest.mark.parametrize("template", ["['{}', '{}']", '["{}","{}"]', """[ "{}" , '{}', ]"""])
def test_long_base64_is_read(template: str, size: int) -> None:
    first, second = "Ab+/" * (size // 4), "Zz9=" * (size // 4)
    assert parse_list(template.format(first, second)) == [first, second]


@pytest.mark.parametrize("end", [", ['A']]", ", open('x')]", " 'B']"])
def test_long_texts_that_are_no_flat_list_are_refused(end: str) -> None:
    assert parse_list(f"['{'A' * 1_100_000}'{end}") is None


def test_latex_in_a_list_raises_no_warning() -> None:
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        assert parse_list(r"['$\sigma$', '$\pi$']") == [r"$\sigma$", r"$\pi$"]
    assert raised == []


def test_half_a_surrogate_pair_is_refused() -> None:
    assert parse_list(r"['\ud800', 'x']") is None
