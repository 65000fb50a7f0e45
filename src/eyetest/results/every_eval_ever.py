"""A run in the schema 0.3.0 of Every Eval Ever; answers without a score, which it cannot hold, are left out."""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import msgspec
import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.measures.accuracy import accuracy
from eyetest.measures.results import PROTOCOL, Results, Settings, narrowed, values_of
from eyetest.records import Asked, Condition, Item, columns, letter
from eyetest.records.tables import order_of
from eyetest.results.gather import results_of
from eyetest.results.scores import answers_of, benchmark_of, scores_of
from eyetest.runs import Run
from eyetest.scoring.scorer import Scorer
from eyetest.store import refuse_to_lose, replacing_folder
from eyetest.version import __version__

EVERY_EVAL_EVER = "every-eval-ever"
SCHEMA_VERSION = "0.3.0"
_UNFIT = re.compile(r'[<>:"/\\|?*\x00-\x1f]+')
_UNKNOWN = "unknown"
_UNBOUNDED = ("cider",)
_LEVEL = 0.95
_KEY = columns(Asked)
# How an answer was asked for and read, from which our own table can be rebuilt
_ASKED = [name for name in (*_KEY, "outcome", "reading", "rule", "given") if name not in ("item", "model")]
_encode = msgspec.json.Encoder().encode


class ExportedAnswers(NamedTuple):
    """The result of an export."""

    answers: int
    unscored: int  # answers without a score, which the format cannot hold
    nameless: tuple[str, ...]  # models whose name does not include the developer


def export_every_eval_ever(
    run: Run, to: Path, *, overwrite: bool = False, tell: Callable[[str], None] = lambda line: None
) -> ExportedAnswers:
    """Write ``TO/data/BENCHMARK/DEVELOPER/MODEL/``: the aggregate and its samples."""
    benchmark, scorer = benchmark_of(run), Scorer()
    refuse_to_lose(to, overwrite=overwrite, ours=("data",))
    results = results_of([run], scorer, tell=tell)
    scores, _ = scores_of(run, benchmark, scorer, tell)
    key = [pl.col(name).cast(pl.String) for name in _KEY if name not in ("template", "order", "sample")]
    texts = answers_of(run, benchmark).select(*_KEY, "text", "given").with_columns(key)
    rows = scores.with_columns(key).join(texts, on=_KEY, how="left", maintain_order="left")
    answers = unscored = 0
    with replacing_folder(to, overwrite=overwrite) as folder:
        for model in values_of(results, "model"):
            mine = rows.filter(pl.col("model") == model).collect(engine="streaming")
            scored = mine.filter(pl.col("score").is_not_null())
            answers, unscored = answers + len(scored), unscored + len(mine) - len(scored)
            if len(scored):
                _SampleRecord(run, benchmark, model).write(folder, scored, narrowed(results, [("model", [model])]))
    nameless = tuple(model for model in values_of(results, "model") if "/" not in model)
    return ExportedAnswers(answers, unscored, nameless)


class _SampleRecord:
    """The two files of a model."""

    def __init__(self, run: Run, benchmark: Benchmark, model: str) -> None:
        self._run, self._model = run, model
        self._items = {item.id: item for item in benchmark}
        self._now, about = str(int(time.time())), benchmark.manifest
        self._name = about.name
        self._id = f"{self._name}/{model}/{self._now}"
        is_url = about.source.startswith(("http://", "https://"))
        details = {"fingerprint": about.fingerprint, "items": str(about.counts.items), "version": about.version}
        where = {"source_type": "url", "url": [about.source]} if is_url else {"source_type": "other"}
        self._source = {"dataset_name": self._name, **where, "additional_details": details}

    def write(self, folder: Path, rows: pl.DataFrame, results: Results) -> None:
        """Write the samples, then the aggregate over them."""
        developer, _, model = self._model.partition("/")
        place = ("data", _fit(self._name), *map(_fit, (developer, model) if model else (_UNKNOWN, developer)))
        inside, name = folder.joinpath(*place), str(uuid4())
        inside.mkdir(parents=True)
        series = {result["evaluation_result_id"]: result for result in self._series(results)}
        digest, samples = sha256(), f"{name}_samples.jsonl"
        with (inside / samples).open("wb") as file:
            for row in rows.iter_rows(named=True):
                line = _encode(self._instance(row, series)) + b"\n"
                digest.update(line)
                file.write(line)
        details = {
            "format": "jsonl",
            "file_path": "/".join((*place, samples)),
            "hash_algorithm": "sha256",
            "checksum": digest.hexdigest(),
            "total_rows": len(rows),
        }
        aggregate = self._aggregate(list(series.values()), details)
        (inside / f"{name}.json").write_bytes(msgspec.json.format(_encode(aggregate), indent=2) + b"\n")

    def _series(self, results: Results) -> Iterator[dict[str, Any]]:
        for metric in values_of(results, "metric"):
            kept = narrowed(results, [("metric", [metric])])
            table = accuracy.measure(kept, Settings(level=_LEVEL)).table
            fixed = {axis: values_of(kept, axis)[0] for axis in PROTOCOL if axis not in table.columns}
            yield from (self._one_series(metric, row | fixed) for row in table.iter_rows(named=True) if row["n"])

    def _one_series(self, metric: str, row: Mapping[str, Any]) -> dict[str, Any]:
        name = f"{self._name}{_how(row)}"
        unbounded = metric in _UNBOUNDED
        interval = {"lower": row["accuracy_low"], "upper": row["accuracy_high"], "confidence_level": _LEVEL}
        known = None not in interval.values()
        return {
            "evaluation_result_id": _series_id(metric, row),
            "evaluation_name": name,
            "source_data": self._source,
            "metric_config": {
                "evaluation_description": f"mean {metric} over the items of {name}",
                "metric_id": metric,
                "metric_name": metric,
                "metric_unit": "points" if unbounded else "proportion",
                "lower_is_better": False,
                "score_type": "continuous",
                "min_score": 0,
                "max_score": "Infinity" if unbounded else 1,
            },
            "score_details": {
                "score": row["accuracy"],
                "details": {"items_without_a_score": str(row["missing"]), "unread_share": f"{row['unread']:.6f}"},
                "uncertainty": {"num_samples": row["n"]}
                | ({"confidence_interval": interval | {"method": "clustered by image and group"}} if known else {}),
            },
        }

    def _aggregate(self, results: list[dict[str, Any]], details: dict[str, Any]) -> dict[str, Any]:
        steps = self._run.manifest.steps
        brought = sorted({step.options.get("file", "") for step in steps if step.what == "import"} - {""})
        library: dict[str, Any] = {"name": "eyetest", "version": __version__}
        if brought:
            library["additional_details"] = {"answers_brought_in_from": ", ".join(brought)[:1_000]}
        return {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": self._id,
            "retrieved_timestamp": self._now,
            **({"evaluation_timestamp": steps[-1].time} if steps and steps[-1].time else {}),
            "source_metadata": {
                "source_name": "eyetest",
                "source_type": "evaluation_run",
                "source_organization_name": _UNKNOWN,
                "evaluator_relationship": "other",
            },
            "eval_library": library,
            "model_info": {
                "name": self._model,
                "id": self._model,
                "additional_details": {"deployment_type": _UNKNOWN, "model_availability": _UNKNOWN},
            },
            "evaluation_results": results,
            "detailed_evaluation_results": details,
        }

    def _instance(self, row: Mapping[str, Any], series: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        item = self._items[row["item"]]
        about, text = series[_series_id(row["metric"], row)], row["text"]
        reference = [choice.text for choice in item.choices if choice.correct] or list(item.references)
        choices = [item.choices[at].text for at in order_of(item.id, len(item.choices), row["order"])]
        hashed = sha256((item.question + "".join(reference)).encode()).hexdigest()
        return {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": self._id,
            "model_id": self._model,
            "evaluation_name": about["evaluation_name"],
            "evaluation_result_id": about["evaluation_result_id"],
            "sample_id": item.id,
            "sample_hash": hashed,
            "interaction_type": "single_turn",
            "input": {"raw": item.question, "reference": reference} | ({"choices": choices} if choices else {}),
            "output": {"raw": [] if text is None else [text]},
            "answer_attribution": _attribution(row, item),
            "evaluation": {"score": row["score"], "is_correct": row["score"] >= 1},
            **({"error": row["outcome"]} if row["outcome"] != "answered" else {}),
            "metadata": {"eyetest": __version__} | {n: str(row[n]) for n in _ASKED if row[n] is not None},
        }


def _series_id(metric: str, row: Mapping[str, Any]) -> str:
    return ":".join((metric, *(str(row[axis]) for axis in PROTOCOL)))


def _how(row: Mapping[str, Any]) -> str:
    """The condition, where it is not with the image, direct, in words."""
    usual = Condition()
    unusual = [str(row[axis]) for axis in PROTOCOL if row[axis] != getattr(usual, axis)]
    return f" ({', '.join(unusual)})" if unusual else ""


def _attribution(row: Mapping[str, Any], item: Item) -> list[dict[str, Any]]:
    if row["choice"] is None:
        return []
    texts = {letter(at): choice.text for at, choice in enumerate(item.choices)}
    how = {"source": "output.raw", "extraction_method": row["rule"] or "", "is_terminal": True}
    return [{"turn_idx": 0, "extracted_value": texts.get(row["choice"], row["choice"]), **how}]


def _fit(name: str) -> str:
    """A name that is valid as a folder on any system."""
    return _UNFIT.sub("_", name).rstrip(". ") or _UNKNOWN
