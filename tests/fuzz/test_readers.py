"""Whatever a file holds, it is read or refused in one line by an error of eyetest, and soon.

Files are drawn in two ways: sound ones are damaged, and rows are made of values that no reader expects.
"""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eyetest.benchmarks import import_benchmark
from eyetest.benchmarks.images import inspect
from eyetest.benchmarks.opening import Import
from eyetest.benchmarks.rows import ReadOptions
from eyetest.errors import EyetestError
from eyetest.runs.importing import import_answers
from eyetest.runs.mapping import AnswerFile
from eyetest.scoring.rules import RULE_SETS, Reply
from eyetest.store.handwritten import parse_yaml
from tests.conftest import png
from tests.fuzz.corpus import ANSWERS, ROWS, SETTINGS, answers, benchmarks
from tests.looping.loops import TOKENS
from tests.mutations import HOSTILE, mutated

SECONDS = 10.0  # of the processor, for a file of some kilobytes
FEW, MANY = 40, 4_000
SHARED = {"deadline": None, "suppress_health_check": list(HealthCheck)}
LOOPING = tuple(token.encode("utf-8", "replace") * 2_000 for token in TOKENS[::7])

seeds = st.integers(0, 2**32)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | st.sampled_from(TOKENS)
scalars |= st.builds(lambda token, times: token * times, st.sampled_from(TOKENS), st.integers(1, 3_000))
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=9), inner, max_size=5)
)


def rows_of(*sound: dict[str, Any]) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Sound rows in which some columns have other values."""
    columns = [*dict.fromkeys(name for row in sound for name in row), "image", "hint", "history", "eyetest", "group"]
    changes = st.dictionaries(st.sampled_from(columns), values, max_size=3)
    return st.lists(
        st.builds(lambda row, change: row | change, st.sampled_from(sound), changes), min_size=1, max_size=4
    )


def reads_or_refuses(read: Callable[[], object]) -> None:
    """A value or one line, and no more work than a few kilobytes are worth."""
    begin, message = time.process_time(), ""
    try:
        read()
    except EyetestError as error:
        message = str(error)
    assert len(message.splitlines()) <= 1
    assert time.process_time() - begin < SECONDS


def import_items(path: Path) -> None:
    folder = path.parent / "imported"
    for how in (Import(overwrite=True), Import(overwrite=True, skip_bad=True, read=ReadOptions(gold_required=False))):
        reads_or_refuses(lambda how=how: import_benchmark(path, folder, how))  # type: ignore[misc]


def import_replies(path: Path) -> None:
    run = path.parent / "run"
    reads_or_refuses(lambda: import_answers(AnswerFile(path=path), run))
    shutil.rmtree(run, ignore_errors=True)


def damaged(files: dict[str, bytes], seed: int) -> tuple[str, bytes]:
    """One of some files with changes, some of them loops."""
    name = sorted(files)[seed % len(files)]
    return name, mutated(files[name], seed, HOSTILE + LOOPING)


def check_items(folder: Path, seed: int) -> None:
    name, data = damaged(benchmarks(folder), seed)
    (folder / name).write_bytes(data)
    import_items(folder / name)


def check_replies(folder: Path, seed: int) -> None:
    name, data = damaged(answers(folder), seed)
    (folder / name).write_bytes(data)
    import_replies(folder / name)


def check_settings(folder: Path, seed: int) -> None:
    name, data = damaged(SETTINGS, seed)
    reads_or_refuses(lambda: parse_yaml(data.decode("utf-8", "replace"), name))


def check_images(folder: Path, seed: int) -> None:
    reads_or_refuses(lambda: inspect(mutated(png(), seed), "0" * 64))


CHECKS = {"items": check_items, "answers": check_replies, "settings": check_settings, "images": check_images}


@pytest.mark.parametrize("what", CHECKS)
def test_damaged_files(what: str, tmp_path: Path) -> None:
    @given(seeds)
    @settings(max_examples=FEW, **SHARED)  # type: ignore[arg-type]
    def check(seed: int) -> None:
        CHECKS[what](tmp_path, seed)

    check()


@pytest.mark.slow
@pytest.mark.parametrize("what", CHECKS)
def test_many_damaged_files(what: str, tmp_path: Path) -> None:
    @given(seeds)
    @settings(max_examples=MANY, **SHARED)  # type: ignore[arg-type]
    def check(seed: int) -> None:
        CHECKS[what](tmp_path, seed)

    check()


def check_rows(folder: Path, rows: list[dict[str, Any]], read: Callable[[Path], None]) -> None:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    read(path)


@pytest.mark.parametrize("examples", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_rows_of_items_with_unexpected_values(tmp_path: Path, examples: int) -> None:
    @given(rows_of(*ROWS))
    @settings(max_examples=examples, **SHARED)  # type: ignore[arg-type]
    def check(rows: list[dict[str, Any]]) -> None:
        check_rows(tmp_path, rows, import_items)

    check()


@pytest.mark.parametrize("examples", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
def test_rows_of_answers_with_unexpected_values(tmp_path: Path, examples: int) -> None:
    @given(rows_of(*ANSWERS))
    @settings(max_examples=examples, **SHARED)  # type: ignore[arg-type]
    def check(rows: list[dict[str, Any]]) -> None:
        check_rows(tmp_path, rows, import_replies)

    check()


@pytest.mark.parametrize("rules", RULE_SETS)
def test_replies_of_any_characters(rules: str) -> None:
    texts = st.text() | st.lists(st.sampled_from(TOKENS), max_size=60).map("".join)

    @given(texts, st.lists(texts, max_size=6).map(tuple))
    @settings(max_examples=4 * FEW, **SHARED)  # type: ignore[arg-type]
    def check(reply: str, options: tuple[str, ...]) -> None:
        reading = RULE_SETS[rules].read(Reply(reply, options))
        assert reading.index is None or 0 <= reading.index < len(options)

    check()
