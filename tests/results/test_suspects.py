"""Signs of faults that need no words: the same reply to many items, a jump of unread replies; and no false alarms."""

import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import polars as pl
import pytest

import eyetest as et
from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Item, Manifest, Response
from eyetest.results.suspects import suspicious_replies
from eyetest.runs import Run, read_responses
from eyetest.runs.journal import to_table
from eyetest.runs.stored import write_part
from tests.endpoint import Endpoint

Reply = Callable[[int], str]


def choice_bench(path: Path, items: int = 100) -> Benchmark:
    with BenchmarkWriter(path, Manifest(name="choices")) as writer:
        for number in range(items):
            choices = tuple(Choice(f"thing {number}-{place}", place == number % 4) for place in range(4))
            writer.add(Item(id=f"q{number}", question=f"Which is {number}?", choices=choices))
    return Benchmark(path)


def open_bench(path: Path, items: int = 100) -> Benchmark:
    with BenchmarkWriter(path, Manifest(name="open")) as writer:
        for number in range(items):
            gold = ("yes", "red", "unanswerable", f"place {number}", str(number % 7))[number % 5]
            writer.add(Item(id=f"q{number}", question=f"What is {number}?", references=(gold,)))
    return Benchmark(path)


def notes(bench: Benchmark, folder: Path, reply: Reply) -> list[str]:
    """What is said of replies that came one after the other."""

    et.run(bench.path, models={"m": "scripted:right=1"}, condition="no-image", to=folder)
    items = Run(folder).plan().to_pylist()
    names = {row["request"]: int(row["item"][1:]) for row in items}
    changed: list[Response] = []
    for response in read_responses(folder):
        number = names[response.request]
        changed.append(msgspec.structs.replace(response, text=reply(number), time=1_760_000_000.0 + number))
    write_part(folder, pl.DataFrame(pl.from_arrow(to_table(changed))))
    return suspicious_replies(Run(folder), bench)


@pytest.mark.parametrize("notice", ["xq zz ürx", "(kein Inhalt)", "サンプル", "Balance low!", "..."])
@pytest.mark.parametrize("make", [choice_bench, open_bench])
def test_the_same_reply_to_many_items_is_suspect(
    tmp_path: Path, notice: str, make: Callable[[Path], Benchmark]
) -> None:
    bench = make(tmp_path / "b")
    said = notes(bench, tmp_path / "r", lambda number: notice if number % 4 == 1 else bench[f"q{number}"].question)
    assert len([note for note in said if note.startswith("suspect: m gave the same reply to 25 of 100 items")]) == 1
    assert notice in said[0] or "\\u" in said[0]


HONEST: dict[str, Reply] = {
    "always A": lambda number: "A",
    "always a sentence": lambda number: "The answer is B.",
    "letters": lambda number: "ABCD"[number % 4],
    "refusals": lambda number: "I'm sorry, but I cannot see the image.",
    "refusals by model": lambda number: "Unable to determine from the image." if number % 2 else "C",
    "seven times": lambda number: "hm, odd" if number < 7 else "ABCD"[number % 4],
}


@pytest.mark.parametrize("kind", HONEST)
def test_honest_choices_raise_no_alarm(tmp_path: Path, kind: str) -> None:
    assert notes(choice_bench(tmp_path / "b"), tmp_path / "r", HONEST[kind]) == []


@pytest.mark.parametrize("text", ["yes", "Red", "The answer is red.", "3", "It is 10 years", "0.5"])
def test_answers_of_the_key_and_numbers_raise_no_alarm(tmp_path: Path, text: str) -> None:
    assert (
        notes(open_bench(tmp_path / "b"), tmp_path / "r", lambda number: text if number % 2 else f"x{number}") == []
    )


def test_a_run_says_so_at_its_end(tmp_path: Path, endpoint: Endpoint) -> None:
    bench = choice_bench(tmp_path / "b")
    endpoint.answer = lambda attempt: "zork blimey"
    with pytest.warns(UserWarning, match="suspect: m gave the same reply"):
        asked = et.run(bench.path, models=endpoint.models(), condition="no-image", to=tmp_path / "r")
    assert [note for note in asked.notes if "suspect: m gave the same reply to 100 of 100 items" in note]


def test_a_jump_of_unread_replies_is_suspect(tmp_path: Path) -> None:
    def reply(number: int) -> str:
        return "ABCD"[number % 4] if number < 60 else f"qz {number * 7919 % 1000:x}"

    (note,) = notes(choice_bench(tmp_path / "b"), tmp_path / "r", reply)
    assert "0.0 % were unread, and from 2025-10-09 08:54:20 UTC on 100.0 %" in note


def test_unread_replies_all_along_are_no_jump(tmp_path: Path) -> None:
    chance = random.Random(3)
    draws = [chance.random() < 0.4 for _ in range(100)]
    said = notes(choice_bench(tmp_path / "b"), tmp_path / "r", lambda n: f"qz {n * 7919:x}" if draws[n] else "A")
    assert said == []


def test_run_score_and_measure_say_so(tmp_path: Path) -> None:
    bench = choice_bench(tmp_path / "b")
    notes(bench, tmp_path / "r", lambda number: "zork blimey" if number % 3 else "A")
    for result in (et.score(tmp_path / "r"), et.measure("accuracy", tmp_path / "r")):
        assert [note for note in result.notes if "gave the same reply to 66 of 100 items" in note]
