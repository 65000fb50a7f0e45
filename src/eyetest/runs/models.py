"""The models of a run: removed, or renamed, with their answers stored again under new ids."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from eyetest.errors import InputError, counted, heading, nearest, short
from eyetest.records import Asked, RunStep, columns
from eyetest.runs.folder import RECORDED, RunWriter
from eyetest.runs.importing import answer_id
from eyetest.runs.journal import SCHEMA
from eyetest.runs.stored import counting_responses, plan_table, write_part, write_plan

_KEY = columns(Asked)
STEP = "models"


def change_models(path: Path, renamed: Mapping[str, str], dropped: Sequence[str]) -> list[str]:
    """Rename and remove models; returns the models of the run afterwards."""
    with RunWriter(path) as run:
        every = pl.DataFrame(pl.from_arrow(plan_table(path)))
        _check({*run.manifest.models, *every["model"]}, renamed, dropped)
        plan = every.filter(~pl.col("model").is_in(list(dropped)))
        again = plan.with_columns(pl.col("model").replace(dict(renamed)))
        ids = [
            answer_id(key) if is_new else request
            for request, is_new, *key in again.select(
                "request", plan["model"].is_in(list(renamed)).alias("is new"), *_KEY
            ).iter_rows()
        ]
        again = again.with_columns(pl.Series("request", ids, pl.String))
        _refuse_twice(again, renamed)
        moved = pl.DataFrame({"request": plan["request"], "new": again["request"]})
        _store_again(path, moved.filter(pl.col("request") != pl.col("new")).unique(maintain_order=True).lazy())
        write_plan(path, again.to_arrow(compat_level=pl.CompatLevel.oldest()))
        entries = {renamed.get(name, name): run.manifest.models[name] for name in run.manifest.models}
        options = {"rename": ", ".join(f"{old}={new}" for old, new in renamed.items()), "drop": ", ".join(dropped)}
        step = RunStep(what=STEP, options={name: value for name, value in options.items() if value})
        left = {name: entry for name, entry in entries.items() if name not in dropped}
        run.restate(step, left)
        return list(left)


def _check(known: set[str], renamed: Mapping[str, str], dropped: Sequence[str]) -> None:
    """Refuse names that the run does not have, and changes that contradict each other."""
    for option, names in (("rename", renamed), ("remove", dropped)):
        for name in names:
            if name not in known:
                raise InputError(f"{heading(option)}: no model {short(name)} in the run; {nearest(name, known)}")
    if both := [name for name in dropped if name in renamed or name in renamed.values()]:
        raise InputError(f"{heading('remove')}: {both[0]} is renamed as well; say one of the two")
    if not all(new.strip() for new in renamed.values()):
        raise InputError(f"{heading('rename')}: the new name is empty")
    if len(dropped) == len(known):
        raise InputError(f"{heading('remove')}: no model would be left")


def _refuse_twice(plan: pl.DataFrame, renamed: Mapping[str, str]) -> None:
    twice = plan.filter(pl.struct(_KEY).is_duplicated())
    if len(twice):
        names = sorted(set(renamed.values()) & set(twice["model"]))
        raise InputError(
            f"{heading('rename')}: the run has {counted(len(twice) // 2, 'answer')} of {short(names[0])} to the same "
            "questions already; take one of the two out first"
        )


def _store_again(path: Path, moved: pl.LazyFrame) -> None:
    """Keep answers under the new ids as well."""
    found = counting_responses(path).join(moved, on="request").with_columns(finish=pl.lit(RECORDED))
    again = found.drop("request").rename({"new": "request"}).select(SCHEMA.names).collect()
    if len(again):
        write_part(path, again)
