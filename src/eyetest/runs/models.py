"""The models of a run: listed, removed, or renamed, with their answers stored again under new ids."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from eyetest.errors import InputError, heading, nearest, short
from eyetest.records import Asked, RunStep, columns
from eyetest.runs.folder import RECORDED, SENTENCES, Run, RunWriter
from eyetest.runs.importing import answer_id
from eyetest.runs.journal import SCHEMA, next_part, sealed
from eyetest.runs.stored import plan_table, responses_table, write_plan
from eyetest.store import replacing_file
from eyetest.tabular.record_files import write_parquet
from eyetest.wording import counted

_KEY = columns(Asked)
STEP = "models"


def models_of(run: Run) -> dict[str, int]:
    """How many calls are planned for each model."""
    planned = {row["values"]: row["counts"] for row in run.plan().column("model").value_counts().to_pylist()}
    return {name: planned.get(name, 0) for name in dict.fromkeys((*run.manifest.models, *planned))}


def change_models(path: Path, renamed: Mapping[str, str], dropped: Sequence[str]) -> dict[str, int]:
    """Rename and remove models; returns each one's numbers of changed answers and planned calls."""
    with RunWriter(path) as run:
        known = models_of(Run(path))
        check_changes(known, renamed, dropped)
        plan = plan_table(path)
        kept = plan.filter(pc.invert(pc.is_in(plan.column("model"), pa.array(dropped, pa.string()))))
        again, old = _renamed(kept, renamed)
        _refuse_twice(again, renamed)
        if old:
            _store_again(path, dict(old))
            _label_again(path, old)
        write_plan(path, again)
        entries = {renamed.get(name, name): run.manifest.models[name] for name in run.manifest.models}
        options = {"rename": ", ".join(f"{old}={new}" for old, new in renamed.items()), "drop": ", ".join(dropped)}
        step = RunStep(what=STEP, options={name: value for name, value in options.items() if value})
        run.restate(step, {name: entry for name, entry in entries.items() if name not in dropped})
    return {name: known[name] for name in (*renamed, *dropped)}


def check_changes(known: Mapping[str, int], renamed: Mapping[str, str], dropped: Sequence[str]) -> None:
    """Refuse names that the run does not have, and changes that contradict each other."""
    for option, names in (("rename", renamed), ("remove", dropped)):
        for name in names:
            if name not in known:
                raise InputError(f"{heading(option)}: no model {short(name)} in the run; {nearest(name, known)}")
    if both := [name for name in dropped if name in renamed or name in renamed.values()]:
        raise InputError(f"{heading('remove')}: {both[0]} is renamed as well; say one of the two")
    for new in renamed.values():
        if not new.strip():
            raise InputError(f"{heading('rename')}: the new name is empty")
    if len(dropped) == len(known):
        raise InputError(f"{heading('remove')}: no model would be left")


def _renamed(plan: pa.Table, renamed: Mapping[str, str]) -> tuple[pa.Table, list[tuple[str, str]]]:
    """The plan under the new names, and the new id of each request."""
    rows, old = plan.to_pylist(), []
    for row in rows:
        if row["model"] in renamed:
            row["model"] = renamed[row["model"]]
            request = answer_id(tuple(row[name] for name in _KEY))
            old.append((request, row["request"]))
            row["request"] = request
    return pa.Table.from_pylist(rows, schema=plan.schema), old


def _refuse_twice(plan: pa.Table, renamed: Mapping[str, str]) -> None:
    keys = pl.from_arrow(plan.select(list(_KEY)))
    assert isinstance(keys, pl.DataFrame)
    if twice := int(keys.is_duplicated().sum()) // 2:
        names = sorted(set(renamed.values()) & set(keys.filter(keys.is_duplicated()).get_column("model")))
        raise InputError(
            f"{heading('rename')}: the run has {counted(twice, 'answer')} of {short(names[0])} to the same questions "
            "already; take one of the two out first"
        )


def _store_again(path: Path, old: Mapping[str, str]) -> None:
    responses = responses_table(path)
    where = pc.index_in(pa.array(old.values(), pa.string()), value_set=responses.column("request").combine_chunks())
    there = pc.is_valid(where)
    table = responses.take(where.filter(there))
    requests = pa.array(old, pa.string()).filter(there)
    table = table.set_column(table.schema.get_field_index("request"), "request", requests)
    table = table.set_column(table.schema.get_field_index("finish"), "finish", pa.repeat(RECORDED, len(table)))
    if len(table):
        with replacing_file(sealed(path, next_part(path))) as temporary:
            write_parquet(table.select(SCHEMA.names).cast(SCHEMA), temporary)


def _label_again(path: Path, old: Sequence[tuple[str, str]]) -> None:
    """Keep a judge's labels of sentences under the new names."""
    if not (path / SENTENCES).exists():
        return
    labels = pl.read_parquet(path / SENTENCES)
    moved = pl.DataFrame(old, schema={"new": pl.String, "request": pl.String}, orient="row")
    again = labels.join(moved, on="request").with_columns(pl.col("new").alias("request")).select(labels.columns)
    with replacing_file(path / SENTENCES) as temporary:
        pl.concat([labels, again]).unique("request", maintain_order=True).write_parquet(temporary)
