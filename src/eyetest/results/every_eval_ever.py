"""A run as Every Eval Ever keeps evaluations: per model an aggregate, and beside it a line for each answer.

Written by the published schema, version 0.3.0. It has no way to say that an answer has no score: what failed, and
answers to items without a gold, stay out of both files and are counted in the aggregate, rather than pass for wrong.
"""

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
from eyetest.measures.accuracy import Accuracy
from eyetest.measures.results import PROTOCOL, Results, Settings, narrowed, values_of
from eyetest.records import Asked, Condition, Item, columns, letter
from eyetest.records.order import order_of
from eyetest.results.gather import results_of
from eyetest.results.scores import answers_of, benchmark_of, scores_of
from eyetest.runs import Run
from eyetest.scoring.scorer import Scorer
from eyetest.store import refuse_to_lose, replacing_folder
from eyetest.version import __version__

EVERY_EVAL_EVER = "every-eval-ever"
SCHEMA_VERSION = "0.3.0"
_UNFIT = re.compile(r'[<>:"/\\|?*\x00-\x1f]+')
_NOBODY = "unknown"
_UNBOUNDED = ("cider",)
_LEVEL = 0.95
_KEY = columns(Asked)
_FREE = ("item", "model")
_encode = msgspec.json.Encoder().encode


class ExportedAnswers(NamedTuple):
    """What was written."""

    answers: int
    unscored: int
    """Answers that have no score, and so no place in the format."""
    nameless: tuple[str, ...]
    """Models whose name does not say who made them."""


class _Series(NamedTuple):
    """The scores of a model by one metric, under one protocol."""

    id: str
    name: str
    result: dict[str, Any]


def export_every_eval_ever(
    run: Run, to: Path, *, overwrite: bool = False, tell: Callable[[str], None] = lambda line: None
) -> ExportedAnswers:
    """Write ``TO/data/BENCHMARK/DEVELOPER/MODEL/``: the aggregate and its samples."""
    benchmark, scorer = benchmark_of(run), Scorer()
    refuse_to_lose(to, overwrite=overwrite, ours=("data",))
    results = results_of([run], scorer, tell=tell)
    scores, _ = scores_of(run, benchmark, scorer, tell)
    said = answers_of(run, benchmark).select(*(pl.col(name).cast(pl.String).alias(name) for name in _FREE), *_rest())
    key = [pl.col(name).cast(pl.String) for name in _KEY if name not in ("template", "order", "trial")]
    rows = scores.with_columns(key).join(
        said.with_columns(key).drop("outcome"), on=_KEY, how="left", maintain_order="left"
    )
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


def _rest() -> list[str]:
    return [*(name for name in _KEY if name not in _FREE), "outcome", "text", "given"]


class _SampleRecord:
    """The two files of one model."""

    def __init__(self, run: Run, benchmark: Benchmark, model: str) -> None:
        self._run, self._benchmark, self._model = run, benchmark, model
        self._items = {item.id: item for item in benchmark}
        self._now = str(int(time.time()))
        self._name = benchmark.manifest.name
        self._id = f"{self._name}/{model}/{self._now}"

    def write(self, folder: Path, rows: pl.DataFrame, results: Results) -> None:
        """Samples first: the aggregate says what they come to."""
        developer, _, model = self._model.partition("/")
        place = ("data", _fit(self._name), *map(_fit, (developer, model) if model else (_NOBODY, developer)))
        inside, name = folder.joinpath(*place), str(uuid4())
        inside.mkdir(parents=True)
        series = {one.id: one for one in self._series(results)}
        digest, samples = sha256(), f"{name}_samples.jsonl"
        with (inside / samples).open("wb") as file:
            for row in rows.iter_rows(named=True):
                line = _encode(self._instance(row, series)) + b"\n"
                digest.update(line)
                file.write(line)
        details: dict[str, Any] = {
            "format": "jsonl",
            "file_path": "/".join((*place, samples)),
            "hash_algorithm": "sha256",
        }
        details |= {"checksum": digest.hexdigest(), "total_rows": len(rows)}
        aggregate = self._aggregate([one.result for one in series.values()], details)
        (inside / f"{name}.json").write_bytes(msgspec.json.format(_encode(aggregate), indent=2) + b"\n")

    def _series(self, results: Results) -> Iterator[_Series]:
        for metric in values_of(results, "metric"):
            kept = narrowed(results, [("metric", [metric])])
            table = Accuracy().measure(kept, Settings(level=_LEVEL)).table
            fixed = {axis: values_of(kept, axis)[0] for axis in PROTOCOL if axis not in table.columns}
            for row in table.iter_rows(named=True):
                if row["n"]:
                    yield self._one_series(metric, row | fixed)

    def _one_series(self, metric: str, row: Mapping[str, Any]) -> _Series:
        id_ = _series_id(metric, row)
        name = f"{self._name}{_how(row)}"
        unbounded = metric in _UNBOUNDED
        interval = {"lower": row["accuracy_low"], "upper": row["accuracy_high"], "confidence_level": _LEVEL}
        known = None not in interval.values()
        result = {
            "evaluation_result_id": id_,
            "evaluation_name": name,
            "source_data": self._source_data(),
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
                "details": {"items_without_a_score": str(row["missing"])},
                "uncertainty": {"num_samples": row["n"]}
                | ({"confidence_interval": interval | {"method": "clustered by picture and group"}} if known else {}),
            },
        }
        return _Series(id_, name, result)

    def _source_data(self) -> dict[str, Any]:
        manifest = self._benchmark.manifest
        about = {
            "fingerprint": manifest.fingerprint,
            "items": str(manifest.counts.items),
            "version": manifest.version,
        }
        if manifest.source.startswith(("http://", "https://")):
            where: dict[str, Any] = {"source_type": "url", "url": [manifest.source]}
        else:
            where = {"source_type": "other"}
        return {"dataset_name": self._name, **where, "additional_details": about}

    def _aggregate(self, results: list[dict[str, Any]], details: dict[str, Any]) -> dict[str, Any]:
        steps = self._run.manifest.steps
        brought = sorted({step.options.get("file", "") for step in steps if step.what == "import-answers"} - {""})
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
                "source_organization_name": _NOBODY,
                "evaluator_relationship": "other",
            },
            "eval_library": library,
            "model_info": {
                "name": self._model,
                "id": self._model,
                "additional_details": {"deployment_type": _NOBODY, "model_availability": _NOBODY},
            },
            "evaluation_results": results,
            "detailed_evaluation_results": details,
        }

    def _instance(self, row: Mapping[str, Any], series: Mapping[str, _Series]) -> dict[str, Any]:
        item = self._items[row["item"]]
        about, text = series[_series_id(row["metric"], row)], row["text"]
        reference = [choice.text for choice in item.choices if choice.correct] or list(item.references)
        choices = _as_shown(item, row["order"])
        hashed = sha256((item.question + "".join(reference)).encode()).hexdigest()
        return {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": self._id,
            "model_id": self._model,
            "evaluation_name": about.name,
            "evaluation_result_id": about.id,
            "sample_id": item.id,
            "sample_hash": hashed,
            "interaction_type": "single_turn",
            "input": {"raw": item.question, "reference": reference} | ({"choices": choices} if choices else {}),
            "output": {"raw": [] if text is None else [text]},
            "answer_attribution": _attribution(row, item),
            "evaluation": {"score": row["score"], "is_correct": row["score"] >= 1},
            **({"error": row["outcome"]} if row["outcome"] != "answered" else {}),
            "metadata": _metadata(row),
        }


def _series_id(metric: str, row: Mapping[str, Any]) -> str:
    return ":".join((metric, *(str(row[axis]) for axis in PROTOCOL)))


def _how(row: Mapping[str, Any]) -> str:
    """How it was asked, where that is not with the picture, at once, in words."""
    usual = Condition()
    unusual = [str(row[axis]) for axis in PROTOCOL if row[axis] != getattr(usual, axis)]
    return f" ({', '.join(unusual)})" if unusual else ""


def _as_shown(item: Item, order: int) -> list[str]:
    return [item.choices[at].text for at in order_of(item.id, len(item.choices), order)] if item.choices else []


def _attribution(row: Mapping[str, Any], item: Item) -> list[dict[str, Any]]:
    if row["choice"] is None:
        return []
    texts = {letter(at): choice.text for at, choice in enumerate(item.choices)}
    how = {"source": "output.raw", "extraction_method": row["rule"] or "", "is_terminal": True}
    return [{"turn_idx": 0, "extracted_value": texts.get(row["choice"], row["choice"]), **how}]


def _metadata(row: Mapping[str, Any]) -> dict[str, str]:
    """How it was asked, by which a table of ours can be made of it again; all values are texts in this format."""
    names = [name for name in (*_KEY, "outcome", "reading", "rule", "given") if name not in _FREE]
    return {"eyetest": __version__} | {name: str(row[name]) for name in names if row[name] is not None}


def _fit(name: str) -> str:
    """A name that any system takes for a folder."""
    return _UNFIT.sub("_", name).rstrip(". ") or _NOBODY
