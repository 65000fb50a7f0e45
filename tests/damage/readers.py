"""What is damaged, who reads it, and what must be true of it afterwards.

    python -m tests.damage.readers SUBJECT FOLDER FIRST LAST

damages one file of FOLDER in one way for each number, reads it, and repairs it again. It ends with 0 if nothing but
errors made on purpose came out of it, and nothing untrue; a test runs it in processes of its own, which may crash.
"""

import itertools
import os
import random
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from eyetest.benchmarks import Benchmark, export_benchmark, import_benchmark
from eyetest.benchmarks.opening import Import
from eyetest.errors import DamagedWarning, EyetestError
from eyetest.records import Asked, Decision, Response, RunStep, Score, columns
from eyetest.results.scores import choose_scoring, chosen_scoring, score_run
from eyetest.runs import Journal, Run, RunWriter, read_responses, responses_table
from eyetest.runs.stored import (
    answers_frame,
    one_line_if_damaged,
    plan_table,
    responses_frame,
    scan_table,
    stored_errors,
)
from eyetest.scoring import Scorer
from eyetest.studio.decisions import ReviewPlan
from eyetest.studio.project import ReviewProject
from tests.mutations import mutated, peak_memory
from tests.running.benches import make_bench

ITEMS, PARTS, ROWS = 60, 3, 40
IDS = [f"q{number}" for number in range(ITEMS)]


def response(number: int) -> Response:
    text = random.Random(number).choice(("A", "B. a cat", "I think that it is C, because of its colour. " * 3))
    return Response(request=f"{number * 7919:032x}", outcome="answered", text=text, finish="stop", tokens_out=number)


def make_run(folder: Path, *, sealed: bool) -> None:
    path = folder / "r"
    with RunWriter(path) as run:
        with run.planning() as plan:
            for number in range(PARTS * ROWS):
                plan.add(Asked(item=f"q{number}", model="m"), response(number).request)
        run.record(RunStep(what="ask"), {})
    journal = Journal(path, rows_a_segment=ROWS)
    for number in range(PARTS * ROWS if sealed else ROWS):
        if not sealed and number == ROWS - 1:
            open_segment = (path / "journal/000001.jsonl").read_bytes()
        journal.append(response(number))
    journal.close()
    if not sealed:
        for part in (path / "responses").iterdir():
            part.unlink()
        (path / "journal/000001.jsonl").write_bytes(open_segment)


class Subject(NamedTuple):
    """Files that are made and read; ``is_true``: whether what was read after a damage is true."""

    make: Callable[[Path], object]
    files: Callable[[Path], list[Path]]
    read: Callable[[Path], Any]
    is_true: Callable[[Any, Any, tuple[bytes, bytes]], bool] = lambda found, truth, change: bool(found == truth)


def make_benchmarks(folder: Path) -> None:
    make_bench(folder / "b", ITEMS)
    make_bench(folder / "another with as many items", ITEMS, golds=(1, 2))


def files_of_benchmark(folder: Path) -> list[Path]:
    images = sorted((folder / "b/images").rglob("*.png"))[:2]
    return [folder / "b/items.parquet"] * 6 + [folder / "b/benchmark.json", *images]


def read_benchmark(folder: Path) -> Any:
    """What is read is what was written, or nothing is."""
    benchmark = Benchmark(folder / "b")
    items = list(benchmark)
    assert [item.id for item in benchmark.take(benchmark.by_image())]
    assert benchmark["q3"] == items[3]
    return [(item, [benchmark.images.read(image) for image in item.images]) for item in items]


def imported(format_: str, name: str, file: str = "") -> Subject:
    """A file that is imported: a benchmark of as many items, or a line that says why not."""
    is_lines = format_ in ("vlmevalkit", "jsonl")  # a line of text more or less is still a table

    def read(folder: Path) -> int:
        return len(import_benchmark(folder / name, folder / f"out-{os.getpid()}", Import(overwrite=True))[0])

    return Subject(
        lambda folder: export_benchmark(make_bench(folder / "b", ITEMS), format_, folder / name),
        lambda folder: [folder / name / file],
        read,
        lambda found, truth, change: is_lines or found == truth,
    )


def read_sealed(folder: Path) -> Any:
    """What is damaged is named and missing, the rest is there."""
    run = folder / "r"
    found = list(read_responses(run))
    assert len(stored_errors(run)) == len({row.request for row in found}) == len(responses_table(run))
    with one_line_if_damaged(run):
        assert answers_frame(run).collect().height <= len(found)
        assert responses_frame(run).collect().height == len({row.request for row in found})
    if len(found) < PARTS * ROWS:
        assert Run(run).health.damaged or Run(run).health.torn, "what is missing is reported"
    return {row.request: row for row in found}


def read_plan(folder: Path) -> Any:
    """As it was, or a line that says what to do."""
    with one_line_if_damaged(folder / "r"):
        rows = answers_frame(folder / "r").collect().height
    return plan_table(folder / "r").to_pylist(), rows


def make_scores(folder: Path) -> None:
    benchmark = make_bench(folder / "b", ITEMS)
    make_run(folder, sealed=True)
    score_run(Run(folder / "r"), benchmark, Scorer())


def read_scores(folder: Path) -> Any:
    """As they were, or a line that says that they are damaged."""
    path = next((folder / "r/scores").glob("*.parquet"))
    with one_line_if_damaged(path):
        return scan_table(path).select(columns(Score)).collect().rows()


def lines_are_true(found: Any, truth: Any, change: tuple[bytes, bytes]) -> bool:
    """Every line that is still whole is read, and no other."""
    before, after = (set(data.split(b"\n")) - {b""} for data in change)
    return found.items() <= truth.items() and len(found) >= len(before & after)


def make_records(folder: Path) -> None:
    """The manifests of a benchmark, of a run and of its scores."""
    benchmark = make_bench(folder / "b", ITEMS)
    make_run(folder, sealed=True)
    choose_scoring(Run(folder / "r"), Scorer(), benchmark.path)


def read_records(folder: Path) -> Any:
    """Every field is as it was written."""
    run = Run(folder / "r")
    return run.manifest, chosen_scoring(run), Benchmark(folder / "b").manifest


def make_review(folder: Path) -> None:
    """A review as a killed server leaves it: in the middle of the work, with SQLite's second file."""
    with ReviewProject.create(folder / "going on", ReviewPlan(name="shapes", reviewers=2), IDS) as project:
        for name in ("ann", "bob"):
            project.people.invite(name)
            person = project.people.named(name)
            for _ in range(ROWS):
                task = project.next_task(person)
                assert task is not None
                decision = Decision(item=task.item, reviewer="", time="", decision="drop", reason="blurred")
                project.decide(person, task, decision, task.item)
        shutil.copytree(folder / "going on", folder / "review")


def read_review(folder: Path) -> Any:
    """All that people decided, of a copy, since SQLite repairs what it opens."""
    copy = folder / f"opened by {os.getpid()}"
    shutil.copytree(folder / "review", copy)
    try:
        with ReviewProject.open(copy) as project:
            people = [(row.name, row.role, row.revoked) for row in project.people.rows()]
            return project.plan, project.ids(), project.decisions(), people
    finally:
        shutil.rmtree(copy)


SUBJECTS = {
    "records": Subject(
        make_records,
        lambda folder: [folder / "r/run.json", folder / "r/scores/chosen.json", folder / "b/benchmark.json"],
        read_records,
        lambda found, truth, change: found == truth or b'"checksum"' not in change[1],  # a person may have written it
    ),
    "review": Subject(make_review, lambda folder: sorted((folder / "review").glob("review.db*")), read_review),
    "benchmark": Subject(make_benchmarks, files_of_benchmark, read_benchmark),
    "parquet": imported("parquet", "b.parquet"),
    "tsv": imported("vlmevalkit", "b.tsv"),
    "json lines": imported("jsonl", "lines", "items.jsonl"),
    "sealed answers": Subject(
        partial(make_run, sealed=True),
        lambda folder: sorted((folder / "r/responses").iterdir()),
        read_sealed,
        lambda found, truth, change: found.items() <= truth.items() and len(found) >= (PARTS - 1) * ROWS,
    ),
    "journal": Subject(
        partial(make_run, sealed=False),
        lambda folder: [folder / "r/journal/000001.jsonl"],
        lambda folder: {row.request: row for row in read_responses(folder / "r")},
        lines_are_true,
    ),
    "plan": Subject(partial(make_run, sealed=True), lambda folder: [folder / "r/plan.parquet"], read_plan),
    "scores": Subject(make_scores, lambda folder: sorted((folder / "r/scores").glob("*.parquet")), read_scores),
}


def damaged(data: bytes, seed: int, others: Sequence[bytes]) -> bytes:
    """A file as it may come back; one in twenty times another file, one in four with a length or offset changed."""
    rng = random.Random(seed)
    draw = rng.random()
    if draw > 0.3:
        return mutated(data, seed)
    if draw > 0.25:
        return rng.choice(others)
    value = rng.choice((0, 1, 2, 255, 65_535, 2**31 - 1, 2**32 - 1, rng.randrange(2**32)))
    start = rng.randrange(len(data)) // 4 * 4
    return data[:start] + value.to_bytes(4, "little") + data[start + 4 :]


def problems(name: str, folder: Path, seeds: Iterable[int]) -> Iterator[str]:
    subject = SUBJECTS[name]
    truth = subject.read(folder)
    whole = {path: path.read_bytes() for path in subject.files(folder)}
    others = [path.read_bytes() for path in sorted(folder.rglob("*.*")) if path.is_file() and path not in whole]
    others += [b"", b"PAR1", b"[]", b"{}"]
    choices = subject.files(folder)
    for seed in seeds:
        path = choices[seed % len(choices)]
        changed = damaged(whole[path], seed, others)
        path.write_bytes(changed)
        print(seed, file=sys.stderr, flush=True)
        try:
            found = subject.read(folder)
            if not subject.is_true(found, truth, (whole[path], changed)):
                yield f"{name} {seed}: {path.name} was changed, and what was read is not true"
        except EyetestError as error:
            if "\n" in str(error) or len(str(error)) > 600:
                yield f"{name} {seed}: not one line: {error}"
        except BaseException as error:
            yield f"{name} {seed}: {type(error).__name__}: {error}"
        finally:
            path.write_bytes(whole[path])


def main(name: str, folder: str, first: str, last: str) -> int:
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", DamagedWarning)
    found = list(itertools.islice(problems(name, Path(folder), range(int(first), int(last))), 10))
    print("\n".join(found))
    print(peak_memory() // 2**20)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
