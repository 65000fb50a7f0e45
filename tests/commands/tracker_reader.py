"""Print as JSON what a tracker holds of each model: its figures and the rows of its items.

Runs in the environment of the trackers: ``python tracker_reader.py wandb|mlflow|tensorboard PLACE``.
"""

import csv
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

Held = dict[str, tuple[dict[str, float], list[Any]]]
_BLOCK, _HEAD = 32_768, 7  # a W&B file: blocks of records, each with checksum, length and kind


def _records(path: Path) -> Iterator[Any]:
    proto, data, at, whole = import_module("wandb.proto.wandb_internal_pb2"), path.read_bytes(), _HEAD, b""
    while at + _HEAD <= len(data):
        if (left := _BLOCK - at % _BLOCK) < _HEAD:
            at += left
            continue
        length, kind = int.from_bytes(data[at + 4 : at + 6], "little"), data[at + 6]
        whole, at = whole + data[at + _HEAD : at + _HEAD + length], at + _HEAD + length
        if kind in (1, 4):  # a whole record, or its last piece
            record = proto.Record()
            record.ParseFromString(whole)
            yield record
            whole = b""


def wandb(place: str) -> Held:
    held: Held = {}
    for file in Path(place).glob("offline-run-*/*.wandb"):
        records = list(_records(file))
        (name,) = (one.run.display_name for one in records if one.HasField("run"))
        (logged,) = (one.history for one in records if one.HasField("history"))
        values = {"/".join(one.nested_key) or one.key: json.loads(one.value_json) for one in logged.item}
        table = json.loads((file.parent / "files" / values["items/path"]).read_text())
        figures = {key: value for key, value in values.items() if not key.startswith(("_", "items"))}
        held[name] = (figures, [dict(zip(table["columns"], row, strict=True)) for row in table["data"]])
    return held


def mlflow(place: str) -> Held:
    client = import_module("mlflow").MlflowClient(place)
    held: Held = {}
    for experiment in client.search_experiments():
        for run in client.search_runs([experiment.experiment_id]):
            table = Path(client.download_artifacts(run.info.run_id, "items.csv")).read_text()
            held[run.info.run_name] = (run.data.metrics, list(csv.DictReader(table.splitlines())))
            assert (run.info.status, run.data.params["model"]) == ("FINISHED", run.info.run_name)
    return held


def tensorboard(place: str) -> Held:
    events = import_module("tensorboard.backend.event_processing.event_accumulator")
    held: Held = {}
    for folder in Path(place).iterdir():
        found = events.EventAccumulator(str(folder))
        found.Reload()
        head, _, *rows = found.Tensors("items")[0].tensor_proto.string_val[0].decode().splitlines()
        names, *cells = ([one.strip() for one in line.strip("|").split("|")] for line in (head, *rows))
        figures = {tag: found.Scalars(tag)[0].value for tag in found.Tags()["scalars"]}
        held[folder.name] = (figures, [dict(zip(names, row, strict=True)) for row in cells])
    return held


if __name__ == "__main__":
    print("HELD " + json.dumps(globals()[sys.argv[1]](sys.argv[2])))
