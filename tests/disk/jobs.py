"""The commands that write, each with what it needs beforehand and what it leaves."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pyarrow.parquet as pq

from eyetest.benchmarks import Benchmark, export_benchmark
from eyetest.runs import read_answers, read_responses
from eyetest.studio.project import ReviewProject, is_review
from tests.endpoint import Endpoint
from tests.recipes.benches import make_bench as make_tagged_bench
from tests.running.benches import make_bench
from tests.support.command import call

ITEMS = 6
PANEL = ("i1", "i2", "i3", "i4")
RECIPE = {
    "panels": {"inspectors": {"size": 4, "modality": "no-image-guess", "samples": 3}},
    "stages": [
        {
            "filter": "blind-hits",
            "panel": "inspectors",
            "answers": {"op": ">", "value": 1},
            "keep": {"hits": {"op": "<", "value": 3}},
        }
    ],
}
REVIEWING = """
from pathlib import Path
from eyetest.errors import EyetestError
from eyetest.records import Decision
from eyetest.studio.project import ReviewProject

try:
    with ReviewProject.open(Path("review")) as project:
        ann = project.people.named("ann")
        while (task := project.next_task(ann)) is not None:
            decision = Decision(item=task.item, reviewer="", time="", decision="drop", reason="x" * 3000)
            project.decide(ann, task, decision, task.item)
            print(task.item, flush=True)
except (EyetestError, OSError) as error:
    import sys
    print(f"error: {error}", file=sys.stderr)
    sys.exit(2)
"""


class Job(NamedTuple):
    """A command; ``read``: what has come of it so far."""

    prepare: Callable[[Path, Endpoint], object]
    words: tuple[object, ...]
    read: Callable[[Path], Any]
    is_resumed: bool = False  # a part of the result is true, and the rest is added


def items_of(folder: Path) -> Any:
    """Items with the bytes of their images."""
    if not folder.exists():
        return None
    benchmark = Benchmark(folder)
    items = list(benchmark)
    assert len(items) == len(benchmark)
    return [(item, [benchmark.images.read(image) for image in item.images]) for item in items]


def texts_of(folder: Path) -> Any:
    """The answers of a run, by item and model."""
    if not (folder / "run.json").exists():
        return {}
    answers = list(read_answers(folder))
    requests = [response.request for response in read_responses(folder)]
    assert len(requests) == len(set(requests)), "an answer is stored twice"
    return {f"{answer.item} {answer.key.hex()}": answer.text for answer in answers}


def scores_of(folder: Path) -> Any:
    """The scores of a run; its answers must be there in any case."""
    assert len(texts_of(folder)) == 2 * ITEMS
    tables = sorted((folder / "scores").glob("*.parquet"))
    assert len(tables) <= 1
    return pl.read_parquet(tables[0]).rows() if tables else None


def parts_of_refinement(folder: Path) -> Any:
    """Each file of a refinement by its name, without what differs from run to run."""
    parts: dict[str, Any] = {}
    for name, text in texts_of(folder / "run").items():
        parts[f"answer {name}"] = text
    if (folder / "verdicts.parquet").exists():
        parts["verdicts"] = str(pq.read_table(folder / "verdicts.parquet").to_pylist())
    if (folder / "funnel.csv").exists():
        parts["funnel"] = (folder / "funnel.csv").read_text()
    if (folder / "refine.json").exists():
        parts["record"] = sorted(json.loads((folder / "refine.json").read_text()))
    if (folder / "benchmark").exists():
        parts["benchmark"] = items_of(folder / "benchmark")
    pages = sorted(folder.glob("*.html"))
    for page in pages:
        assert page.read_text().rstrip().endswith("</html>")
        parts[page.name] = "whole"
    return parts


def decisions_of(folder: Path) -> Any:
    """What people decided, by item."""
    if not is_review(folder):
        return {}
    with ReviewProject.open(folder) as project:
        decisions = project.decisions()
    assert len({decision.item for decision in decisions}) == len(decisions), "a decision is stored twice"
    return {decision.item: (decision.decision, decision.reason) for decision in decisions}


def queue_of(folder: Path) -> Any:
    """The items of a review."""
    if not is_review(folder):
        return None
    with ReviewProject.open(folder) as project:
        return project.ids()


def text_of(path: Path) -> Any:
    return path.read_bytes() if path.exists() else None


def prepare_table(folder: Path, endpoint: Endpoint) -> None:
    export_benchmark(make_bench(folder / "drawn", ITEMS), "vlmevalkit", folder / "table.tsv")


def prepare_older(folder: Path, endpoint: Endpoint) -> None:
    prepare_table(folder, endpoint)
    make_bench(folder / "target", 2)


def prepare_asking(folder: Path, endpoint: Endpoint) -> None:
    make_bench(folder / "bench", ITEMS)
    models = {"m": {"spec": f"openai:m@{endpoint.url}", "concurrency": 1}}
    (folder / "models.yaml").write_text(json.dumps(models))


def prepare_run(folder: Path, endpoint: Endpoint) -> None:
    make_bench(folder / "bench", ITEMS)
    run_words = ("run", folder / "bench", "--condition", "image", "--condition", "no-image")
    call(*run_words, "--model", "m=scripted:right=0.5", "--to", folder / "run").fine()


def prepare_two_runs(folder: Path, endpoint: Endpoint) -> None:
    make_bench(folder / "bench", ITEMS)
    for name in ("one", "two"):
        call("run", folder / "bench", "--model", f"{name}=scripted:right=0.5", "--to", folder / name).fine()


def prepare_refining(folder: Path, endpoint: Endpoint) -> None:
    make_tagged_bench(folder / "bench", ITEMS, image_count=2)
    (folder / "recipe.yaml").write_text(json.dumps(RECIPE))
    models = {name: f"scripted:blind=0.5,seed={number}" for number, name in enumerate(PANEL)}
    (folder / "models.yaml").write_text(json.dumps(models))


def prepare_review(folder: Path, endpoint: Endpoint) -> None:
    make_bench(folder / "bench", ITEMS)
    review_words = ("review", folder / "bench", "--items", "all", "--address", "none")
    call(*review_words, "--to", folder / "review").fine()
    with ReviewProject.open(folder / "review") as project:
        project.people.invite("ann")


WITH_PAGES = ("refine", "begin a review", "export items")
"""Jobs whose libraries take seconds to load."""
JOBS = {
    "import": Job(
        prepare_table, ("import", "table.tsv", "--to", "target"), lambda folder: items_of(folder / "target")
    ),
    "import over an older one": Job(
        prepare_older,
        ("import", "table.tsv", "--to", "target", "--overwrite"),
        lambda folder: items_of(folder / "target"),
    ),
    "run": Job(
        prepare_asking,
        ("run", "bench", "--models", "models.yaml", "--to", "run"),
        lambda folder: texts_of(folder / "run"),
        is_resumed=True,
    ),
    "score": Job(prepare_run, ("score", "run"), lambda folder: scores_of(folder / "run")),
    "merge": Job(
        prepare_two_runs, ("merge", "one", "two", "--to", "both"), lambda folder: texts_of(folder / "both") or None
    ),
    "refine": Job(
        prepare_refining,
        ("refine", "bench", "--recipe", "recipe.yaml", "--models", "models.yaml", "--to", "refined"),
        lambda folder: parts_of_refinement(folder / "refined"),
        is_resumed=True,
    ),
    "begin a review": Job(
        lambda folder, endpoint: make_bench(folder / "bench", ITEMS),
        ("review", "bench", "--items", "all", "--address", "none", "--to", "review"),
        lambda folder: queue_of(folder / "review"),
    ),
    "review": Job(
        prepare_review, ("python", REVIEWING), lambda folder: decisions_of(folder / "review"), is_resumed=True
    ),
    "export a table": Job(
        prepare_run,
        ("export", "run", "--to", "answers.parquet", "--overwrite"),
        lambda folder: text_of(folder / "answers.parquet"),
    ),
    "export items": Job(
        lambda folder, endpoint: make_bench(folder / "bench", ITEMS),
        ("export", "bench", "--format", "jsonl", "--to", "lines", "--overwrite"),
        lambda folder: text_of(folder / "lines/items.jsonl"),
    ),
}
