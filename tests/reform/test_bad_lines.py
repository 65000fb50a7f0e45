"""Lines of annotation files: words of digits are words, and a bad line does not refuse its file for good."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import eyetest as et
from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.reform.catalog import load_dataset
from eyetest.reform.readers.table import TableSettings


def words_file(folder: Path, name: str, *words: str) -> Path:
    folder.mkdir(exist_ok=True)
    lines = [f"{name}/{number}.png {word}\n" for number, word in enumerate(words)]
    (path := folder / f"{name}.txt").write_text("".join(lines))
    return path


@pytest.mark.parametrize("dataset", ["ic15", "iiit5k", "wordart"])
def test_words_of_many_digits_are_words(tmp_path: Path, dataset: str) -> None:
    words = ["12345678", "0123456789", "123456789012345", "HELLO", "5/11/2009", "555-12345678"]
    done = et.reform(dataset, annotations=[words_file(tmp_path, "test", *words)], to=tmp_path / "b")
    assert [item.references for item in Benchmark(tmp_path / "b")] == [(word,) for word in words]
    assert done.facts["passed_over"] == {}


@given(st.integers(0, 10**6), st.sampled_from([",", ", ", " ", "\t"]))
def test_eight_numbers_are_a_box_and_no_text(seed: int, between: str) -> None:

    draw = random.Random(seed)
    settings = load_dataset("ic15").checked("ic15")[0]
    assert isinstance(settings, TableSettings)
    pattern = re.compile(settings.alternatives[1].lines, re.IGNORECASE)
    numbers = [str(draw.randrange(2000)) for _ in range(8)]
    assert pattern.fullmatch(f"img_1.jpg {between.join(numbers)}") is None
    assert pattern.fullmatch(f"img_1.jpg {''.join(numbers)}") is not None


def test_a_bad_line_says_how_to_go_on(tmp_path: Path) -> None:
    path = words_file(tmp_path, "test", "one", "two")
    path.write_text(path.read_text() + "no image here\n")
    with pytest.raises(InputError, match=r"test.txt line 3: .* leaves such rows out"):
        et.reform("iiit5k", annotations=[path], to=tmp_path / "b")
    done = et.reform("iiit5k", annotations=[path], to=tmp_path / "b", skip_bad=True)
    assert done.facts["skipped"] == 1
    assert any("1 record left out" in note and "line 3" in note for note in done.notes)


def test_a_skipped_record_names_its_file(tmp_path: Path) -> None:
    words_file(tmp_path / "words", "labelled", "one", "two")
    words_file(tmp_path / "words", "hidden", "###", "###")
    done = et.reform("iiit5k", annotations=[tmp_path / "words"], to=tmp_path / "b")
    assert "skipped: not readable (2 in hidden.txt)" in done.notes
