"""Experiment trackers (W&B, MLflow, TensorBoard) as targets of ``export``: one tracked run for each model.

Each library is an extra and keeps its own keys. Neither questions nor answer keys are sent.
"""

import io
import os
import re
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import polars as pl

from eyetest.commands.gathering import gather, settings
from eyetest.commands.results import Written
from eyetest.errors import EyetestError, InputError, MissingExtraError, counted, first_line, heading
from eyetest.measures import MEASURES, NotMeasurable
from eyetest.measures.printed import as_markdown, caveats, plain
from eyetest.redaction import learn_address, redact
from eyetest.version import __version__

if TYPE_CHECKING:
    from eyetest.runs import Run

_TARGET = re.compile(r"(wandb|mlflow|tensorboard):(.+)", re.DOTALL)
_NOT_IN_A_NAME = re.compile(r"[^\w\-./ ]")
_ITEMS = ("item", "sample", "score", "choice", "reading", "outcome")
_LONGEST_REPLY = 2_000  # characters
_MOST_SHOWN = 500  # rows of a table that is drawn as text


class Tracked(NamedTuple):
    """What is tracked of one model: figures by their names, and a table with a row for each answer."""

    model: str
    figures: dict[str, float]
    items: pl.DataFrame


def tracker_of(to: object) -> tuple[str, str] | None:
    """The tracker and the place in it that a target names; None where it names none."""
    match = _TARGET.fullmatch(str(to)) if isinstance(to, str | Path) else None
    return (match[1], re.sub(r"^(https?):/+", r"\1://", match[2])) if match else None


def export_to_tracker(run: "Run", tracker: str, place: str) -> Written:
    """Send scores with intervals, unread shares, the gain and a table of answers of each model."""
    if find_spec(tracker) is None:
        raise MissingExtraError(
            f"{tracker}: needs {tracker}, which is not installed: pip install 'eyetest[{tracker}]'"
        )
    if re.search(r"//[^/]*@", place):
        learn_address(place)
        raise InputError(f"{heading('to')}: the address holds a user or password; leave them to the environment")
    models, notes = _tracked(run)
    about = run.manifest.benchmark
    facts = {"benchmark": about.name if about else "", "fingerprint": about.fingerprint if about else ""}
    try:
        with redirect_stdout(io.StringIO()):  # addresses of runs, which MLflow prints
            _TRACKERS[tracker](place, {**facts, "eyetest": __version__}, models)
    except EyetestError:
        raise
    except Exception as error:  # each library has errors of its own
        raise InputError(f"{tracker}: {redact(first_line(error))}") from None
    done = f"{counted(len(models), 'model')} of {run.path} → {tracker}: {place}"
    return Written(done, {"kind": tracker, "models": [one.model for one in models], "to": place}, notes)


def _tracked(run: "Run") -> tuple[list[Tracked], list[str]]:
    kept, how = gather([run]), settings((), 0.95, 0)
    accuracy = plain(MEASURES["accuracy"].measure(kept, how).table)
    figures: dict[str, dict[str, float]] = {}
    keys = accuracy.columns[1 : accuracy.columns.index("accuracy")]
    for row in accuracy.iter_rows(named=True):
        condition = "/".join(str(row[key]) for key in keys)
        own = figures.setdefault(row["model"], {})
        for name in ("accuracy", "accuracy_low", "accuracy_high", "unread", "n"):
            _put(own, f"{condition}/{name}" if condition else name, row[name])
    notes = list(caveats(kept))
    try:
        for row in plain(MEASURES["gain"].measure(kept, how).table).iter_rows(named=True):
            for name in ("gain", "gain_low", "gain_high", "leakage", "leakage_low", "leakage_high"):
                _put(figures.get(row["model"], {}), name, row[name])
    except NotMeasurable as error:
        notes.append(f"without the gain: {error}")
    varied = [key for key in keys if key not in _ITEMS and key in kept.scores.collect_schema()]
    text = pl.col("text").str.slice(0, _LONGEST_REPLY).alias("reply")
    scores = kept.scores.join(
        kept.replies.select("benchmark", "request", text), on=("benchmark", "request"), how="left"
    )
    table = scores.select("model", "item", *varied, *_ITEMS[1:], "reply").sort("model", "item", *varied, "sample")
    answers = table.collect().partition_by("model", as_dict=True, include_key=False)
    return [Tracked(model, own, answers[model,]) for model, own in figures.items()], notes


def folder_of(model: str) -> str:
    """A folder name of its own for each model: ``a%2Fb`` for a/b."""
    return re.sub(r"^\.", "%2E", quote(model, safe=" "))


def _put(figures: dict[str, float], name: str, value: float | None) -> None:
    if value is not None:
        figures[_NOT_IN_A_NAME.sub("_", name)] = float(value)


def _to_wandb(place: str, about: dict[str, str], models: Sequence[Tracked]) -> None:
    wandb = import_module("wandb")
    entity, _, project = place.rpartition("/")
    quiet = {"silent": True, "console": "off", "disable_git": True, "disable_code": True}
    quiet |= {"x_disable_meta": True, "x_disable_stats": True, "x_disable_machine_info": True}
    chosen: dict[str, Any] = {"project": project, "entity": entity or None, "job_type": "eyetest"}
    for one in models:
        config = about | {"model": one.model}
        with wandb.init(name=one.model, config=config, settings=wandb.Settings(**quiet), **chosen) as run:
            run.log({**one.figures, "items": wandb.Table(columns=one.items.columns, data=one.items.rows())})


def _to_mlflow(place: str, about: dict[str, str], models: Sequence[Tracked]) -> None:
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")  # or a wrong address is tried for minutes
    mlflow, entities = import_module("mlflow"), import_module("mlflow.entities")
    client = mlflow.MlflowClient(tracking_uri=place)
    name, now = about["benchmark"] or "eyetest", int(time.time() * 1000)
    known = client.get_experiment_by_name(name)
    experiment = known.experiment_id if known else client.create_experiment(name)
    for one in models:
        run = client.create_run(experiment, run_name=one.model, tags={"eyetest.model": one.model}).info.run_id
        params = [entities.Param(key, value) for key, value in (about | {"model": one.model}).items()]
        metrics = [entities.Metric(key, value, now, 0) for key, value in one.figures.items()]
        client.log_batch(run, metrics=metrics, params=params)
        client.log_text(run, one.items.write_csv(), "items.csv")
        client.set_terminated(run)


def _to_tensorboard(place: str, about: dict[str, str], models: Sequence[Tracked]) -> None:
    proto = import_module("tensorboard.compat.proto.summary_pb2")
    event = import_module("tensorboard.compat.proto.event_pb2")
    files = import_module("tensorboard.summary.writer.event_file_writer")
    text = import_module("tensorboard.plugins.text.metadata")
    tensor = import_module("tensorboard.util.tensor_util")
    for one in models:
        writer = files.EventFileWriter(str(Path(place) / folder_of(one.model)))
        values = [proto.Summary.Value(tag=name, simple_value=value) for name, value in one.figures.items()]
        tables = {
            "items": as_markdown(one.items.head(_MOST_SHOWN)),
            "about": "\n\n".join(map(": ".join, about.items())),
        }
        for name, table in tables.items():
            metadata = text.create_summary_metadata(name, "")
            content = tensor.make_tensor_proto([table.encode()])
            values.append(proto.Summary.Value(tag=name, tensor=content, metadata=metadata))
        writer.add_event(event.Event(wall_time=time.time(), step=0, summary=proto.Summary(value=values)))
        writer.close()


_Send = Callable[[str, dict[str, str], Sequence[Tracked]], None]
_TRACKERS: dict[str, _Send] = {"wandb": _to_wandb, "mlflow": _to_mlflow, "tensorboard": _to_tensorboard}
"""Trackers by their name, which is that of their package too."""
